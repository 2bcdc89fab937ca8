"""What went wrong, for programs and people: RFC 9457 problem documents. Pure.

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
from penstock.protocol.errors import ErrorCode, ProtocolError, is_retriable
from penstock.protocol.records.errors import CorruptRecords

CONTENT_TYPE: Final = "application/problem+json"

BAD_REQUEST: Final = 400
UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
CONFLICT: Final = 409
TOO_LARGE: Final = 413
UNSUPPORTED_MEDIA_TYPE: Final = 415
RANGE_NOT_SATISFIABLE: Final = 416
TOO_MANY: Final = 429
BAD_GATEWAY: Final = 502
UNAVAILABLE: Final = 503
TIMED_OUT: Final = 504

_TITLES: Final[Mapping[int, str]] = {
    400: "The request is not right",
    401: "Credentials are needed",
    403: "Not allowed",
    404: "Not found",
    405: "The method is not offered here",
    408: "Too slow",
    409: "In conflict with the present state",
    413: "Too large",
    415: "The content type is not taken",
    416: "No such offset",
    426: "A WebSocket is needed",
    429: "Too many",
    500: "Something is wrong in the broker",
    502: "The cluster's answer makes no sense",
    503: "Not possible at the moment",
    504: "The cluster did not answer in time",
}

_NOT_ALLOWED: Final = "whoever administers the cluster can allow it with an ACL"
_NOT_NOW: Final = "try again in a moment"

# Status, and what to do next; an error that passes and is not named here is 503, any other 502.
_ERRORS: Final[Mapping[int, tuple[int, str]]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (
        NOT_FOUND,
        "check the name, or create the topic with `penstock topic create`; one that may not be seen looks the same",
    ),
    ErrorCode.UNKNOWN_TOPIC_ID: (NOT_FOUND, "the topic was deleted meanwhile; look again"),
    ErrorCode.INVALID_TOPIC_EXCEPTION: (
        BAD_REQUEST,
        "a name has up to 249 letters, digits, dots, underscores and hyphens",
    ),
    ErrorCode.INVALID_GROUP_ID: (BAD_REQUEST, "give the group a name"),
    ErrorCode.INVALID_RECORD: (BAD_REQUEST, "a compacted topic wants a key for every record"),
    ErrorCode.INVALID_TIMESTAMP: (
        BAD_REQUEST,
        "timestamps are milliseconds; leave them out for the present time",
    ),
    ErrorCode.INVALID_REQUEST: (BAD_REQUEST, "see the description of the request"),
    ErrorCode.INVALID_REGULAR_EXPRESSION: (BAD_REQUEST, "see the description of the request"),
    ErrorCode.MESSAGE_TOO_LARGE: (TOO_LARGE, "send smaller records, or raise the topic's max.message.bytes"),
    ErrorCode.RECORD_LIST_TOO_LARGE: (TOO_LARGE, "send fewer records at a time"),
    ErrorCode.OFFSET_OUT_OF_RANGE: (
        RANGE_NOT_SATISFIABLE,
        "the records were deleted, or are not there yet; begin with offset=earliest or offset=latest",
    ),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: (FORBIDDEN, _NOT_ALLOWED),
    ErrorCode.GROUP_AUTHORIZATION_FAILED: (FORBIDDEN, _NOT_ALLOWED),
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: (FORBIDDEN, _NOT_ALLOWED),
    ErrorCode.POLICY_VIOLATION: (FORBIDDEN, "a policy of the cluster forbids it"),
    ErrorCode.SASL_AUTHENTICATION_FAILED: (UNAUTHORIZED, "check the user and the password or token"),
    ErrorCode.GROUP_ID_NOT_FOUND: (
        CONFLICT,
        "the group is used by consumers of another kind; use another group, or stop them",
    ),
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: (
        CONFLICT,
        "the group is used by consumers of another kind; use another group, or stop them",
    ),
    ErrorCode.GROUP_MAX_SIZE_REACHED: (
        UNAVAILABLE,
        "the group has as many members as group.consumer.max.size allows",
    ),
    ErrorCode.UNKNOWN_MEMBER_ID: (CONFLICT, "the group has put this member out; join again"),
    ErrorCode.FENCED_MEMBER_EPOCH: (CONFLICT, "the group has put this member out; join again"),
    ErrorCode.STALE_MEMBER_EPOCH: (CONFLICT, "the partitions have moved; wait for the next rebalance notice"),
    ErrorCode.OFFSET_METADATA_TOO_LARGE: (TOO_LARGE, "send less metadata"),
    ErrorCode.UNSUPPORTED_VERSION: (BAD_GATEWAY, "the brokers are too old or too new for this request"),
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
        """What HTTP wants to be told outside of the document."""
        if self.status == UNAUTHORIZED:
            return {"WWW-Authenticate": 'Basic realm="penstock", charset="UTF-8", Bearer realm="penstock"'}
        if self.status in (UNAVAILABLE, TOO_MANY):
            return {"Retry-After": str(self.retry_after_s)}
        return {}


def title_of(status: int) -> str:
    return _TITLES.get(status, "Not done")


def bad_request(detail: str) -> Problem:
    return Problem(BAD_REQUEST, detail)


def of_code(code: int, what: str, said: str | None = None) -> Problem:
    """What a broker answered. `what` was tried: `reading topic a`; `said` are the broker's own words."""
    status, advice = _ERRORS.get(
        code, (UNAVAILABLE, _NOT_NOW) if is_retriable(code) else (BAD_GATEWAY, "see the broker's log")
    )
    name = error_name(code)
    words = f" ({said.strip().rstrip('.')})" if said else ""
    return Problem(status, f"{what} was answered with {name}{words}: {advice}.", kafka_error=name)


def of_failure(failure: BaseException) -> Problem | None:
    """A failure of the client in the same form; None when it is none that is expected."""
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
        return Problem(TIMED_OUT, f"{failure}. It may have happened all the same; {_NOT_NOW}.")
    if isinstance(failure, Disconnected):
        return Problem(UNAVAILABLE, f"{failure}; {_NOT_NOW}.")
    if isinstance(failure, ClientError | ProtocolError | CorruptRecords):
        return Problem(BAD_GATEWAY, f"{failure}.")
    return None
