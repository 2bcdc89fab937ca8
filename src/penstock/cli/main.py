"""The `penstock` command: finds the module of the command that was asked for and runs it.

Only that module is imported, and modules import their clients and tables when they run. `penstock up` must serve
within half a second and idle in little memory, so it goes by without typer altogether (see `serve.py`).
"""

import os
import sys
from collections.abc import Sequence

from penstock.cli.errors import EXIT_FAILED, CommandError, one_line

_EXIT_INTERRUPTED = 128 + 2


def main() -> None:
    """Run the command that the process was started with, and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and give its exit code. Whatever goes wrong is one line on standard error."""
    try:
        exit_code = _run(arguments)
        sys.stdout.flush()
    except CommandError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has gone: not worth a word, but Python must not try to flush again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except Exception as error:
        if "PENSTOCK_DEBUG" in os.environ:
            raise
        told = one_line(str(error)) or "no message"
        return _fail(
            f"this should not happen ({type(error).__name__}: {told}). "
            "Set PENSTOCK_DEBUG=1, run it again and report what it prints",
            EXIT_FAILED,
        )
    return exit_code


def _run(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["up"]:
        from penstock.cli.serve import quick_options, serve

        if (options := quick_options(arguments[1:])) is not None:
            serve(options)
            return 0
    from penstock.cli.parser import run_parsed

    return run_parsed(arguments)


def _fail(message: str, exit_code: int) -> int:
    print(f"penstock: {message}", file=sys.stderr)
    return exit_code


if __name__ == "__main__":
    main()
