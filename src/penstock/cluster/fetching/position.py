"""Where a follower stands in one partition, and what an answer of its leader tells it to do. Pure.

A fetch names the offset it wants and the epoch of the record before it. A leader whose log has another history
answers with the epoch in which they part and where that ends there (KIP-595): the follower cuts its log there, or where
its own records of that epoch end if that is earlier, and asks again. Cutting by the offset alone would keep records
that only a dead leader ever had (KIP-101).
"""

import contextlib

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import FetchPartition, PartitionData
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.wire import Buffer


class LogView(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of the follower's own log."""

    end_offset: int
    latest_epoch: int  # of its last record; -1 when it is empty
    start_offset: int


class Append(msgspec.Struct, frozen=True):
    """Store the records; then take over the leader's high watermark and start."""

    records: Buffer
    high_watermark: int
    log_start_offset: int


class Truncate(msgspec.Struct, frozen=True):
    """The histories part in `epoch`, which ends at `end_offset` at the leader."""

    epoch: int
    end_offset: int


class StartOver(msgspec.Struct, frozen=True):
    """The leader no longer has what would come next: drop everything and go on from its start."""


class Rest(msgspec.Struct, frozen=True):
    """Try again after a pause; `error` says why. Of who leads instead, the metadata will tell."""

    error: ErrorCode


Reaction = Append | Truncate | StartOver | Rest


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
    """Say what the follower is to do about one partition of an answer."""
    error = ErrorCode(data.error_code)
    if error is ErrorCode.OFFSET_OUT_OF_RANGE:
        return StartOver()
    if error is not ErrorCode.NONE:
        return Rest(error)
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
    """Whether the last records here are an earlier leader's, are not known to be committed and cannot be compared.

    The leader has deleted all that this log has, so it does not know what stood there. It may have been something else,
    such as the end of a transaction that would stay open here for ever.
    """
    is_deleted = answer.log_start_offset >= log.end_offset
    return is_deleted and high_watermark < log.end_offset and 0 <= log.latest_epoch < leader_epoch


def truncation_offset(truncate: Truncate, own_epoch: int, own_end_offset: int, end_offset: int) -> int:
    """Where to cut. `own_epoch` is the greatest known here at or below the leader's, and where that ends here.

    (-1, -1) means that this log knows no such epoch: the leader's end stands.
    """
    if own_end_offset < 0:
        return min(truncate.end_offset, end_offset)
    if own_epoch < truncate.epoch:
        return min(own_end_offset, end_offset)
    return min(own_end_offset, truncate.end_offset, end_offset)
