"""A log in memory for nodes of the quorum, fast enough for thousands of seeds.

Synced changes survive a crash. A prefix of the unsynced ones may survive: each file of a real log keeps its changes
in order.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

import msgspec

from penstock.cluster.raft.log_shape import LogShape
from penstock.cluster.raft.records import voter_sets_in
from penstock.cluster.raft.values import Election, LogPosition
from penstock.cluster.raft.voters import VoterHistory, VoterSet
from penstock.protocol.records.batch import BatchHeader, iter_batches_strict
from penstock.storage.leader_epochs import EpochEntry


class StoredBatch(NamedTuple):
    base_offset: int
    next_offset: int
    epoch: int
    data: bytes
    header: BatchHeader


class Content(msgspec.Struct):
    """The content of a log."""

    start_offset: int = 0
    batches: list[StoredBatch] = []
    snapshots: dict[LogPosition, bytes] = {}

    def copy(self) -> "Content":
        return Content(self.start_offset, self.batches.copy(), self.snapshots.copy())

    @property
    def end_offset(self) -> int:
        return self.batches[-1].next_offset if self.batches else self.start_offset

    def number_at(self, offset: int) -> int:
        """Return the index of the first batch that begins at or after `offset`."""
        return bisect_left(self.batches, offset, key=_base_offset)

    def append(self, data: bytes) -> None:
        for pos, header in iter_batches_strict(data):
            assert header.base_offset == self.end_offset, "a gap in the log"
            part = data[pos : pos + header.size_bytes]
            self.batches.append(
                StoredBatch(header.base_offset, header.next_offset, header.leader_epoch, part, header)
            )

    def truncate(self, end_offset: int) -> None:
        del self.batches[self.number_at(end_offset) :]
        assert self.end_offset == end_offset, "truncated inside of a batch"

    def install(self, snapshot: LogPosition, data: bytes) -> None:
        self.batches.clear()
        self.start_offset = snapshot.offset
        self.snapshots = {snapshot: data}

    def drop_prefix(self, snapshot: LogPosition) -> None:
        del self.batches[: self.number_at(snapshot.offset)]
        self.start_offset = snapshot.offset
        self.snapshots = {each: d for each, d in self.snapshots.items() if each.offset >= snapshot.offset}


def _base_offset(batch: StoredBatch) -> int:
    return batch.base_offset


Change = Callable[[Content], None]


class MemoryLog:
    """The content that is read, the durable content, and the changes in between."""

    __slots__ = ("_durable", "_pending", "_synced_count", "content", "election")

    def __init__(self) -> None:
        self.content = Content()
        self.election: Election | None = None
        self._durable = Content()
        self._pending: list[Change] = []
        self._synced_count = 0

    # -- changes --------------------------------------------------------------------------------------

    def append(self, data: bytes) -> None:
        self._change(lambda content: content.append(data))

    def truncate(self, end_offset: int) -> None:
        self._change(lambda content: content.truncate(end_offset))

    def drop_prefix(self, snapshot: LogPosition) -> None:
        self._change(lambda content: content.drop_prefix(snapshot))

    def write_snapshot(self, snapshot: LogPosition, data: bytes) -> None:
        """Durable at once: it is synced before it gets its name."""
        self.content.snapshots[snapshot] = data
        self._durable.snapshots[snapshot] = data

    def install(self, snapshot: LogPosition, data: bytes) -> None:
        """The snapshot is durable before the log is replaced, and the replacement is synced at once."""
        self._change(lambda content: content.install(snapshot, data))
        self.sync(self.change_count)

    def _change(self, change: Change) -> None:
        change(self.content)
        self._pending.append(change)

    # -- durability -----------------------------------------------------------------------------------

    @property
    def change_count(self) -> int:
        """The number of changes so far: a sync that begins now will cover them."""
        return self._synced_count + len(self._pending)

    @property
    def durable_end_offset(self) -> int:
        """Return the end of the records that are in the log and durable: unsynced truncations end it."""
        if not self._pending:
            return self.content.end_offset
        durable = {batch.base_offset: batch.data for batch in self._durable.batches}
        end_offset = self.content.start_offset
        for batch in self.content.batches:
            if durable.get(batch.base_offset) != batch.data:
                break
            end_offset = batch.next_offset
        return end_offset

    def sync(self, change_count: int) -> None:
        """Make the first `change_count` of all changes durable."""
        covered = max(0, change_count - self._synced_count)
        for change in self._pending[:covered]:
            change(self._durable)
        self._synced_count += len(self._pending[:covered])
        del self._pending[:covered]

    def crash(self, randomness: Random) -> None:
        """Cut the power: a random prefix of the unsynced changes survives."""
        self.sync(self._synced_count + randomness.randint(0, len(self._pending)))
        self._synced_count += len(self._pending)
        self._pending.clear()
        self.content = self._durable.copy()

    def recover(self) -> None:
        """Replace a log that does not reach its latest snapshot by the snapshot, as on a real disk."""
        content = self.content
        if not content.snapshots:
            return
        latest = max(content.snapshots, key=lambda each: each.offset)
        number = content.number_at(latest.offset)
        is_before = number > 0 and content.batches[number - 1].next_offset == latest.offset
        if is_before and content.batches[number - 1].epoch == latest.epoch:
            return
        if latest.offset != content.start_offset:
            self.install(latest, content.snapshots[latest])

    # -- reading --------------------------------------------------------------------------------------

    def read(self, offset: int, limit: int, max_bytes: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        for batch in self.batches_from(offset):
            if batch.next_offset > limit or (parts and size + len(batch.data) > max_bytes):
                break
            parts.append(batch.data)
            size += len(batch.data)
        return b"".join(parts)

    def batches_from(self, offset: int) -> Iterator[StoredBatch]:
        batches = self.content.batches
        return (batches[number] for number in range(self.content.number_at(offset), len(batches)))

    def shape(self) -> LogShape:
        """Return the shape of a log that was recovered; all of it is durable."""
        content = self.content
        entries: list[EpochEntry] = []
        for batch in content.batches:
            if not entries or entries[-1].epoch != batch.epoch:
                entries.append(EpochEntry(batch.epoch, batch.base_offset))
        return LogShape(
            start_offset=content.start_offset,
            end_offset=content.end_offset,
            synced_offset=content.end_offset,
            epochs=entries,
            snapshots=content.snapshots,
        )

    def voter_history(self, initial: VoterSet, voters_of: Callable[[bytes], VoterSet | None]) -> VoterHistory:
        history = VoterHistory(initial)
        if self.content.snapshots and self.content.start_offset > 0:
            oldest = min(self.content.snapshots, key=lambda each: each.offset)
            history.restart(oldest.offset, voters_of(self.content.snapshots[oldest]))
        for batch in self.content.batches:
            for offset, voters in voter_sets_in(batch.data, 0, batch.header):
                history.add(offset, voters)
        return history
