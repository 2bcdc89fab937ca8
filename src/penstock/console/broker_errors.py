"""HTTP statuses and explanations of Kafka's error codes, for the console and the HTTP gateways. Pure."""

from collections.abc import Mapping
from typing import Final

from penstock.protocol.errors import ErrorCode, is_retriable

BAD_REQUEST: Final = 400
UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
REQUEST_TIMEOUT: Final = 408
CONFLICT: Final = 409
TOO_LARGE: Final = 413
UNSUPPORTED_MEDIA_TYPE: Final = 415
RANGE_NOT_SATISFIABLE: Final = 416
TOO_MANY: Final = 429
BAD_GATEWAY: Final = 502
UNAVAILABLE: Final = 503
TIMED_OUT: Final = 504

NOT_ALLOWED: Final = "you are not allowed to; an administrator of the cluster can allow it with an ACL"
RETRY: Final = "try again in a moment"
_ACTIVE: Final = "the group has active members; stop them first"
OTHER_PROTOCOL: Final = "the group uses another protocol; use another group, or stop its members"

_ERRORS: Final[Mapping[int, tuple[int, str]]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (
        NOT_FOUND,
        "there is no such topic or partition, or you may not see it",
    ),
    ErrorCode.UNKNOWN_TOPIC_ID: (NOT_FOUND, "the topic was deleted meanwhile"),
    ErrorCode.INVALID_TOPIC_EXCEPTION: (
        BAD_REQUEST,
        "the name is not allowed: up to 249 letters, digits, dots, underscores and hyphens",
    ),
    ErrorCode.TOPIC_ALREADY_EXISTS: (CONFLICT, "a topic of that name already exists"),
    ErrorCode.INVALID_PARTITIONS: (BAD_REQUEST, "the number of partitions is not allowed"),
    ErrorCode.INVALID_REPLICATION_FACTOR: (BAD_REQUEST, "there are fewer brokers than replicas"),
    ErrorCode.INVALID_CONFIG: (BAD_REQUEST, "a setting has a name or a value that is not allowed"),
    ErrorCode.TOPIC_DELETION_DISABLED: (FORBIDDEN, "the cluster deletes no topics (delete.topic.enable)"),
    ErrorCode.INVALID_GROUP_ID: (BAD_REQUEST, "the group needs a name"),
    ErrorCode.GROUP_ID_NOT_FOUND: (NOT_FOUND, "there is no such group, or it uses another protocol"),
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: (CONFLICT, OTHER_PROTOCOL),
    ErrorCode.GROUP_MAX_SIZE_REACHED: (
        UNAVAILABLE,
        "the group has as many members as group.consumer.max.size allows",
    ),
    ErrorCode.NON_EMPTY_GROUP: (CONFLICT, _ACTIVE),
    ErrorCode.ILLEGAL_GENERATION: (CONFLICT, _ACTIVE),
    ErrorCode.REBALANCE_IN_PROGRESS: (CONFLICT, "the group is being rebalanced; stop its members first"),
    ErrorCode.UNKNOWN_MEMBER_ID: (CONFLICT, "the group has active members, or has removed this one"),
    ErrorCode.FENCED_MEMBER_EPOCH: (CONFLICT, "the group has removed this member; join again"),
    ErrorCode.STALE_MEMBER_EPOCH: (CONFLICT, "the partitions have moved; wait for the next rebalance"),
    ErrorCode.OFFSET_METADATA_TOO_LARGE: (TOO_LARGE, "send less metadata"),
    ErrorCode.OFFSET_OUT_OF_RANGE: (
        RANGE_NOT_SATISFIABLE,
        "the records were deleted, or do not exist yet; begin with earliest or latest",
    ),
    ErrorCode.MESSAGE_TOO_LARGE: (TOO_LARGE, "send smaller records, or raise the topic's max.message.bytes"),
    ErrorCode.RECORD_LIST_TOO_LARGE: (TOO_LARGE, "send fewer records at a time"),
    ErrorCode.INVALID_RECORD: (BAD_REQUEST, "a compacted topic needs a key for every record"),
    ErrorCode.INVALID_TIMESTAMP: (
        BAD_REQUEST,
        "timestamps are milliseconds; leave them out for the current time",
    ),
    ErrorCode.INVALID_REQUEST: (BAD_REQUEST, "see the documentation of the request"),
    ErrorCode.INVALID_REGULAR_EXPRESSION: (BAD_REQUEST, "see the documentation of the request"),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: (FORBIDDEN, NOT_ALLOWED),
    ErrorCode.GROUP_AUTHORIZATION_FAILED: (FORBIDDEN, NOT_ALLOWED),
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: (FORBIDDEN, NOT_ALLOWED),
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (FORBIDDEN, NOT_ALLOWED),
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: (FORBIDDEN, NOT_ALLOWED),
    ErrorCode.POLICY_VIOLATION: (FORBIDDEN, "a policy of the cluster forbids it"),
    ErrorCode.SASL_AUTHENTICATION_FAILED: (UNAUTHORIZED, "check the user and the password or token"),
    ErrorCode.SECURITY_DISABLED: (
        CONFLICT,
        "the cluster has no authorizer, so there are no ACLs; set authorizer.class.name on its brokers",
    ),
    ErrorCode.NOT_ENOUGH_REPLICAS: (UNAVAILABLE, "too few replicas are in sync"),
    ErrorCode.UNSUPPORTED_VERSION: (BAD_GATEWAY, "the brokers are too old or too new for this request"),
    ErrorCode.REQUEST_TIMED_OUT: (UNAVAILABLE, "the brokers took too long; it may still happen"),
}


def explain(code: int) -> tuple[int, str]:
    """The HTTP status and the explanation of an error code; the text is empty for an unknown one."""
    return _ERRORS.get(code, (UNAVAILABLE, RETRY) if is_retriable(code) else (BAD_GATEWAY, ""))
