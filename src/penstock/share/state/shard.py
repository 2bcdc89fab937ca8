"""The state of one partition of `__share_group_state`: the states of its share partitions.

No I/O. Changes are returned as a `Change`, which is logged first; `replay` applies them in the same way when they come
back from the log.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import msgspec

from penstock.cluster.coordination.change import Change, combine_changes
from penstock.cluster.coordination.loading import IsOpen
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import share_snapshot_record, share_update_record
from penstock.protocol.messages.share_snapshot_record import ShareSnapshotValue
from penstock.protocol.messages.share_update_record import ShareUpdateValue
from penstock.protocol.records.record import Record
from penstock.share.state.merging import merge, truncate_before
from penstock.share.state.records import Value, decode, encode, state_batches
from penstock.share.state.values import (
    UNINITIALIZED_OFFSET,
    PersisterError,
    SharePartitionKey,
    ShareState,
    ShareSummary,
    StateBatch,
    StateUpdate,
)

NO_EPOCH = -1
UNKNOWN_COUNT = -1

_BATCH_BYTES = 20  # of a state batch in a record
_FIXED_BYTES = 128  # more than the rest of a snapshot, without the group id


class WriteContext(NamedTuple):
    """`end_offset` is the log end offset, which is not above the offset of the record that will be written."""

    now_ms: int
    end_offset: int
    payload_bytes_max: int  # of a record's key and value


class _StoredState(msgspec.Struct, eq=False):
    """The state of one share partition. The log before `snapshot_offset` is not needed for it."""

    snapshot_offset: int
    snapshot_epoch: int = 0
    state_epoch: int = 0
    state_epoch_max: int = 0
    leader_epoch: int = 0
    leader_epoch_max: int = 0
    start_offset: int = UNINITIALIZED_OFFSET
    delivery_complete_count: int = UNKNOWN_COUNT
    batches: list[StateBatch] = msgspec.field(default_factory=list)
    created_ms: int = 0
    written_ms: int = 0
    update_count: int = 0
    """The number of updates since the last snapshot."""

    def apply_snapshot(self, value: ShareSnapshotValue, offset: int) -> None:
        self.batches = state_batches(value.state_batches)
        self.snapshot_epoch = value.snapshot_epoch
        self.snapshot_offset = offset
        self.state_epoch = value.state_epoch
        self.state_epoch_max = max(self.state_epoch_max, value.state_epoch)
        self.leader_epoch = value.leader_epoch
        self.leader_epoch_max = max(self.leader_epoch_max, value.leader_epoch)
        self.start_offset = value.start_offset
        self.delivery_complete_count = value.delivery_complete_count
        self.created_ms = value.create_timestamp
        self.written_ms = value.write_timestamp
        self.update_count = 0

    def apply_update(self, value: ShareUpdateValue) -> None:
        new_batches = state_batches(value.state_batches)
        if value.snapshot_epoch != self.snapshot_epoch:
            self.batches.clear()  # its snapshot is missing, so older acknowledgements may no longer be valid
            self.snapshot_epoch = value.snapshot_epoch
        if value.leader_epoch != NO_EPOCH:
            self.leader_epoch = value.leader_epoch
            self.leader_epoch_max = max(self.leader_epoch_max, value.leader_epoch)
        if value.start_offset != UNINITIALIZED_OFFSET:
            self.start_offset = value.start_offset
        self.delivery_complete_count = value.delivery_complete_count
        merge(self.batches, new_batches)
        truncate_before(self.batches, self.start_offset)
        self.update_count += 1

    def snapshot(self, now_ms: int, created_ms: int) -> ShareSnapshotValue:
        """Return the next snapshot, with the current state."""
        return ShareSnapshotValue(
            snapshot_epoch=self.snapshot_epoch + 1,
            state_epoch=self.state_epoch,
            leader_epoch=self.leader_epoch,
            start_offset=self.start_offset,
            delivery_complete_count=self.delivery_complete_count,
            create_timestamp=created_ms,
            write_timestamp=now_ms,
            state_batches=[each.to_message(share_snapshot_record.StateBatch) for each in self.batches],
        )

    @property
    def summary(self) -> ShareSummary:
        return ShareSummary(
            self.state_epoch, self.leader_epoch, self.start_offset, self.delivery_complete_count
        )

    @property
    def was_cold(self) -> bool:
        """Whether its last snapshot was made only to free the log before it."""
        return self.created_ms != self.written_ms


class ShareStateShard:
    __slots__ = ("_partition_count_of", "_states", "_updates_per_snapshot")

    def __init__(self, partition_count_of: Callable[[bytes], int], updates_per_snapshot: int) -> None:
        """`partition_count_of` returns how many partitions a topic id has: 0 when there is no such topic."""
        self._states: dict[SharePartitionKey, _StoredState] = {}
        self._partition_count_of = partition_count_of
        self._updates_per_snapshot = updates_per_snapshot

    def __len__(self) -> int:
        return len(self._states)

    def summaries(self) -> Iterator[tuple[SharePartitionKey, ShareSummary]]:
        return ((key, stored.summary) for key, stored in self._states.items())

    # -- from the log ---------------------------------------------------------------------------------

    def replay(self, record: Record, producer_id: int) -> None:  # noqa: ARG002  # nothing here is transactional
        if record.key is None:
            return
        change = decode(record.key, record.value)
        if change is not None:
            self._apply(*change, record.offset)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Do nothing: no record here is part of a transaction."""

    def skip_records(self, is_open: IsOpen) -> str:
        """Keep the older state: records that were acknowledged since are delivered again."""
        del is_open
        return (
            "Acknowledgements of share groups in these records are missing: their records are delivered again. Compare "
            "the start offsets (`penstock group describe`), or restore the file from a backup and restart the broker."
        )

    def _apply(self, key: SharePartitionKey, value: Value, offset: int) -> None:
        if value is None:
            self._states.pop(key, None)
            return
        stored = self._states.get(key) or _StoredState(offset)
        if isinstance(value, ShareSnapshotValue):
            stored.apply_snapshot(value, offset)
        else:
            stored.apply_update(value)
        self._states[key] = stored

    def _write(self, key: SharePartitionKey, value: Value, ctx: WriteContext) -> Change:
        record = encode(key, value, ctx.now_ms)
        if len(record.key or b"") + len(record.value or b"") > ctx.payload_bytes_max:
            raise PersisterError(
                ErrorCode.MESSAGE_TOO_LARGE, "The state has too many batches for one record."
            )
        return Change([record], partial(self._apply, key, value, ctx.end_offset))

    # -- requests of partition leaders and group coordinators -----------------------------------------

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, ctx: WriteContext
    ) -> Change:
        """Begin with a new state. Like all requests, raises `PersisterError`, and then nothing has changed."""
        _check_number(key)
        stored = self._states.get(key)
        if stored is not None and NO_EPOCH != state_epoch < stored.state_epoch_max:
            raise PersisterError(ErrorCode.FENCED_STATE_EPOCH)
        self._check_exists(key)
        new = _StoredState(
            0,
            snapshot_epoch=-1 if stored is None else stored.snapshot_epoch,
            state_epoch=state_epoch,
            start_offset=start_offset,
            delivery_complete_count=UNKNOWN_COUNT if start_offset == UNINITIALIZED_OFFSET else 0,
        )
        return self._write(key, new.snapshot(ctx.now_ms, ctx.now_ms), ctx)

    def read(
        self, key: SharePartitionKey, leader_epoch: int, ctx: WriteContext
    ) -> tuple[ShareState, Change | None]:
        """Return the state. Record a new leader, so that earlier ones are refused."""
        stored = self._initialized(key, "Read")
        if leader_epoch < stored.leader_epoch_max:
            raise PersisterError(ErrorCode.FENCED_LEADER_EPOCH)
        self._check_exists(key)
        state = ShareState(stored.state_epoch, stored.start_offset, tuple(stored.batches))
        if leader_epoch == stored.leader_epoch_max:
            return state, None
        update = StateUpdate(
            stored.state_epoch, leader_epoch, stored.start_offset, stored.delivery_complete_count, ()
        )
        return state, self._write(key, self._next_value(key, stored, update, ctx), ctx)

    def write(self, key: SharePartitionKey, update: StateUpdate, ctx: WriteContext) -> Change:
        stored = self._initialized(key, "Write")
        if NO_EPOCH != update.leader_epoch < stored.leader_epoch_max:
            raise PersisterError(ErrorCode.FENCED_LEADER_EPOCH)
        if NO_EPOCH != update.state_epoch < stored.state_epoch_max:
            raise PersisterError(ErrorCode.FENCED_STATE_EPOCH)
        self._check_exists(key)
        # The read of a leader has recorded its epoch: a write does not change it.
        update = update._replace(leader_epoch=stored.leader_epoch)
        return self._write(key, self._next_value(key, stored, update, ctx), ctx)

    def summary(self, key: SharePartitionKey) -> ShareSummary:
        _check_number(key)
        self._check_exists(key)
        stored = self._states.get(key)
        return ShareSummary(0, 0, UNINITIALIZED_OFFSET) if stored is None else stored.summary

    def delete(self, key: SharePartitionKey, ctx: WriteContext) -> Change | None:
        _check_number(key)
        self._check_exists(key)
        return self._write(key, None, ctx) if key in self._states else None

    def _initialized(self, key: SharePartitionKey, operation: str) -> _StoredState:
        _check_number(key)
        stored = self._states.get(key)
        if stored is None:
            message = f"{operation} operation on uninitialized share partition not allowed."
            raise PersisterError(ErrorCode.INVALID_REQUEST, message)
        return stored

    def _check_exists(self, key: SharePartitionKey) -> None:
        if key.partition >= self._partition_count_of(key.topic_id):
            raise PersisterError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _next_value(
        self, key: SharePartitionKey, stored: _StoredState, update: StateUpdate, ctx: WriteContext
    ) -> ShareSnapshotValue | ShareUpdateValue:
        """Return an update, or a snapshot after enough updates if it is not too large."""
        is_due = stored.update_count >= self._updates_per_snapshot
        if is_due and _fits(key, len(stored.batches) + 2 * len(update.batches), ctx):
            return _snapshot_with(stored, update, ctx.now_ms)
        batches: list[StateBatch] = []
        merge(batches, update.batches)
        truncate_before(batches, update.start_offset)
        return ShareUpdateValue(
            snapshot_epoch=stored.snapshot_epoch,
            leader_epoch=update.leader_epoch,
            start_offset=update.start_offset,
            delivery_complete_count=update.delivery_complete_count,
            state_batches=[each.to_message(share_update_record.StateBatch) for each in batches],
        )

    # -- maintenance ----------------------------------------------------------------------------------

    def delete_removed_topics(self, ctx: WriteContext) -> Change:
        """Delete the share partitions of topics that no longer exist."""
        topic_ids = {key.topic_id for key in self._states}
        removed = {each for each in topic_ids if not self._partition_count_of(each)}
        return combine_changes(
            [self._write(key, None, ctx) for key in self._states if key.topic_id in removed]
        )

    def cold(self, now_ms: int, interval_ms: int) -> list[SharePartitionKey]:
        """Return the share partitions whose old snapshot prevents truncating the log.

        Returns none when all of them are cold: then the log has nothing after their snapshots.
        """
        if all(stored.was_cold for stored in self._states.values()):
            return []
        return [key for key, stored in self._states.items() if now_ms - stored.written_ms >= interval_ms]

    def snapshot(self, key: SharePartitionKey, ctx: WriteContext) -> Change | None:
        """Write an unchanged state again; None if it is deleted or too large."""
        stored = self._states.get(key)
        if stored is None or not _fits(key, len(stored.batches), ctx):
            return None
        return self._write(key, stored.snapshot(ctx.now_ms, stored.created_ms), ctx)

    def needed_from(self, end_offset: int) -> int:
        """Return the offset from which on the log is needed."""
        return min((stored.snapshot_offset for stored in self._states.values()), default=end_offset)


def _snapshot_with(stored: _StoredState, update: StateUpdate, now_ms: int) -> ShareSnapshotValue:
    start_offset = update.start_offset
    if start_offset == UNINITIALIZED_OFFSET:
        start_offset = stored.start_offset
    batches = list(stored.batches)
    merge(batches, update.batches)
    truncate_before(batches, start_offset)
    updated = _StoredState(
        0,
        snapshot_epoch=stored.snapshot_epoch,
        state_epoch=stored.state_epoch,
        leader_epoch=update.leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=update.delivery_complete_count,
        batches=batches,
    )
    return updated.snapshot(now_ms, now_ms)


def _check_number(key: SharePartitionKey) -> None:
    if key.partition < 0:
        raise PersisterError(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")


def _fits(key: SharePartitionKey, batch_count: int, ctx: WriteContext) -> bool:
    """Whether a snapshot with at most this many batches certainly fits into a record."""
    size_bytes = _FIXED_BYTES + len(key.group_id.encode()) + _BATCH_BYTES * batch_count
    return size_bytes <= ctx.payload_bytes_max
