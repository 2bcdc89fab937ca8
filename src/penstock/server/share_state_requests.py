"""What the five requests about the state of share partitions (keys 83-87) have in common.

They are for brokers (`broker_apis`). Each names share partitions of one group, every
one of which is decided on in connection order; the answers wait for the log.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.share.values import PersisterError, SharePartitionKey

T = TypeVar("T")
R = TypeVar("R")


class _Numbered(Protocol):
    @property
    def partition(self) -> int: ...


P = TypeVar("P", bound=_Numbered)


class _Topic(Protocol[P]):
    @property
    def topic_id(self) -> bytes: ...
    @property
    def partitions(self) -> list[P]: ...


Outcome: TypeAlias = T | PersisterError
Begin: TypeAlias = Callable[[SharePartitionKey, P], Awaitable[T]]
Answer: TypeAlias = Callable[[int, Outcome[T]], R]


async def answer_each(
    begun: Sequence[tuple[bytes, Sequence[tuple[int, Awaitable[T] | PersisterError]]]], answer: Answer[T, R]
) -> list[tuple[bytes, list[R]]]:
    """Wait for what `begin_each` began; `answer` makes the result for each partition."""
    return [
        (topic_id, [answer(number, await _outcome(each)) for number, each in partitions])
        for topic_id, partitions in begun
    ]


async def _outcome(begun: Awaitable[T] | PersisterError) -> Outcome[T]:
    if isinstance(begun, PersisterError):
        return begun
    try:
        return await begun
    except PersisterError as error:
        return error


def begin_each(
    group_id: str, topics: Sequence[_Topic[P]], begin: Begin[P, T]
) -> list[tuple[bytes, list[tuple[int, Awaitable[T] | PersisterError]]]]:
    """Begin for every share partition of a request. One without a group, or without partitions, asks for nothing."""
    if not group_id or not all(topic.partitions for topic in topics):
        return []

    def begin_one(topic_id: bytes, partition: P) -> Awaitable[T] | PersisterError:
        try:
            return begin(SharePartitionKey(group_id, topic_id, partition.partition), partition)
        except PersisterError as error:
            return error
        except ProtocolError as error:
            return PersisterError(ErrorCode.INVALID_REQUEST, str(error))

    return [
        (topic.topic_id, [(each.partition, begin_one(topic.topic_id, each)) for each in topic.partitions])
        for topic in topics
    ]
