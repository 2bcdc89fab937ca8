"""A follower's fetch position in one partition, and its reaction to a response of the leader. No I/O.

A fetch has an offset and the epoch of the record before it. If the logs diverge, the leader answers with the epoch in
which they do, and the end of that epoch in its log (KIP-595). The follower truncates to that offset, or to the end of
that epoch in its own log if that is lower, and fetches again. Truncating by the offset alone would keep records that
only a dead leader ever had (KIP-101).
"""

import contextlib

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import FetchPartition, PartitionData
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.wire import Buffer


class LogView(msgspec.Struct, frozen=True, kw_only=True):
    """The offsets and the epoch of the follower's own log."""

    end_offset: int
    latest_epoch: int  # of its last record; -1 when it is empty
    start_offset: int


class Append(msgspec.Struct, frozen=True):
    """Append the records, then copy the leader's high watermark and log start offset."""

    records: Buffer
    high_watermark: int
    log_start_offset: int


class Truncate(msgspec.Struct, frozen=True):
    """The logs diverge in `epoch`, which ends at `end_offset` in the leader's log."""

    epoch: int
    end_offset: int


class StartOver(msgspec.Struct, frozen=True):
    """The leader no longer has the next records: delete all, and continue at its log start."""


class BackOff(msgspec.Struct, frozen=True):
    """Retry after a pause. If the leader has changed, the metadata will show that."""

    error: ErrorCode


Reaction = Append | Truncate | StartOver | BackOff


def ask(number: int, log: LogView, leader_epoch: int, bytes_max: int) -> FetchPartition:
    return FetchPartition(
        partition=number,
        current_leader_epoch=leader_epoch,
        fetch_offset=log.end_offset,
        last_fetched_epoch=log.latest_epoch,
        log_start_offset=log.start_offset,
        partition_max_bytes=bytes_max,
    )


def react(data: PartitionData) -> Reaction:
    """Decide the follower's reaction to one partition of an answer."""
    error = ErrorCode(data.error_code)
    if error is ErrorCode.OFFSET_OUT_OF_RANGE:
        return StartOver()
    if error is not ErrorCode.NONE:
        return BackOff(error)
    if data.diverging_epoch.epoch >= 0:
        return Truncate(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
    return Append(data.records or b"", data.high_watermark, data.log_start_offset)


def start_before(records: Buffer, log: LogView) -> int | None:
    """The base offset of the first batch, if an empty log has to start there to append the records; None if not.

    DeleteRecords may leave the leader's log start offset inside a batch, and the leader sends whole batches.
    """
    if log.end_offset != log.start_offset:
        return None
    with contextlib.suppress(CorruptRecords):  # the append refuses them
        for _, first in iter_batches(records):
            is_inside = first.base_offset < log.end_offset < first.next_offset
            return first.base_offset if is_inside else None
    return None


def must_start_over(answer: Append, log: LogView, *, high_watermark: int, leader_epoch: int) -> bool:
    """Whether the last records are from an earlier leader, not known to be committed, and cannot be compared.

    The leader has deleted all records of this log, so it cannot compare them. Its own may have been different, such as
    the end of a transaction that would stay open here forever.
    """
    is_deleted = answer.log_start_offset >= log.end_offset
    return is_deleted and high_watermark < log.end_offset and 0 <= log.latest_epoch < leader_epoch


def truncation_offset(truncate: Truncate, own_epoch: int, own_end_offset: int, end_offset: int) -> int:
    """The offset to truncate to. `own_epoch` is the greatest here at or below the leader's, with its end here.

    (-1, -1) means that this log has no such epoch: the leader's end counts.
    """
    if own_end_offset < 0:
        return min(truncate.end_offset, end_offset)
    if own_epoch < truncate.epoch:
        return min(own_end_offset, end_offset)
    return min(own_end_offset, truncate.end_offset, end_offset)
