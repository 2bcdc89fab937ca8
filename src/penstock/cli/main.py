"""The `penstock` command: finds the module of a command and runs it.

Only that module is imported, and modules import their clients and tables when they run. `penstock up` must serve
within half a second and idle in little memory, so it does without typer (see `up/options.py`).
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
    """Run one command and give its exit code. An error is one line on standard error."""
    try:
        exit_code = _run(arguments)
        sys.stdout.flush()
    except CommandError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has gone: no error message, but Python must not flush again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except Exception as error:
        if "PENSTOCK_DEBUG" in os.environ:
            raise
        message = one_line(str(error)) or "no message"
        return _fail(
            f"unhandled error ({type(error).__name__}: {message}). "
            "Run it again with PENSTOCK_DEBUG=1 and report the traceback",
            EXIT_FAILED,
        )
    return exit_code


def _run(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["up"]:
        from penstock.cli.up.options import parse_quickly

        if (options := parse_quickly(arguments[1:])) is not None:
            from penstock.cli.up.serve import serve

            serve(options)
            return 0
    from penstock.cli.parser import run_parsed

    return run_parsed(arguments)


def _fail(message: str, exit_code: int) -> int:
    print(f"penstock: {message}", file=sys.stderr)
    return exit_code


if __name__ == "__main__":
    main()
