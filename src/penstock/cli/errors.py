"""How a command fails: one line that says what happened, to what, and what to do next."""

from collections.abc import Iterable

EXIT_FAILED = 1
EXIT_USAGE = 2


class CommandError(Exception):
    """Ends the command. The message is printed as it is, on one line."""

    exit_code = EXIT_FAILED

    def __init__(self, message: str) -> None:
        super().__init__(message)


class UsageError(CommandError):
    """The command line is wrong."""

    exit_code = EXIT_USAGE


def one_line(text: str) -> str:
    """Put text from elsewhere (a broker, the system) on one line."""
    return " ".join(text.split())


def not_found(kind: str, name: str, known: Iterable[str], hint: str) -> CommandError:
    """Build the error for a name that does not exist: it suggests the closest known name, else gives the hint."""
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return CommandError(f"there is no {kind} {name}: {f'did you mean {near[0]}?' if near else hint}")
