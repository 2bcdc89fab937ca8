"""How a command fails: one line that says what happened, to what, and what to do next."""

EXIT_FAILED = 1
EXIT_USAGE = 2


class CommandError(Exception):
    """Ends the command. The message is shown as it is, on one line, and nothing else is."""

    def __init__(self, message: str, exit_code: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def one_line(text: str) -> str:
    """Text from elsewhere (a broker, the system) as a line of its own."""
    return " ".join(text.split())
