"""The offsets, epochs and snapshots of a node's log, without its records.

    start_offset <= synced_offset <= end_offset

The shape changes as effects are issued, ahead of the disk by no more than the effects of one event. A log that does
not start at 0 starts at the end of its oldest snapshot (KIP-630).
"""

from collections.abc import Iterable
from typing import NamedTuple

from penstock.cluster.raft.values import LogPosition
from penstock.storage.leader_epochs import EpochEntry, LeaderEpochs


class Diverging(NamedTuple):
    """The follower's log diverges: it must truncate to the end of this epoch, here or in its own log."""

    at: LogPosition


class NeedsSnapshot(NamedTuple):
    """The records that the follower lacks are no longer in the log."""

    snapshot: LogPosition


class LogShape:
    def __init__(
        self,
        *,
        start_offset: int = 0,
        end_offset: int = 0,
        synced_offset: int = 0,
        epochs: Iterable[EpochEntry] = (),
        snapshots: Iterable[LogPosition] = (),
    ) -> None:
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.synced_offset = synced_offset
        self.epochs = LeaderEpochs(epochs)
        self.snapshots = sorted(snapshots, key=_offset)

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record in the log, or of the snapshot that it starts from; 0 for none."""
        latest = self.epochs.latest_epoch
        if latest is not None:
            return latest
        return self.snapshots[-1].epoch if self.snapshots else 0

    @property
    def end(self) -> LogPosition:
        return LogPosition(self.last_epoch, self.end_offset)

    @property
    def latest_snapshot(self) -> LogPosition | None:
        return self.snapshots[-1] if self.snapshots else None

    def position_at(self, offset: int) -> LogPosition:
        """The position of a log that ends at `offset`."""
        epoch = self.epochs.epoch_for(offset - 1)
        if epoch is None:
            epoch = next((each.epoch for each in reversed(self.snapshots) if each.offset <= offset), 0)
        return LogPosition(epoch, offset)

    # -- changes --------------------------------------------------------------------------------------

    def append(self, epoch: int, next_offset: int) -> None:
        """A batch of `epoch` was appended; the next one begins at `next_offset`."""
        self.epochs.assign(epoch, self.end_offset)
        self.end_offset = next_offset

    def truncate(self, end_offset: int) -> None:
        self.end_offset = end_offset
        self.synced_offset = min(self.synced_offset, end_offset)
        self.epochs.truncate_from_end(end_offset)

    def restart_at(self, snapshot: LogPosition) -> None:
        """A snapshot of the leader replaces the log."""
        self.start_offset = self.end_offset = self.synced_offset = snapshot.offset
        self.epochs.clear()
        self.snapshots = [snapshot]

    def drop_prefix(self, snapshot: LogPosition) -> None:
        self.start_offset = snapshot.offset
        self.epochs.truncate_from_start(snapshot.offset)
        self.snapshots = [each for each in self.snapshots if each.offset >= snapshot.offset]

    # -- comparing two logs -------------------------------------------------------------------------

    def compare(self, offset: int, last_epoch: int) -> Diverging | NeedsSnapshot | None:
        """Compare with a log that ends at `offset` with a record of `last_epoch`; None when it is a prefix of this."""
        if self.snapshots:
            oldest, latest = self.snapshots[0], self.snapshots[-1]
            is_at_start = offset == self.start_offset and self.start_offset > 0
            if (
                (offset == 0 and latest.offset > 0)  # faster than all its records
                or offset < self.start_offset
                or (is_at_start and last_epoch != oldest.epoch)
                or (self.start_offset > 0 and last_epoch < oldest.epoch)
            ):
                return NeedsSnapshot(latest)
        if offset == 0:
            return None
        end = self.end_of_epoch(last_epoch)
        if end.epoch != last_epoch or end.offset < offset:
            return Diverging(end)
        return None

    def end_of_epoch(self, epoch: int) -> LogPosition:
        """The greatest epoch here that is not above `epoch`, and where it ends."""
        latest = self.epochs.latest_epoch
        if latest is None or epoch >= latest:
            return self.end
        earliest = self.epochs.earliest
        assert earliest is not None
        if epoch < earliest.epoch:
            return self.position_at(earliest.start_offset)
        return LogPosition(*self.epochs.end_offset_for(epoch, self.end_offset))

    def truncation_for(self, diverging: LogPosition) -> int:
        """The offset to truncate to after the leader answered that the logs diverge at `diverging` (KIP-279)."""
        if diverging.epoch > self.last_epoch:
            return min(diverging.offset, self.end_offset)
        end = self.end_of_epoch(diverging.epoch)
        return min(end.offset, diverging.offset) if end.epoch == diverging.epoch else end.offset


def _offset(position: LogPosition) -> int:
    return position.offset
