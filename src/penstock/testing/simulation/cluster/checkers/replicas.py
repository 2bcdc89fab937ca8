"""What replicas do: one leads in an epoch and has all that is committed; below high watermarks all logs are the same.

Everything that ever was below a high watermark, anywhere, is remembered as a line of batches (offset, CRC, epoch).
"""

from collections.abc import Iterator

import msgspec

from penstock.cluster.replica import Replica
from penstock.protocol.records.batch import iter_batches_strict
from penstock.storage.log_values import LogSlice
from penstock.testing.simulation.cluster.checkers.verdict import Verdict

_READ_BYTES = 1 << 30

PartitionId = tuple[bytes, int]


class Batch(msgspec.Struct, frozen=True):
    """A batch as it lies in a log."""

    base_offset: int
    next_offset: int
    crc: int
    leader_epoch: int


class ReplicaChecker:
    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self.leaders: dict[tuple[bytes, int, int], int] = {}
        self.excused: set[str] = set()
        """Topics whose elections may be unclean: what was committed may be lost."""
        self.rotten: set[tuple[int, str]] = set()
        """Nodes with the name of a partition that is damaged on their disks: others tell what is committed."""
        self._committed: dict[PartitionId, dict[int, Batch]] = {}
        self._ends: dict[PartitionId, dict[int, int]] = {}
        """Up to where batches of an epoch are committed."""
        self._latest_epoch: dict[PartitionId, int] = {}
        self._deleted: dict[PartitionId, int] = {}
        """Up to where records were deleted: a follower that hears of it need not have had the same before."""
        self._checked: dict[Replica, int] = {}
        self.groups: list[int] = []
        """How many batches of clients were appended together, each time that it was more than one."""

    def follows(self, replica: Replica) -> None:
        """A node knows who leads a partition in an epoch."""
        if replica.leader_id < 0:
            return
        epoch = replica.leader_epoch
        known = self.leaders.setdefault((replica.topic_id, replica.partition, epoch), replica.leader_id)
        if known != replica.leader_id:
            self._fail("one leader", replica, f"led by {known} and {replica.leader_id} in epoch {epoch}")
        key = (replica.topic_id, replica.partition)
        self._latest_epoch[key] = max(epoch, self._latest_epoch.get(key, -1))

    def leads(self, replica: Replica) -> None:
        """A replica begins to lead: it has all that was committed in earlier epochs.

        Not so one that only now hears how it once led.
        """
        key, epoch = (replica.topic_id, replica.partition), replica.leader_epoch
        if (
            replica.topic in self.excused
            or self.is_rotten(replica)
            or epoch < self._latest_epoch.get(key, -1)
        ):
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
        key = (replica.topic_id, replica.partition)
        start = max(replica.log.log_start_offset, self._deleted.get(key, 0))  # it may be in a batch
        begin = max(self._checked.get(replica, start), start)
        known = self._committed.setdefault(key, {})
        if replica.topic in self.excused or self.is_rotten(replica):
            return
        for batch in batches_of(replica, begin):
            if begin == start:
                begin = min(begin, batch.base_offset)
            if batch.base_offset != begin:
                self._fail("contiguous", replica, f"{batch.base_offset} comes where {begin} should")
            if known.setdefault(begin, batch) != batch:
                self._fail(
                    "logs agree",
                    replica,
                    f"{known[begin]} is committed, and node {node_of(replica)} has {batch}",
                )
            begin = batch.next_offset
            ends = self._ends.setdefault(key, {})
            ends[batch.leader_epoch] = max(begin, ends.get(batch.leader_epoch, 0))
        self._checked[replica] = begin

    def deletes(self, replica: Replica, offset: int) -> None:
        """A leader deletes all before an offset."""
        key = (replica.topic_id, replica.partition)
        self._deleted[key] = max(offset, self._deleted.get(key, 0))

    def cuts(self, replica: Replica, end_offset: int, high_watermark: int) -> None:
        """A replica has cut its log: it never knew that to be committed."""
        self._checked[replica] = min(self._checked.get(replica, end_offset), end_offset)
        is_excused = replica.topic in self.excused or self.is_rotten(replica)
        if end_offset < high_watermark and not is_excused:
            self._fail("cut", replica, f"cut to {end_offset}, and {high_watermark} was committed")

    def is_rotten(self, replica: Replica) -> bool:
        return (node_of(replica), f"{replica.topic}-{replica.partition}") in self.rotten

    def _fail(self, invariant: str, replica: Replica, detail: str) -> None:
        self._verdict.fail(invariant, f"{replica.topic}-{replica.partition}: {detail}")


def node_of(replica: Replica) -> int:
    return replica._surroundings.node_id  # noqa: SLF001 - nobody else wants to know


def batches_of(replica: Replica, offset: int) -> Iterator[Batch]:
    """What a replica has between `offset` and its high watermark."""
    while offset < replica.high_watermark:
        piece = replica.log.read(offset, _READ_BYTES, offset_limit=replica.high_watermark)
        assert isinstance(piece, LogSlice), "a disk in memory is never cold"
        found = bytes(piece.records)
        before = offset
        for _, header in iter_batches_strict(found):
            yield Batch(header.base_offset, header.next_offset, header.crc, header.leader_epoch)
            offset = header.next_offset
        if offset == before:
            return
