"""The committed offsets of the groups in one partition of `__consumer_offsets`, and offsets in open transactions.

No I/O. Every change has its position in the log, because the offset of a transaction that commits later must not
replace an offset that was written after it.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from penstock.protocol.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from penstock.protocol.wire import ZERO_UUID

NO_PRODUCER_ID = -1


class Committed(msgspec.Struct, frozen=True, gc=False):
    value: OffsetCommitValue
    order: int


TopicOffsets = dict[str, dict[int, Committed]]


class CommittedOffsets:
    __slots__ = ("_by_group", "_pending")

    def __init__(self) -> None:
        self._by_group: dict[str, TopicOffsets] = {}
        self._pending: dict[int, dict[str, TopicOffsets]] = {}  # by producer id, then as above

    def get(self, group_id: str, topic: str, partition: int) -> OffsetCommitValue | None:
        committed = self._by_group.get(group_id, {}).get(topic, {}).get(partition)
        return None if committed is None else committed.value

    def groups(self) -> Iterable[str]:
        """Return the groups that have committed offsets."""
        return self._by_group.keys()

    def topics(self, group_id: str) -> Iterator[tuple[str, dict[int, Committed]]]:
        """Return the committed offsets of a group, by topic."""
        return iter(self._by_group.get(group_id, {}).items())

    def has_any(self, group_id: str) -> bool:
        return group_id in self._by_group or any(group_id in each for each in self._pending.values())

    def is_unstable(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction is about to commit an offset here (KIP-447)."""
        return any(
            partition in pending.get(group_id, {}).get(topic, {}) for pending in self._pending.values()
        )

    def put(
        self, key: OffsetCommitKey, value: OffsetCommitValue, order: int, producer_id: int = NO_PRODUCER_ID
    ) -> None:
        if producer_id == NO_PRODUCER_ID:
            groups = self._by_group
        else:
            groups = self._pending.setdefault(producer_id, {})
        topics = groups.setdefault(key.group, {})
        topics.setdefault(key.topic, {})[key.partition] = Committed(value, order)

    def remove(self, key: OffsetCommitKey) -> None:
        _remove(self._by_group, key)
        for pending in self._pending.values():
            _remove(pending, key)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        pending = self._pending.pop(producer_id, None)
        if pending is None or not is_commit:
            return
        for group_id, topics in pending.items():
            for topic, partitions in topics.items():
                known = self._by_group.setdefault(group_id, {}).setdefault(topic, {})
                for partition, committed in partitions.items():
                    if partition not in known or known[partition].order < committed.order:
                        known[partition] = committed

    def drop_pending(self, is_open: Callable[[int], bool]) -> None:
        """Drop the offsets of transactions that are no longer open: it is unknown whether they committed."""
        for producer_id in [each for each in self._pending if not is_open(each)]:
            del self._pending[producer_id]

    def keys_of(self, group_id: str) -> list[OffsetCommitKey]:
        """Return the keys of all offsets of a group, also pending ones."""
        found = {
            (topic, partition): None
            for groups in (self._by_group, *self._pending.values())
            for topic, partitions in groups.get(group_id, {}).items()
            for partition in partitions
        }
        return [OffsetCommitKey(group=group_id, topic=t, partition=p) for t, p in found]

    def keys_of_topic(self, topic: str, topic_id: bytes) -> list[OffsetCommitKey]:
        """Return the keys of all groups for a topic, not for another one of its name. Old commits have no topic id."""
        found: dict[tuple[str, int], bool] = {}
        for groups in (self._by_group, *self._pending.values()):
            for group_id, topics in groups.items():
                for partition, committed in topics.get(topic, {}).items():
                    is_of_topic = committed.value.topic_id in (topic_id, ZERO_UUID)
                    found[group_id, partition] = is_of_topic and found.get((group_id, partition), True)
        return [
            OffsetCommitKey(group=g, topic=topic, partition=p)
            for (g, p), is_of_topic in found.items()
            if is_of_topic
        ]

    def select(
        self, group_id: str, is_wanted: Callable[[str, OffsetCommitValue], bool]
    ) -> list[OffsetCommitKey]:
        """Return the keys of committed offsets for which `is_wanted(topic, value)` holds, without unstable ones."""
        return [
            OffsetCommitKey(group=group_id, topic=topic, partition=partition)
            for topic, partitions in self._by_group.get(group_id, {}).items()
            for partition, committed in partitions.items()
            if is_wanted(topic, committed.value) and not self.is_unstable(group_id, topic, partition)
        ]


def _remove(groups: dict[str, TopicOffsets], key: OffsetCommitKey) -> None:
    """Remove one offset, and containers that become empty."""
    topics = groups.get(key.group, {})
    if key.topic not in topics:
        return
    partitions = topics[key.topic]
    partitions.pop(key.partition, None)
    if not partitions:
        del topics[key.topic]
    if not topics:
        del groups[key.group]
