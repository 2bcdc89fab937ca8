"""What the parts of a transactional producer share."""

from typing import Any, Final, NamedTuple

from penstock.protocol.errors import ErrorCode

TRIES_MAX: Final = 20
RETRIABLE: Final = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REPLICA_NOT_AVAILABLE,
    }
)


class GivenUp(Exception):
    """The transaction cannot go on: what was begun is left to the coordinator."""


class Producer(NamedTuple):
    """As whom a transaction is written."""

    producer_id: int
    epoch: int


def error_of(answer: Any) -> ErrorCode:
    """The first error in an answer of a transaction coordinator, or in one to a commit of offsets."""
    topics = getattr(answer, "results_by_topic_v3_and_below", None)
    if topics:
        codes = [each.partition_error_code for topic in topics for each in topic.results_by_partition]
        return ErrorCode(next((code for code in codes if code), 0))
    return ErrorCode(answer.error_code)
