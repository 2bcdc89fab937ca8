"""Exceptions of the clients. Each text says what happened, to which broker or topic, and what to do."""

from penstock.protocol.errors import ErrorCode


class ClientError(Exception):
    """The base of this package's exceptions, except `Disconnected` and `ProtocolError`."""


class SettingsError(ClientError, ValueError):
    """A property has a value that cannot be used."""


class AuthenticationFailed(ClientError):
    """The broker rejected the client's credentials, or could not prove its own identity. Retrying does not help."""


class UnsupportedApi(ClientError):
    """The broker and this client have no version of a request in common."""


class UnknownBroker(ClientError):
    """No broker of the cluster has this id."""


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


class Disconnected(ConnectionError):
    """The connection ended before the response arrived."""


class Unreachable(Disconnected):
    """No connection to the broker could be opened: the request was not sent."""


class Retry(Exception):
    """An attempt failed with a retriable error; the text says which."""


class UnknownPartition(Retry):
    """No broker knows this topic or partition yet. A new one becomes known on other brokers a moment later."""


def error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error code {code}"
