"""The values that go into and come out of a log."""

import enum

import msgspec

from penstock.storage.damage.damage import Damage, Loss
from penstock.storage.file_cache import LogFileCache
from penstock.storage.files import Buffer
from penstock.storage.leader_epochs import LeaderEpochs
from penstock.storage.producers.snapshot_files import SnapshotFiles
from penstock.storage.producers.state import ProducerStates
from penstock.storage.segment.segment import Segment

LEADER_EPOCHS = "leader-epoch-checkpoint"


class Origin(enum.Enum):
    """The source of an append: a client is trusted with less than the broker's own components."""

    CLIENT = 0
    COORDINATOR = 1
    RAFT_LEADER = 2


class Appended(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The result of an append. `duplicate`: the records were there already, at these offsets.

    The offsets mean these records only in the leader epoch of the append: a later leader may have truncated them.
    """

    base_offset: int
    last_offset: int
    leader_epoch: int
    log_append_time_ms: int
    log_start_offset: int
    duplicate: bool = False


class LogSlice(msgspec.Struct, frozen=True, gc=False):
    """Whole batches, the first of which contains the requested offset; `next_offset` follows the last."""

    records: Buffer
    next_offset: int


class Cold(msgspec.Struct, frozen=True, gc=False):
    """The records are not in memory: ask `read_cold`, which may wait for the disk."""


COLD = Cold()


class LoadedLog(msgspec.Struct, kw_only=True):
    """The state of a log that was opened: see `recovery.loader`."""

    cache: LogFileCache
    segments: list[Segment]
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    producers: ProducerStates
    epochs: LeaderEpochs
    snapshots: SnapshotFiles
    names_are_synced: bool = True
    clean_offset: int | None = None
    durable_offset: int
    unsynced: tuple[Segment, ...] = ()
    """Segments that recovery has written, and that the log's next sync makes durable."""
    damage: tuple[str, ...] = ()
    """Damage that recovery found below the recovery point, and did not change."""
    damaged: tuple[Damage, ...] = ()
    """The log's damaged ranges, including ranges of missing records."""
    losses: tuple[Loss, ...] = ()
    has_lost_records: bool = False
    """Whether there are losses, or the checkpoints say that there may be."""


class TimestampOffset(msgspec.Struct, frozen=True, gc=False):
    """A record, by its timestamp and offset."""

    timestamp: int
    offset: int
