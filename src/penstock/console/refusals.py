"""Why something was not done, in words: what was tried, what the cluster said, what to do. Pure."""

from typing import Final

from penstock.client.cluster import AuthenticationFailed, BrokerError, ClientError, Disconnected
from penstock.client.errors import error_name
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.records.errors import CorruptRecords

BAD_REQUEST: Final = 400
UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
TOO_SLOW: Final = 408
CONFLICT: Final = 409
TOO_LARGE: Final = 413
UNSUPPORTED_MEDIA_TYPE: Final = 415
TOO_MANY: Final = 429
BAD_GATEWAY: Final = 502

_NOT_ALLOWED: Final = "you are not allowed to; an administrator of the cluster can grant it with an ACL"

_WORDS: Final[dict[int, tuple[int, str]]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (
        NOT_FOUND,
        "there is no such topic or partition, or you may not see it",
    ),
    ErrorCode.UNKNOWN_TOPIC_ID: (NOT_FOUND, "the topic was deleted meanwhile"),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: (FORBIDDEN, _NOT_ALLOWED),
    ErrorCode.GROUP_AUTHORIZATION_FAILED: (FORBIDDEN, _NOT_ALLOWED),
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: (FORBIDDEN, _NOT_ALLOWED),
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (FORBIDDEN, _NOT_ALLOWED),
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: (FORBIDDEN, _NOT_ALLOWED),
    ErrorCode.TOPIC_ALREADY_EXISTS: (CONFLICT, "a topic of that name exists already"),
    ErrorCode.INVALID_TOPIC_EXCEPTION: (
        BAD_REQUEST,
        "the name is not allowed: up to 249 letters, digits, dots, underscores and hyphens",
    ),
    ErrorCode.INVALID_PARTITIONS: (BAD_REQUEST, "the number of partitions is not allowed"),
    ErrorCode.INVALID_REPLICATION_FACTOR: (
        BAD_REQUEST,
        "there are not as many brokers as replicas are asked for",
    ),
    ErrorCode.INVALID_CONFIG: (BAD_REQUEST, "a setting has a name or a value that is not allowed"),
    ErrorCode.POLICY_VIOLATION: (FORBIDDEN, "a policy of the cluster forbids it"),
    ErrorCode.TOPIC_DELETION_DISABLED: (FORBIDDEN, "the cluster deletes no topics (delete.topic.enable)"),
    ErrorCode.GROUP_ID_NOT_FOUND: (NOT_FOUND, "there is no such group, or it has nothing committed any more"),
    ErrorCode.NON_EMPTY_GROUP: (CONFLICT, "the group has active members; stop them first"),
    ErrorCode.UNKNOWN_MEMBER_ID: (CONFLICT, "the group has active members; stop them first"),
    ErrorCode.ILLEGAL_GENERATION: (CONFLICT, "the group has active members; stop them first"),
    ErrorCode.REBALANCE_IN_PROGRESS: (CONFLICT, "the group is being rebalanced; stop its members first"),
    ErrorCode.SECURITY_DISABLED: (
        CONFLICT,
        "the cluster has no authorizer, so there are no ACLs; set authorizer.class.name on its brokers",
    ),
    ErrorCode.OFFSET_OUT_OF_RANGE: (NOT_FOUND, "there is no such offset any more, or not yet"),
    ErrorCode.MESSAGE_TOO_LARGE: (
        BAD_REQUEST,
        "the message is larger than the topic takes (max.message.bytes)",
    ),
    ErrorCode.INVALID_RECORD: (
        BAD_REQUEST,
        "the topic does not take this message; a compacted one wants a key",
    ),
    ErrorCode.NOT_ENOUGH_REPLICAS: (BAD_GATEWAY, "too few replicas are in sync to keep it safe"),
    ErrorCode.UNSUPPORTED_VERSION: (BAD_GATEWAY, "the brokers do not know this request"),
    ErrorCode.REQUEST_TIMED_OUT: (BAD_GATEWAY, "the brokers took too long; it may still happen"),
}


class Refused(Exception):
    """Shown to the user as it is, with the HTTP status it is answered with."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def bad_request(message: str) -> Refused:
    return Refused(BAD_REQUEST, "BAD_REQUEST", message)


def check(code: int, what: str, detail: str | None = None) -> None:
    """Raise what a broker answered, unless that is no error. `what` begins a sentence: `Topic a cannot be made`."""
    if code:
        raise refusal(code, what, detail)


def refusal(code: int, what: str, detail: str | None = None) -> Refused:
    name = error_name(code)
    status, words = _WORDS.get(code, (BAD_GATEWAY, ""))
    said = detail.strip().rstrip(".") if detail else ""
    if said and (not words or status == BAD_REQUEST):  # the broker knows better which part is wrong
        words = said
    if words == _NOT_ALLOWED:  # says all there is to say, and the name means nothing to who is not allowed
        return Refused(status, name, f"{what}: {words}.")
    return Refused(
        status, name, f"{what}: {words} ({name})." if words else f"{what}: the broker answered {name}."
    )


def words_of(code: int) -> str | None:
    """An error that is one fact among others on a page; None when it is none."""
    return (_WORDS.get(code, (0, ""))[1] or error_name(code)) if code else None


def of_failure(failure: Exception, what: str) -> Refused | None:
    """A failure of the client in the same form; None when it is none that is expected."""
    if isinstance(failure, Refused):
        return failure
    if isinstance(failure, BrokerError):
        return refusal(failure.code, what)
    if isinstance(failure, AuthenticationFailed):
        return Refused(FORBIDDEN, "AUTHENTICATION_FAILED", f"{what}: {failure}.")
    if isinstance(failure, ClientError | Disconnected | ProtocolError | CorruptRecords):
        return Refused(BAD_GATEWAY, "UNREACHABLE", f"{what}: {failure}.")
    return None
