"""Errors shown to the user, built from error codes and failures of the client. Pure."""

from penstock.client.aio import AuthenticationFailed, BrokerError, ClientError, Disconnected
from penstock.client.errors import error_name
from penstock.console.broker_errors import BAD_GATEWAY, BAD_REQUEST, FORBIDDEN, NOT_ALLOWED, explain
from penstock.protocol.errors import ProtocolError
from penstock.protocol.records.errors import CorruptRecords


class Refused(Exception):
    """An error response: its message is shown to the user as it is."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def bad_request(message: str) -> Refused:
    return Refused(BAD_REQUEST, "BAD_REQUEST", message)


def check(code: int, what: str, detail: str | None = None) -> None:
    """Raise the error of a code, if any. `what` begins its message: `Topic a cannot be created`."""
    if code:
        raise refusal(code, what, detail)


def refusal(code: int, what: str, detail: str | None = None) -> Refused:
    name = error_name(code)
    status, words = explain(code)
    reason = detail.strip().rstrip(".") if detail else ""
    if reason and (not words or status == BAD_REQUEST):  # the broker's message is more specific
        words = reason
    if words == NOT_ALLOWED:  # complete without the name of the error
        return Refused(status, name, f"{what}: {words}.")
    return Refused(
        status, name, f"{what}: {words} ({name})." if words else f"{what}: the broker answered {name}."
    )


def words_of(code: int) -> str | None:
    """The text of an error code inside a page; None without an error."""
    return (explain(code)[1] or error_name(code)) if code else None


def of_failure(failure: Exception, what: str) -> Refused | None:
    """An expected failure of the client; None for any other."""
    if isinstance(failure, Refused):
        return failure
    if isinstance(failure, BrokerError):
        return refusal(failure.code, what)
    if isinstance(failure, AuthenticationFailed):
        return Refused(FORBIDDEN, "AUTHENTICATION_FAILED", f"{what}: {failure}.")
    if isinstance(failure, ClientError | Disconnected | ProtocolError | CorruptRecords):
        return Refused(BAD_GATEWAY, "UNREACHABLE", f"{what}: {failure}.")
    return None
