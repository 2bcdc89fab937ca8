"""What replicas do: one leads in an epoch and has all that is committed; below high watermarks all logs are the same.

Everything that ever was below a high watermark, anywhere, is remembered as a line of batches, byte for byte. A replica
whose high watermark moves is compared with that line from its own start on: nothing in a batch may differ.

What may be lost is known exactly. Records below an offset that an administrator has deleted, or that retention may
delete, may be gone. Where a topic waives the wait for the disk, a crash of all eligible replicas at a time loses what
one of them had not synced: `crashed_all`.
"""

import asyncio
import contextlib
from collections.abc import Iterator

import msgspec

from penstock.cluster.metadata.state import Partition
from penstock.cluster.replica import Replica
from penstock.observability.observers import Observers
from penstock.protocol.records.batch import iter_batches_strict
from penstock.storage.log.files import LogFiles
from penstock.storage.log.values import LogSlice
from penstock.testing.disk import FaultyDisk
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.checkers.verdict import Verdict

_READ_BYTES = 1 << 30

PartitionId = tuple[bytes, int]


class Batch(msgspec.Struct, frozen=True):
    """A batch as it lies in a log."""

    base_offset: int
    next_offset: int
    leader_epoch: int
    content: bytes

    def __str__(self) -> str:
        return f"offsets {self.base_offset} to {self.next_offset - 1} of epoch {self.leader_epoch}"

    def difference(self, other: "Batch") -> str:
        if str(self) != str(other):
            return f"{self} and {other}"
        pairs = enumerate(zip(self.content, other.content, strict=False))
        at = next(
            (i for i, (mine, theirs) in pairs if mine != theirs), min(len(self.content), len(other.content))
        )
        return f"{self}, which differ from byte {at} on"


class Loss(msgspec.Struct, frozen=True):
    """What a crash of all may have taken: records of these epochs from an offset on."""

    offset: int
    epoch_max: int


class ReplicaChecker:
    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self.leaders: dict[tuple[bytes, int, int], int] = {}
        self.excused: set[str] = set()
        """Topics whose elections may be unclean: what was committed may be lost."""
        self.deletable: set[str] = set()
        """Topics that retention may take records from."""
        self.rotten: set[tuple[int, str]] = set()
        """Nodes with the name of a partition that is damaged on their disks: others tell what is committed."""
        self.states: dict[PartitionId, Partition] = {}
        """What the metadata says of each partition, as far as any node has applied it."""
        self.changes: Observers[PartitionId] = Observers()
        """Notified when that is news."""
        self.names: dict[PartitionId, PartitionName] = {}
        self._committed: dict[PartitionId, dict[int, Batch]] = {}
        self._ends: dict[PartitionId, dict[int, int]] = {}
        """Up to where batches of an epoch are committed."""
        self._latest_epoch: dict[PartitionId, int] = {}
        self._deleted: dict[PartitionId, int] = {}
        """Up to where records were deleted: a follower that hears of it need not have had the same before."""
        self._losses: dict[PartitionId, list[Loss]] = {}
        """All of them: a replica may come back late with records that an early one took."""
        self._leaderless: set[PartitionId] = set()
        """All eligible replicas have crashed, and none has led since."""
        self._checked: dict[Replica, int] = {}
        self._waiting: dict[int, list[asyncio.Future[PartitionName]]] = {}
        self.groups: list[int] = []
        """How many batches of clients were appended together, each time that it was more than one."""

    def follows(self, replica: Replica) -> None:
        """A node knows who leads a partition in an epoch."""
        key = _key(replica)
        self.names[key] = (replica.topic, replica.partition)
        if replica.state is not None:
            known_state = self.states.setdefault(key, replica.state)
            if replica.state.partition_epoch > known_state.partition_epoch:
                self.states[key] = replica.state
                self.changes.notify(key)
        if replica.leader_id < 0:
            return
        epoch = replica.leader_epoch
        known = self.leaders.setdefault((*key, epoch), replica.leader_id)
        if known != replica.leader_id:
            self._fail("one leader", replica, f"led by {known} and {replica.leader_id} in epoch {epoch}")
        self._latest_epoch[key] = max(epoch, self._latest_epoch.get(key, -1))

    def leads(self, replica: Replica) -> None:
        """A replica begins to lead: it has all that was committed in earlier epochs.

        Not so one that only now hears how it once led.
        """
        key, epoch = _key(replica), replica.leader_epoch
        if epoch < self._latest_epoch.get(key, -1):
            return
        self._leaderless.discard(key)
        if self._is_excused(replica):
            return
        ends = [end for of, end in self._ends.get(key, {}).items() if of < epoch]
        if ends and replica.log.log_end_offset < max(ends):
            self._fail(
                "leader completeness",
                replica,
                f"{replica.leader_id} leads epoch {epoch} up to {replica.log.log_end_offset}, and {max(ends)} "
                "are committed",
            )

    def commits(self, replica: Replica) -> None:
        """A replica's high watermark has moved: what is below it is what is below all others'."""
        key = _key(replica)
        if self._is_excused(replica) or key in self._leaderless:
            return
        start = max(replica.log.log_start_offset, self._deleted.get(key, 0))  # it may be in a batch
        begin = max(self._checked.get(replica, start), start)
        known = self._committed.setdefault(key, {})
        for batch in batches_of(replica, begin):
            if begin == start:
                begin = min(begin, batch.base_offset)
            if batch.base_offset != begin:
                self._fail("contiguous", replica, f"{batch.base_offset} comes where {begin} should")
            if (committed := known.setdefault(begin, batch)) != batch:
                self._fail(
                    "logs agree",
                    replica,
                    f"committed, and on node {node_of(replica)}: {committed.difference(batch)}",
                )
            begin = batch.next_offset
            ends = self._ends.setdefault(key, {})
            ends[batch.leader_epoch] = max(begin, ends.get(batch.leader_epoch, 0))
        self._checked[replica] = begin

    def appends(self, replica: Replica, epoch: int) -> None:
        """Records that did not come from a leader were stored: so this is the leader, in the epoch they have."""
        if not replica.is_leader or epoch != replica.leader_epoch:
            self._fail(
                "leader appends",
                replica,
                f"node {node_of(replica)} appends in epoch {epoch}, and {replica.leader_id} leads epoch "
                f"{replica.leader_epoch}",
            )

    # -- what may be lost -----------------------------------------------------------------------------

    def deletes(self, replica: Replica, offset: int) -> None:
        """A leader deletes all before an offset, because it was asked to."""
        key = _key(replica)
        self._deleted[key] = max(offset, self._deleted.get(key, 0))

    def starts(self, replica: Replica, before: int) -> None:
        """A log starts further on than `before`: nothing else of it is deleted, and nothing that is not committed."""
        start = replica.log.log_start_offset
        if start <= before or self._is_excused(replica):
            return
        if replica.topic in self.deletable and replica.is_leader:
            self.deletes(replica, start)
        elif replica.topic not in self.deletable and start > self._deleted.get(_key(replica), 0):
            self._fail("log start", replica, f"starts at {start} on node {node_of(replica)}: nobody asked")
        if replica.is_leader and start > replica.high_watermark:
            self._fail("log start", replica, f"starts at {start}, and {replica.high_watermark} are committed")
        if replica.is_leader and replica.last_stable_offset < start:
            self._fail(
                "last stable offset", replica, f"{replica.last_stable_offset}, and it starts at {start}"
            )

    def truncates(self, replica: Replica) -> None:
        """A follower has found that its log has parted from its leader's, and is about to cut it."""
        for waiter in self._waiting.pop(node_of(replica), ()):
            if not waiter.done():
                waiter.set_result((replica.topic, replica.partition))

    def next_truncation(self, node_id: int) -> "asyncio.Future[PartitionName]":
        """Done when a log of this node is next to be cut: gives which."""
        waiter: asyncio.Future[PartitionName] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(node_id, []).append(waiter)
        return waiter

    def cuts(self, replica: Replica, end_offset: int) -> None:
        """A replica is about to cut its log: it leads nobody, and never knew that to be committed."""
        key = _key(replica)
        self._checked[replica] = min(self._checked.get(replica, end_offset), end_offset)
        if end_offset >= replica.log.log_end_offset or self._is_excused(replica):
            return
        if replica.is_leader:
            self._fail(
                "leader cut", replica, f"leads epoch {replica.leader_epoch}, and is cut to {end_offset}"
            )
        if replica.log.first_missing_offset == end_offset:
            return  # of a topic that waives syncs, a crash has taken what is cut: it is fetched again
        if end_offset < replica.high_watermark and not self._may_be_lost(key, replica, end_offset):
            self._fail("cut", replica, f"cut to {end_offset}, and {replica.high_watermark} was committed")

    def _may_be_lost(self, key: PartitionId, replica: Replica, offset: int) -> bool:
        epoch = replica.log.epoch_of(offset)
        return any(offset >= loss.offset and epoch <= loss.epoch_max for loss in self._losses.get(key, ()))

    def crashed_all(self, key: PartitionId, offset: int) -> None:
        """All eligible replicas have crashed, and one has nothing from `offset` on: it may lead."""
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

    # -------------------------------------------------------------------------------------------------

    def is_rotten(self, replica: Replica) -> bool:
        return (node_of(replica), f"{replica.topic}-{replica.partition}") in self.rotten

    def _is_excused(self, replica: Replica) -> bool:
        return replica.topic in self.excused or self.is_rotten(replica)

    def _fail(self, invariant: str, replica: Replica, detail: str) -> None:
        self._verdict.fail(invariant, f"{replica.topic}-{replica.partition}: {detail}")


def _key(replica: Replica) -> PartitionId:
    return (replica.topic_id, replica.partition)


def node_of(replica: Replica) -> int:
    return replica.deps.node_id


def batches_of(replica: Replica, offset: int, end_offset: int | None = None) -> Iterator[Batch]:
    """What a replica has between `offset` and its high watermark, or another end."""
    limit = replica.high_watermark if end_offset is None else end_offset
    while offset < limit:
        with reading(replica):
            piece = replica.log.read(offset, _READ_BYTES, offset_limit=limit)
        assert isinstance(piece, LogSlice), "a disk in memory that is not cold"
        found = bytes(piece.records)
        before = offset
        for pos, header in iter_batches_strict(found):
            content = found[pos : pos + header.size_bytes]
            yield Batch(header.base_offset, header.next_offset, header.leader_epoch, content)
            offset = header.next_offset
        if offset == before:
            return


@contextlib.contextmanager
def reading(replica: Replica) -> Iterator[None]:
    """Read without waiting: for a checker no disk is cold."""
    files = replica.log.files
    disk = files._files if isinstance(files, LogFiles) else files  # noqa: SLF001 - nobody else wants to know
    with disk.warm() if isinstance(disk, FaultyDisk) else contextlib.nullcontext():
        yield
