"""The values that go into and come out of a log."""

import msgspec

from penstock.storage.files import Buffer
from penstock.storage.leader_epochs import LeaderEpochs
from penstock.storage.producer_state import ProducerStates
from penstock.storage.segment import Segment

LEADER_EPOCHS = "leader-epoch-checkpoint"


class LogSlice(msgspec.Struct, frozen=True, gc=False):
    """Whole batches, the first of which contains the offset asked for; `next_offset` follows the last."""

    records: Buffer
    next_offset: int


class Cold(msgspec.Struct, frozen=True, gc=False):
    """The records are not in memory: ask `read_cold`, which may wait for the disk."""


COLD = Cold()


class LoadedLog(msgspec.Struct, kw_only=True):
    """What opening a log finds: see `recovery.load_log`."""

    segments: list[Segment]
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    producers: ProducerStates
    epochs: LeaderEpochs
    snapshot_offsets: list[int]
    damage: tuple[str, ...] = ()
    """What recovery found wrong below the recovery point, and left as it is."""
