"""The state of a share partition (KIP-932), and the interface of its storage.

A share partition is one partition as one share group reads it. Its state is a start offset, before which all records
are complete, and for ranges of records after it their state and delivery count. The leader of the partition has it in
memory and writes every change to the share coordinator, which keeps it in `__share_group_state`.
"""

import enum
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from penstock.protocol.errors import ErrorCode

T = TypeVar("T")

UNINITIALIZED_OFFSET = -1
"""The start offset of a share partition that no leader has read yet: `share.auto.offset.reset` of the group decides."""


class RecordState(enum.IntEnum):
    """The state of one record, as the protocol numbers it."""

    AVAILABLE = 0
    ACQUIRED = 1  # in memory only: the stored state is available
    ACKNOWLEDGED = 2
    ARCHIVED = 4


class SharePartitionKey(NamedTuple):
    group_id: str
    topic_id: bytes
    partition: int

    def __str__(self) -> str:
        return f"group={self.group_id} topic_id={self.topic_id.hex()} partition={self.partition}"


class StateBatch(NamedTuple):
    """Records with the same state, from one offset to another, both included."""

    first_offset: int
    last_offset: int
    state: RecordState
    delivery_count: int

    def to_message(self, message: Callable[..., T]) -> T:
        return message(
            first_offset=self.first_offset,
            last_offset=self.last_offset,
            delivery_state=self.state,
            delivery_count=self.delivery_count,
        )


class ShareState(NamedTuple):
    """The stored state. `state_epoch` grows with every initialization: leaders with an older one are refused."""

    state_epoch: int
    start_offset: int
    batches: Sequence[StateBatch] = ()


class StateUpdate(NamedTuple):
    """A write of the leader: merges `batches` into the state, and moves the start offset."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: Sequence[StateBatch]


class ShareSummary(NamedTuple):
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int = -1
    """The number of completed records after the start offset; -1 if unknown."""


class PersisterError(Exception):
    """The state of a share partition could not be read or written; `code` is the share coordinator's."""

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        super().__init__(message or code.name)
        self.code = code


class Persister(Protocol):
    """Stores the state of share partitions with their coordinator, on whichever broker it runs.

    Every method retries retriable errors, and then raises `PersisterError`.
    """

    async def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> None: ...

    async def read(self, key: SharePartitionKey, leader_epoch: int) -> ShareState:
        """Return the state to the leader of this epoch. Leaders of earlier epochs are refused from then on."""
        ...

    async def write(self, key: SharePartitionKey, update: StateUpdate) -> None: ...

    async def summary(self, key: SharePartitionKey) -> ShareSummary:
        """Return the summary to any client, not only to the leader."""
        ...

    async def delete(self, key: SharePartitionKey) -> None: ...
