"""All that one partition of `__share_group_state` adds up to: the state of some share partitions.

Pure. What changes the state is given as a `Change`, which the log takes first; it is applied the same way as `replay`
applies it when it comes back from the log.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from penstock.cluster.coordination.change import Change, together
from penstock.cluster.coordination.loading import IsOpen
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages import share_snapshot_record, share_update_record
from penstock.protocol.messages.share_snapshot_record import ShareSnapshotValue
from penstock.protocol.messages.share_update_record import ShareUpdateValue
from penstock.protocol.records.record import Record
from penstock.share.state.combining import cut_before, lay_over
from penstock.share.state.records import Value, decode, encode, state_batches
from penstock.share.values import (
    UNINITIALIZED_OFFSET,
    PersisterError,
    SharePartitionKey,
    ShareState,
    ShareSummary,
    StateBatch,
)

log = logging.getLogger(__name__)

NO_EPOCH = -1
UNKNOWN_COUNT = -1


_BATCH_BYTES = 20  # of a state batch in a record
_FIXED_BYTES = 128  # more than the rest of a snapshot, without the name of the group


class Moment(NamedTuple):
    """When and where something is written: `end_offset` is that of the log, or less than the record's own."""

    now_ms: int
    end_offset: int
    payload_bytes_max: int  # of a record's key and value


class _Kept:
    """What is known of one share partition."""

    __slots__ = (
        "batches",
        "created_ms",
        "delivery_complete_count",
        "leader_epoch",
        "leader_epoch_max",
        "snapshot_epoch",
        "snapshot_offset",
        "start_offset",
        "state_epoch",
        "state_epoch_max",
        "update_count",
        "written_ms",
    )

    def __init__(self, offset: int) -> None:
        self.snapshot_epoch = 0
        self.snapshot_offset = offset  # nothing before it in the log is needed
        self.state_epoch = self.state_epoch_max = 0
        self.leader_epoch = self.leader_epoch_max = 0
        self.start_offset = UNINITIALIZED_OFFSET
        self.delivery_complete_count = UNKNOWN_COUNT
        self.batches: list[StateBatch] = []
        self.created_ms = self.written_ms = 0
        self.update_count = 0  # since the last snapshot

    def take_snapshot(self, value: ShareSnapshotValue, offset: int) -> None:
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

    def take_update(self, value: ShareUpdateValue) -> None:
        new_batches = state_batches(value.state_batches)
        if value.snapshot_epoch != self.snapshot_epoch:
            self.batches.clear()  # its snapshot is missing: what was acknowledged before that may not be any more
            self.snapshot_epoch = value.snapshot_epoch
        if value.leader_epoch != NO_EPOCH:
            self.leader_epoch = value.leader_epoch
            self.leader_epoch_max = max(self.leader_epoch_max, value.leader_epoch)
        if value.start_offset != UNINITIALIZED_OFFSET:
            self.start_offset = value.start_offset
        self.delivery_complete_count = value.delivery_complete_count
        lay_over(self.batches, new_batches)
        cut_before(self.batches, self.start_offset)
        self.update_count += 1

    @property
    def summary(self) -> ShareSummary:
        return ShareSummary(
            self.state_epoch, self.leader_epoch, self.start_offset, self.delivery_complete_count
        )

    @property
    def was_cold(self) -> bool:
        """Whether its last snapshot was only made so that the log behind it could go."""
        return self.created_ms != self.written_ms


class ShareStateShard:
    __slots__ = ("_kept", "_partition_count_of", "_updates_per_snapshot")

    def __init__(self, partition_count_of: Callable[[bytes], int], updates_per_snapshot: int) -> None:
        """`partition_count_of` says how many partitions the topic of an id has: 0 when there is none."""
        self._kept: dict[SharePartitionKey, _Kept] = {}
        self._partition_count_of = partition_count_of
        self._updates_per_snapshot = updates_per_snapshot

    def __len__(self) -> int:
        return len(self._kept)

    def summaries(self) -> Iterator[tuple[SharePartitionKey, ShareSummary]]:
        """Of all share partitions."""
        return ((key, kept.summary) for key, kept in self._kept.items())

    # -- from the log ---------------------------------------------------------------------------------

    def replay(self, record: Record, producer_id: int) -> None:  # noqa: ARG002  # nothing here is transactional
        if record.key is None:
            return
        try:
            change = decode(record.key, record.value)
            if change is not None:
                self._apply(*change, record.offset)
        except ProtocolError as error:
            log.warning("the record at offset %d is passed over: %s", record.offset, error)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Nothing here is part of a transaction."""

    def skip_records(self, is_open: IsOpen) -> str:
        """What is known is older than what was: records that were acknowledged since are delivered again."""
        del is_open
        return (
            "Acknowledgements of share groups that stood there are missing: their records are delivered again. Compare "
            "the start offsets (`penstock group describe`), or restore the file from a backup and restart the broker."
        )

    def _apply(self, key: SharePartitionKey, value: Value, offset: int) -> None:
        if value is None:
            self._kept.pop(key, None)
            return
        kept = self._kept.get(key) or _Kept(offset)
        if isinstance(value, ShareSnapshotValue):
            kept.take_snapshot(value, offset)
        else:
            kept.take_update(value)
        self._kept[key] = kept

    def _write(self, key: SharePartitionKey, value: Value, moment: Moment) -> Change:
        record = encode(key, value, moment.now_ms)
        if len(record.key or b"") + len(record.value or b"") > moment.payload_bytes_max:
            raise PersisterError(
                ErrorCode.MESSAGE_TOO_LARGE, "The state has too many batches for one record."
            )
        return Change([record], partial(self._apply, key, value, moment.end_offset))

    # -- what leaders of partitions and coordinators of groups ask for --------------------------------

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, moment: Moment
    ) -> Change:
        """Begin anew. Like all of these, raises `PersisterError`, and then nothing is changed."""
        _check_number(key)
        kept = self._kept.get(key)
        if kept is not None and NO_EPOCH != state_epoch < kept.state_epoch_max:
            raise PersisterError(ErrorCode.FENCED_STATE_EPOCH)
        self._check_exists(key)
        snapshot = ShareSnapshotValue(
            snapshot_epoch=0 if kept is None else kept.snapshot_epoch + 1,
            state_epoch=state_epoch,
            leader_epoch=0,
            start_offset=start_offset,
            delivery_complete_count=UNKNOWN_COUNT if start_offset == UNINITIALIZED_OFFSET else 0,
            create_timestamp=moment.now_ms,
            write_timestamp=moment.now_ms,
        )
        return self._write(key, snapshot, moment)

    def read(
        self, key: SharePartitionKey, leader_epoch: int, moment: Moment
    ) -> tuple[ShareState, Change | None]:
        """Give the state; a leader that is new is written down, so that earlier ones are refused."""
        _check_number(key)
        kept = self._kept.get(key)
        if kept is None:
            raise PersisterError(
                ErrorCode.INVALID_REQUEST, "Read operation on uninitialized share partition not allowed."
            )
        if leader_epoch < kept.leader_epoch_max:
            raise PersisterError(ErrorCode.FENCED_LEADER_EPOCH)
        self._check_exists(key)
        state = ShareState(kept.state_epoch, kept.start_offset, tuple(kept.batches))
        if leader_epoch == kept.leader_epoch_max:
            return state, None
        value = self._next_value(
            key,
            kept,
            leader_epoch=leader_epoch,
            start_offset=kept.start_offset,
            delivery_complete_count=kept.delivery_complete_count,
            batches=(),
            moment=moment,
        )
        return state, self._write(key, value, moment)

    def write(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
        moment: Moment,
    ) -> Change:
        _check_number(key)
        kept = self._kept.get(key)
        if kept is None:
            raise PersisterError(
                ErrorCode.INVALID_REQUEST, "Write operation on uninitialized share partition not allowed."
            )
        if NO_EPOCH != leader_epoch < kept.leader_epoch_max:
            raise PersisterError(ErrorCode.FENCED_LEADER_EPOCH)
        if NO_EPOCH != state_epoch < kept.state_epoch_max:
            raise PersisterError(ErrorCode.FENCED_STATE_EPOCH)
        self._check_exists(key)
        # Who leads is written down when a leader reads: a write says nothing new about it.
        value = self._next_value(
            key,
            kept,
            leader_epoch=kept.leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=delivery_complete_count,
            batches=batches,
            moment=moment,
        )
        return self._write(key, value, moment)

    def summary(self, key: SharePartitionKey) -> ShareSummary:
        _check_number(key)
        self._check_exists(key)
        kept = self._kept.get(key)
        return ShareSummary(0, 0, UNINITIALIZED_OFFSET) if kept is None else kept.summary

    def delete(self, key: SharePartitionKey, moment: Moment) -> Change | None:
        _check_number(key)
        self._check_exists(key)
        return self._write(key, None, moment) if key in self._kept else None

    def _check_exists(self, key: SharePartitionKey) -> None:
        if key.partition >= self._partition_count_of(key.topic_id):
            raise PersisterError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _next_value(
        self,
        key: SharePartitionKey,
        kept: _Kept,
        *,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
        moment: Moment,
    ) -> ShareSnapshotValue | ShareUpdateValue:
        """An update, or a snapshot when there were updates enough and it is not too large."""
        is_due = kept.update_count >= self._updates_per_snapshot
        if not is_due or not _fits(key, len(kept.batches) + 2 * len(batches), moment):
            new_batches: list[StateBatch] = []
            lay_over(new_batches, batches)
            cut_before(new_batches, start_offset)
            return ShareUpdateValue(
                snapshot_epoch=kept.snapshot_epoch,
                leader_epoch=leader_epoch,
                start_offset=start_offset,
                delivery_complete_count=delivery_complete_count,
                state_batches=[
                    share_update_record.StateBatch(
                        first_offset=each.first_offset,
                        last_offset=each.last_offset,
                        delivery_state=each.state,
                        delivery_count=each.delivery_count,
                    )
                    for each in new_batches
                ],
            )
        if start_offset == UNINITIALIZED_OFFSET:
            start_offset = kept.start_offset
        all_batches = list(kept.batches)
        lay_over(all_batches, batches)
        cut_before(all_batches, start_offset)
        return ShareSnapshotValue(
            snapshot_epoch=kept.snapshot_epoch + 1,
            state_epoch=kept.state_epoch,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=delivery_complete_count,
            create_timestamp=moment.now_ms,
            write_timestamp=moment.now_ms,
            state_batches=_snapshot_batches(all_batches),
        )

    # -- upkeep ---------------------------------------------------------------------------------------

    def forget_deleted_topics(self, moment: Moment) -> Change:
        """Nobody will read the share partitions of topics that are gone."""
        topic_ids = {key.topic_id for key in self._kept}
        gone = {each for each in topic_ids if not self._partition_count_of(each)}
        return together([self._write(key, None, moment) for key in self._kept if key.topic_id in gone])

    def cold(self, now_ms: int, interval_ms: int) -> list[SharePartitionKey]:
        """The share partitions whose last snapshot is so old that it keeps the log from being cut.

        None when all of them rest: nothing was written behind their snapshots that could go.
        """
        if all(kept.was_cold for kept in self._kept.values()):
            return []
        return [key for key, kept in self._kept.items() if now_ms - kept.written_ms >= interval_ms]

    def snapshot(self, key: SharePartitionKey, moment: Moment) -> Change | None:
        """Write all that is known of a share partition again, without a change; None if it is gone or too large."""
        kept = self._kept.get(key)
        if kept is None or not _fits(key, len(kept.batches), moment):
            return None
        snapshot = ShareSnapshotValue(
            snapshot_epoch=kept.snapshot_epoch + 1,
            state_epoch=kept.state_epoch,
            leader_epoch=kept.leader_epoch,
            start_offset=kept.start_offset,
            delivery_complete_count=kept.delivery_complete_count,
            create_timestamp=kept.created_ms,
            write_timestamp=moment.now_ms,
            state_batches=_snapshot_batches(kept.batches),
        )
        return self._write(key, snapshot, moment)

    def needed_from(self, end_offset: int) -> int:
        """The offset before which the log says nothing that a later snapshot does not say."""
        return min((kept.snapshot_offset for kept in self._kept.values()), default=end_offset)


def _check_number(key: SharePartitionKey) -> None:
    if key.partition < 0:
        raise PersisterError(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")


def _fits(key: SharePartitionKey, batch_count: int, moment: Moment) -> bool:
    """Whether a snapshot of no more than so many batches is sure to fit into a record. One that is too large waits."""
    size_bytes = _FIXED_BYTES + len(key.group_id.encode()) + _BATCH_BYTES * batch_count
    return size_bytes <= moment.payload_bytes_max


def _snapshot_batches(batches: Sequence[StateBatch]) -> list[share_snapshot_record.StateBatch]:
    return [
        share_snapshot_record.StateBatch(
            first_offset=each.first_offset,
            last_offset=each.last_offset,
            delivery_state=each.state,
            delivery_count=each.delivery_count,
        )
        for each in batches
    ]
