"""Errors as RFC 9457 problem documents. Pure.

type         urn:kafka:error:NAME for what a broker answered, else about:blank
title        the kind of problem, the same for all of its kind
status       as in the status line
detail       what happened to what, and what to do next
kafka_error  Kafka's name of the error, where there is one
"""

from collections.abc import Mapping
from typing import Any, Final

from penstock.client.connection import Disconnected
from penstock.client.errors import (
    AuthenticationFailed,
    BrokerError,
    ClientError,
    TimedOut,
    error_name,
)
from penstock.console.broker_errors import (
    BAD_GATEWAY,
    BAD_REQUEST,
    CONFLICT,
    OTHER_PROTOCOL,
    RETRY,
    TIMED_OUT,
    TOO_MANY,
    UNAUTHORIZED,
    UNAVAILABLE,
    explain,
)
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.records.errors import CorruptRecords

CONTENT_TYPE: Final = "application/problem+json"

_TITLES: Final[Mapping[int, str]] = {
    400: "Invalid request",
    401: "Authentication required",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timeout",
    409: "Conflict",
    413: "Too large",
    415: "Unsupported content type",
    416: "No such offset",
    426: "A WebSocket is needed",
    429: "Too many",
    500: "Unhandled error in the broker",
    502: "Invalid response from the cluster",
    503: "Temporarily unavailable",
    504: "The cluster did not answer in time",
}


class Problem(Exception):
    """Answered as it is; `more` are members of the document beside the usual ones."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        kafka_error: str | None = None,
        more: Mapping[str, Any] | None = None,
        retry_after_s: int = 1,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.kafka_error = kafka_error
        self.more = dict(more or {})
        self.retry_after_s = retry_after_s

    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "type": f"urn:kafka:error:{self.kafka_error}" if self.kafka_error else "about:blank",
            "title": title_of(self.status),
            "status": self.status,
            "detail": self.detail,
        }
        if self.kafka_error:
            document["kafka_error"] = self.kafka_error
        return document | self.more

    def headers(self) -> dict[str, str]:
        """The HTTP headers of the problem."""
        if self.status == UNAUTHORIZED:
            return {"WWW-Authenticate": 'Basic realm="penstock", charset="UTF-8", Bearer realm="penstock"'}
        if self.status in (UNAVAILABLE, TOO_MANY):
            return {"Retry-After": str(self.retry_after_s)}
        return {}


def title_of(status: int) -> str:
    return _TITLES.get(status, "Not done")


def bad_request(detail: str) -> Problem:
    return Problem(BAD_REQUEST, detail)


def of_code(code: int, what: str, reason: str | None = None) -> Problem:
    """An error code of a broker. `what` was tried: `reading topic a`; `reason` is the broker's message."""
    status, advice = explain(code)
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        advice += "; create a topic with `penstock topic create`"
    elif code == ErrorCode.GROUP_ID_NOT_FOUND:  # a subscriber joins: the group exists with another protocol
        status, advice = CONFLICT, OTHER_PROTOCOL
    name = error_name(code)
    words = f" ({reason.strip().rstrip('.')})" if reason else ""
    return Problem(
        status,
        f"{what} was answered with {name}{words}: {advice or 'see the log of the broker'}.",
        kafka_error=name,
    )


def of_failure(failure: BaseException) -> Problem | None:
    """An expected failure of the client as a problem; None for any other."""
    if isinstance(failure, Problem):
        return failure
    if isinstance(failure, BrokerError):
        return of_code(failure.code, failure.what, failure.detail)
    if isinstance(failure, AuthenticationFailed):
        return Problem(
            UNAUTHORIZED,
            "The cluster did not accept the credentials: check the user and the password or token.",
            kafka_error=ErrorCode.SASL_AUTHENTICATION_FAILED.name,
        )
    if isinstance(failure, TimedOut):
        return Problem(TIMED_OUT, f"{failure}. It may have happened all the same; {RETRY}.")
    if isinstance(failure, Disconnected):
        return Problem(UNAVAILABLE, f"{failure}; {RETRY}.")
    if isinstance(failure, ClientError | ProtocolError | CorruptRecords):
        return Problem(BAD_GATEWAY, f"{failure}.")
    return None
