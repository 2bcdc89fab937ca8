"""Errors as RFC 9457 problem documents. Pure.

type         urn:kafka:error:NAME for an error of a broker, else about:blank
title        the words of the status line
status       as in the status line
detail       what happened to what, and what to do next
kafka_error  Kafka's name of the error, where there is one
"""

from collections.abc import Mapping
from http import HTTPStatus
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


class Problem(Exception):
    """An error response; `more` are additional members of the document."""

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
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.kafka_error:
            document["kafka_error"] = self.kafka_error
        return document | self.more

    def headers(self) -> dict[str, str]:
        if self.status == UNAUTHORIZED:
            return {"WWW-Authenticate": 'Basic realm="penstock", charset="UTF-8", Bearer realm="penstock"'}
        if self.status in (UNAVAILABLE, TOO_MANY):
            return {"Retry-After": str(self.retry_after_s)}
        return {}


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
        return Problem(TIMED_OUT, f"{failure}. The request may still have succeeded; {RETRY}.")
    if isinstance(failure, Disconnected):
        return Problem(UNAVAILABLE, f"{failure}; {RETRY}.")
    if isinstance(failure, ClientError | ProtocolError | CorruptRecords):
        return Problem(BAD_GATEWAY, f"{failure}.")
    return None
