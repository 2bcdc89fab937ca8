"""What the blocking client raises. Each text says what happened, to which broker or topic, and what to do."""

from penstock.protocol.errors import ErrorCode


class ClientError(Exception):
    """The base of everything that this package raises on purpose, apart from `Disconnected` and `ProtocolError`."""


class SettingsError(ClientError, ValueError):
    """A property has a value that cannot be used."""


class AuthenticationFailed(ClientError):
    """The broker refused who we say we are, or could not show who it is. Trying again does not help."""


class UnsupportedApi(ClientError):
    """The broker does not know a request, or no version of it that is known here."""


class BrokerError(ClientError):
    """The broker answered with an error code."""

    def __init__(self, code: int, what: str, detail: str | None = None) -> None:
        self.code = code
        self.what = what
        self.detail = detail
        explanation = f": {detail}" if detail else ""
        super().__init__(f"{what} was answered with {error_name(code)}{explanation}")


class TimedOut(ClientError):
    """Retries went on until the deadline; the text carries the last failure."""


def error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error code {code}"
