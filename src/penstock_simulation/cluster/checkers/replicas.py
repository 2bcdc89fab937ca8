"""Checks replicas: one leads in an epoch and has all committed records; all logs agree below the high watermark.

The checker remembers every batch that was ever below a high watermark, byte for byte. A replica whose high watermark
advances is compared with these from its own log start on.

Some losses are allowed. Records below an offset that an administrator deleted, or that retention may delete, may be
gone. Where a topic does not wait for the disk, a simultaneous crash of all eligible replicas loses what one of them
had not synced: see `on_all_crashed`.
"""

import contextlib
from collections.abc import Iterator

import msgspec

from penstock.cluster.metadata.state import Partition
from penstock.cluster.replica import Replica
from penstock.protocol.records.batch import iter_batches_strict
from penstock.runtime.observers import Observers
from penstock.storage.log.values import LogSlice
from penstock.storage.log_files import LogFiles
from penstock_simulation.cluster.checkers.checker import Waiters
from penstock_simulation.cluster.values import PartitionName
from penstock_simulation.disk import FaultyDisk
from penstock_simulation.violation import ViolationLog

_READ_BYTES = 1 << 30

PartitionId = tuple[bytes, int]


class Batch(msgspec.Struct, frozen=True):
    """A batch as it is stored in a log."""

    base_offset: int
    next_offset: int
    leader_epoch: int
    content: bytes

    def __str__(self) -> str:
        return f"offsets {self.base_offset} to {self.next_offset - 1} of epoch {self.leader_epoch}"

    def difference(self, other: "Batch") -> str:
        if str(self) != str(other):
            return f"{self} and {other}"
        mine, theirs = self.content, other.content
        equal = (i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b)
        return f"{self}, which differ from byte {next(equal, min(len(mine), len(theirs)))} on"


class Loss(msgspec.Struct, frozen=True):
    """A crash of all eligible replicas may have taken records of these epochs from an offset on."""

    offset: int
    epoch_max: int


class ReplicaChecker:
    def __init__(self, violations: ViolationLog) -> None:
        self._violations = violations
        self.leaders: dict[tuple[bytes, int, int], int] = {}
        self.unclean_topics: set[str] = set()
        """Topics with unclean elections, which may lose committed records."""
        self.retention_topics: set[str] = set()
        """Topics that retention may delete records of."""
        self.corrupted: set[tuple[int, str]] = set()
        """Nodes and partitions (`orders-0`) with a flipped bit: their content does not count."""
        self.states: dict[PartitionId, Partition] = {}
        """The newest metadata of each partition that any node has applied."""
        self.state_changes: Observers[PartitionId] = Observers()
        self.names: dict[PartitionId, PartitionName] = {}
        self._committed: dict[PartitionId, dict[int, Batch]] = {}
        self._ends: dict[PartitionId, dict[int, int]] = {}
        """The committed end offset of each epoch."""
        self._latest_epoch: dict[PartitionId, int] = {}
        self._deleted: dict[PartitionId, int] = {}
        """The offset before which records were deleted: a follower need not have had the same records there."""
        self._losses: dict[PartitionId, list[Loss]] = {}
        """All losses: a replica may come back late with records that an early loss took."""
        self._leaderless: set[PartitionId] = set()
        """Partitions whose eligible replicas have all crashed, and that have had no leader since."""
        self._checked: dict[Replica, int] = {}
        self.divergence_waiters: Waiters[int, PartitionName] = Waiters()
        self.group_commit_sizes: list[int] = []
        """The number of client batches that each group commit appended together."""

    def on_follow(self, replica: Replica) -> None:
        """A node learns which node leads a partition in an epoch."""
        key = _key(replica)
        self.names[key] = (replica.topic, replica.partition)
        if replica.state is not None:
            known_state = self.states.setdefault(key, replica.state)
            if replica.state.partition_epoch > known_state.partition_epoch:
                self.states[key] = replica.state
                self.state_changes.notify(key)
        if replica.leader_id < 0:
            return
        epoch = replica.leader_epoch
        known = self.leaders.setdefault((*key, epoch), replica.leader_id)
        if known != replica.leader_id:
            detail = f"nodes {known} and {replica.leader_id} both lead in epoch {epoch}"
            self._fail("one leader", replica, detail)
        self._latest_epoch[key] = max(epoch, self._latest_epoch.get(key, -1))

    def on_lead(self, replica: Replica) -> None:
        """A replica begins to lead: it has all records committed in earlier epochs.

        A replica that learns late of an epoch that it led before is not checked.
        """
        key, epoch = _key(replica), replica.leader_epoch
        if epoch < self._latest_epoch.get(key, -1):
            return
        self._leaderless.discard(key)
        ends = [end for of, end in self._ends.get(key, {}).items() if of < epoch]
        end_offset = replica.log.log_end_offset
        if ends and end_offset < max(ends) and not self._is_unchecked(replica):
            detail = (
                f"node {replica.leader_id} leads epoch {epoch} with end offset {end_offset}, but records up "
                f"to offset {max(ends)} are committed"
            )
            self._fail("leader completeness", replica, detail)

    def on_high_watermark(self, replica: Replica) -> None:
        """A replica's high watermark has advanced: its committed batches are the same as all others'."""
        key = _key(replica)
        if self._is_unchecked(replica) or key in self._leaderless:
            return
        start = max(replica.log.log_start_offset, self._deleted.get(key, 0))  # it may be in a batch
        begin = max(self._checked.get(replica, start), start)
        known = self._committed.setdefault(key, {})
        for batch in batches_of(replica, begin):
            if begin == start:
                begin = min(begin, batch.base_offset)
            if batch.base_offset != begin:
                detail = f"a batch begins at offset {batch.base_offset} instead of {begin}"
                self._fail("contiguous", replica, detail)
            if (committed := known.setdefault(begin, batch)) != batch:
                detail = f"committed, and on node {node_of(replica)}: {committed.difference(batch)}"
                self._fail("logs agree", replica, detail)
            begin = batch.next_offset
            ends = self._ends.setdefault(key, {})
            ends[batch.leader_epoch] = max(begin, ends.get(batch.leader_epoch, 0))
        self._checked[replica] = begin

    def on_append(self, replica: Replica, epoch: int) -> None:
        """Records that were not fetched from a leader are appended: only by the leader, in its epoch."""
        if not replica.is_leader or epoch != replica.leader_epoch:
            detail = (
                f"node {node_of(replica)} appends in epoch {epoch}, but node {replica.leader_id} leads in "
                f"epoch {replica.leader_epoch}"
            )
            self._fail("leader appends", replica, detail)

    # -- deletion and truncation ----------------------------------------------------------------------

    def on_delete_records(self, replica: Replica, offset: int) -> None:
        """A leader deletes all records before an offset on request."""
        key = _key(replica)
        self._deleted[key] = max(offset, self._deleted.get(key, 0))

    def on_log_start(self, replica: Replica, before: int) -> None:
        """The log start offset has moved from `before`: only for a reason, and not past the high watermark."""
        start = replica.log.log_start_offset
        if start <= before or self._is_unchecked(replica):
            return
        if replica.topic in self.retention_topics and replica.is_leader:
            self.on_delete_records(replica, start)
        elif replica.topic not in self.retention_topics and start > self._deleted.get(_key(replica), 0):
            detail = f"node {node_of(replica)} deleted records before offset {start} without a request"
            self._fail("log start", replica, detail)
        if replica.is_leader and start > replica.high_watermark:
            detail = f"the log starts at {start}, and the high watermark is {replica.high_watermark}"
            self._fail("log start", replica, detail)
        if replica.is_leader and replica.last_stable_offset < start:
            detail = f"it is {replica.last_stable_offset}, and the log starts at {start}"
            self._fail("last stable offset", replica, detail)

    def on_divergence(self, replica: Replica) -> None:
        """A follower's log has diverged from its leader's, and is about to be truncated."""
        self.divergence_waiters.resolve(node_of(replica), (replica.topic, replica.partition))

    def on_truncate(self, replica: Replica, end_offset: int) -> None:
        """A replica is about to truncate its log: it does not lead, and loses nothing committed."""
        key = _key(replica)
        self._checked[replica] = min(self._checked.get(replica, end_offset), end_offset)
        if end_offset >= replica.log.log_end_offset or self._is_unchecked(replica):
            return
        if replica.is_leader:
            detail = f"the leader of epoch {replica.leader_epoch} is truncated to offset {end_offset}"
            self._fail("leader truncated", replica, detail)
        if replica.log.first_missing_offset == end_offset:
            return  # of a topic that does not wait for syncs, a crash has taken these records: they are fetched again
        if end_offset < replica.high_watermark and not self._is_loss_allowed(key, replica, end_offset):
            detail = f"truncated to offset {end_offset}, below the high watermark {replica.high_watermark}"
            self._fail("committed truncated", replica, detail)

    def _is_loss_allowed(self, key: PartitionId, replica: Replica, offset: int) -> bool:
        epoch = replica.log.epoch_of(offset)
        return any(offset >= loss.offset and epoch <= loss.epoch_max for loss in self._losses.get(key, ()))

    def on_all_crashed(self, key: PartitionId, offset: int) -> None:
        """All eligible replicas have crashed, and one of them, which may lead, has nothing from `offset` on."""
        epoch = self._latest_epoch.get(key, -1)
        self._losses.setdefault(key, []).append(Loss(offset, epoch))
        self._leaderless.add(key)
        known = self._committed.get(key, {})
        self._committed[key] = {at: batch for at, batch in known.items() if batch.next_offset <= offset}
        self._ends[key] = {of: min(end, offset) for of, end in self._ends.get(key, {}).items()}
        for replica in [each for each in self._checked if _key(each) == key]:
            self._checked[replica] = min(self._checked[replica], offset)

    def committed_end(self, key: PartitionId) -> int:
        return max(self._ends.get(key, {}).values(), default=0)

    def is_corrupted(self, replica: Replica) -> bool:
        return (node_of(replica), f"{replica.topic}-{replica.partition}") in self.corrupted

    def _is_unchecked(self, replica: Replica) -> bool:
        return replica.topic in self.unclean_topics or self.is_corrupted(replica)

    def _fail(self, invariant: str, replica: Replica, detail: str) -> None:
        self._violations.report(invariant, f"{replica.topic}-{replica.partition}: {detail}")


def _key(replica: Replica) -> PartitionId:
    return (replica.topic_id, replica.partition)


def node_of(replica: Replica) -> int:
    return replica.deps.node_id


def batches_of(replica: Replica, offset: int, end_offset: int | None = None) -> Iterator[Batch]:
    """Yield the batches of a replica from `offset` to its high watermark, or to another end."""
    limit = replica.high_watermark if end_offset is None else end_offset
    while offset < limit:
        with _warm_disk(replica):
            piece = replica.log.read(offset, _READ_BYTES, offset_limit=limit)
        assert isinstance(piece, LogSlice), "a warm disk reads without waiting"
        found = bytes(piece.records)
        before = offset
        for pos, header in iter_batches_strict(found):
            content = found[pos : pos + header.size_bytes]
            yield Batch(header.base_offset, header.next_offset, header.leader_epoch, content)
            offset = header.next_offset
        if offset == before:
            return


def _warm_disk(replica: Replica) -> contextlib.AbstractContextManager[None]:
    files = replica.log.files
    disk = files._files if isinstance(files, LogFiles) else files  # noqa: SLF001 - only a checker needs the disk
    return disk.warm() if isinstance(disk, FaultyDisk) else contextlib.nullcontext()
