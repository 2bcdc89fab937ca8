"""The data of a share group (KIP-932).

No I/O. The timers, `must_refresh` and `in_flight` are not in the log; they are reset after a restart.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from penstock.groups.base.assignment import Assignment
from penstock.groups.base.epoch_group import EpochGroup, GroupState
from penstock.groups.base.instant import Instant
from penstock.groups.base.timers import Awaited
from penstock.groups.share import records
from penstock.groups.share.member import ShareMember
from penstock.groups.share.records import StatePartitionsKey
from penstock.groups.share.state_partitions import StatePartitions, decode_state_partitions
from penstock.protocol.coordinator_records import TypedRecord

FIRST_EPOCH = 1
"""The epoch before anyone joined, as in Kafka: offsets may be set then, and the share coordinator gets the epoch."""


class ShareGroup(EpochGroup[ShareMember]):
    types = records.TYPES
    new_member = ShareMember
    recorded = (*EpochGroup.recorded, "state_partitions")

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id, FIRST_EPOCH)
        self.state_partitions = StatePartitions()
        self.assigned_state_partitions: StatePartitions | None = None
        """The last value whose partitions are all in the target: heartbeats need not compare it again."""
        self.in_flight: Assignment = {}
        """The partitions that the share coordinator is being asked to initialize or to delete."""

    @property
    def state(self) -> GroupState:
        """A share group never reconciles, because its members do not wait for each other."""
        return GroupState.STABLE if self.members else GroupState.EMPTY

    def continue_from(self, epoch: int) -> None:
        """Continue after the last epoch of a deleted group of this name.

        Leaders of partitions may still have its state, or write to it: its epochs must not return.
        """
        self.put_epoch(epoch + 1, self.metadata_hash)

    def put_state_partitions(self, state_partitions: StatePartitions) -> None:
        if state_partitions != self.state_partitions:
            self.record(StatePartitionsKey(group_id=self.group_id), state_partitions.value())

    def tombstones(self) -> Iterator[TypedRecord]:
        for key in (self.types.target_epoch.key, StatePartitionsKey, self.types.group.key):
            yield key(group_id=self.group_id), None

    def _apply_state_partitions(self, _key: Any, value: Any) -> None:
        self.state_partitions = StatePartitions() if value is None else decode_state_partitions(value)

    appliers: ClassVar = {
        **EpochGroup.common_appliers(records.TYPES),
        StatePartitionsKey: _apply_state_partitions,
    }

    def resume(self, now: Instant, session_timeout_ms: int) -> None:
        for member_id in self.members:
            self.timers.start(member_id, Awaited.HEARTBEAT, now, session_timeout_ms)
