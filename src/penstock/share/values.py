"""What the parts of share groups (KIP-932) tell each other: what is kept of a share partition, and who keeps it.

A share partition is one partition as one share group reads it. Its state is a start offset, before which everything is
done with, and for the records behind it, by ranges, whether they are available, acknowledged or archived, and how often
they were delivered. The leader of the partition has it in memory and writes every change to the share coordinator,
which keeps it in `__share_group_state`.
"""

import enum
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from penstock.protocol.errors import ErrorCode

UNINITIALIZED_OFFSET = -1
"""The start offset of a share partition that no leader has read yet: the group's `share.auto.offset.reset` decides."""


class RecordState(enum.IntEnum):
    """Of one record, as the protocol numbers it."""

    AVAILABLE = 0
    ACQUIRED = 1  # in memory only: to the state that is kept it is available
    ACKNOWLEDGED = 2
    ARCHIVED = 4


class SharePartitionKey(NamedTuple):
    group_id: str
    topic_id: bytes
    partition: int


class StateBatch(NamedTuple):
    """Records from one offset to another, both included, that have the same state."""

    first_offset: int
    last_offset: int
    state: RecordState
    delivery_count: int


class ShareState(NamedTuple):
    """What is kept of a share partition. `state_epoch` grows with every initialization: older leaders are refused."""

    state_epoch: int
    start_offset: int
    batches: Sequence[StateBatch] = ()


class ShareSummary(NamedTuple):
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int = (
        -1
    )  # of records behind the start offset that are done with; -1 if nobody knows


class PersisterError(Exception):
    """The state of a share partition could not be read or written; `code` is what the share coordinator said."""

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        super().__init__(message or code.name)
        self.code = code


class Persister(Protocol):
    """Where the state of share partitions is kept, wherever its coordinator runs.

    Every method raises `PersisterError`, after it has tried again what is worth trying again.
    """

    async def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> None: ...

    async def read(self, key: SharePartitionKey, leader_epoch: int) -> ShareState:
        """Give the state to the leader of this epoch; leaders of earlier ones are refused from then on."""
        ...

    async def write(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
    ) -> None:
        """Lay `batches` over what is kept, and move the start offset."""
        ...

    async def summary(self, key: SharePartitionKey) -> ShareSummary:
        """Without regard to who leads: for those who describe a group."""
        ...

    async def delete(self, key: SharePartitionKey) -> None: ...
