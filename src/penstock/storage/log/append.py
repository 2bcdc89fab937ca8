"""From the bytes that came over the wire to batches that may be stored: checked, rewritten where need be."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import (
    LOG_OVERHEAD,
    PLACE,
    crc_is_valid,
    iter_batches,
)
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.rules import InvalidBatch, Rewrite, ValidationRules
from penstock.protocol.records.validation import rewrite_batch, validate_batch
from penstock.storage.files import Buffer
from penstock.storage.log.errors import AppendRejected, LogError
from penstock.storage.log.values import Appended
from penstock.storage.storable_batch import StorableBatch
from penstock.storage.transaction_permit import TransactionPermit

LEADER_EPOCH_MAX = 2**31 - 1
HERE_BYTES_MAX = 2 * 1024 * 1024
"""What a batch of a client may grow to before it is checked on a thread: the loop is held for some milliseconds."""


class Append(Protocol):
    """Checked batches, which are stored together or not at all, and under what they may be: see `Log.append_each`."""

    batches: list[StorableBatch]
    is_from_client: bool
    permit: TransactionPermit | None
    appended: Appended | None
    """Where the records are, once the log has taken them."""
    refusal: LogError | None
    """Why it has not taken them."""


class PreparedAppend(msgspec.Struct):
    """An `Append` and nothing else."""

    batches: list[StorableBatch]
    is_from_client: bool = True
    permit: TransactionPermit | None = None
    appended: Appended | None = None
    refusal: LogError | None = None


class Checked:
    """Batches that were checked by these rules, and may be stored while they hold."""

    __slots__ = ("batches", "rules")

    def __init__(self, rules: ValidationRules, batches: list[StorableBatch]) -> None:
        self.rules = rules
        self.batches = batches


def check_produced(records: Buffer, rules: ValidationRules, now_ms: int) -> Checked:
    """Check a client's batch, however large; for a thread. Raises `AppendRejected`."""
    return Checked(rules, [prepare_produced(records, rules, now_ms)])


def prepare_own(records: Buffer, rules: ValidationRules, now_ms: int) -> list[StorableBatch]:
    """Validate what the broker itself appends: one or more batches. Raises `AppendRejected`."""
    parts = tuple(_split(records))
    return [prepare_produced(part, rules, now_ms, is_from_client=False) for part in parts]


def prepare_produced(
    batch: Buffer, rules: ValidationRules, now_ms: int, *, is_from_client: bool = True
) -> StorableBatch:
    """Validate the batch that a leader was given.

    Its data is writable and its offset is not assigned yet. Raises `AppendRejected`, or `CheckElsewhere` where the
    rules say so.
    """
    try:
        validated = validate_batch(batch, rules, now_ms, is_from_client=is_from_client)
        data = batch if validated.rewrite is Rewrite.NONE else rewrite_batch(batch, validated, rules)
    except InvalidBatch as error:
        raise AppendRejected(error.code, error.message, error.record_errors) from None
    header = validated.header
    if data.readonly if isinstance(data, memoryview) else isinstance(data, bytes):
        data = bytearray(data)
    return StorableBatch(data, header, 0, header.last_offset_delta, validated.max_timestamp, len(data))


def _split(records: Buffer) -> Iterator[memoryview]:
    view = memoryview(records)
    end = 0
    try:
        for position, header in iter_batches(records):
            end = position + header.size_bytes
            yield view[position:end]
    except CorruptRecords as error:
        raise AppendRejected(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    if end == 0 or end != len(records):
        raise AppendRejected(
            ErrorCode.INVALID_RECORD, f"{len(records) - end} bytes are not a whole record batch"
        )


def assign_offsets(batches: Sequence[StorableBatch], next_offset: int, leader_epoch: int) -> None:
    """Give the batches their offsets, in place: the checksum does not cover them."""
    for batch in batches:
        # One call for both: the length stands between them, and stays.
        PLACE.pack_into(batch.data, 0, next_offset, batch.size_bytes - LOG_OVERHEAD, leader_epoch)
        batch.base_offset = next_offset
        batch.last_offset = next_offset + batch.header.last_offset_delta
        next_offset = batch.last_offset + 1


def prepare_replicated(
    records: Buffer, next_offset: int, leader_epoch_max: int = LEADER_EPOCH_MAX
) -> list[StorableBatch]:
    """Check what a follower has fetched: whole batches with good checksums and ascending offsets.

    A partial batch at the end is left out: the leader cuts its answers where it pleases. Offsets may have gaps,
    which compaction leaves. A leader gives no records of a later epoch than its own: they would be another leader's,
    who may have another history below them. Raises `AppendRejected`.
    """
    view = memoryview(records)
    batches = []
    try:
        for position, header in iter_batches(records):
            size = header.size_bytes
            if not crc_is_valid(view, position, size):
                raise AppendRejected(
                    ErrorCode.CORRUPT_MESSAGE,
                    f"the batch at offset {header.base_offset} does not match its CRC",
                )
            if header.base_offset < next_offset or header.last_offset_delta < 0:
                raise AppendRejected(
                    ErrorCode.OFFSET_OUT_OF_RANGE,
                    f"a fetched batch begins at offset {header.base_offset}, but the log has all below "
                    f"{next_offset}: nothing was stored",
                )
            if header.leader_epoch > leader_epoch_max:
                raise AppendRejected(
                    ErrorCode.UNKNOWN_LEADER_EPOCH,
                    f"the batch at offset {header.base_offset} was written in leader epoch {header.leader_epoch}, and "
                    f"the leader of epoch {leader_epoch_max} gave it: nothing was stored",
                )
            next_offset = header.next_offset
            data = view[position : position + size]
            batches.append(
                StorableBatch(data, header, header.base_offset, next_offset - 1, header.max_timestamp, size)
            )
    except CorruptRecords as error:
        raise AppendRejected(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    return batches


def split_by_record_count(
    batches: list[StorableBatch], record_count_first: int, record_count_max: int
) -> list[list[StorableBatch]]:
    """Groups that fit a segment by their number of records: `record_count_first` for the first group, which may
    be empty when not even one batch fits. A single batch that is too large stands alone.
    """
    groups: list[list[StorableBatch]] = [[]]
    room = record_count_first
    for batch in batches:
        count = batch.header.last_offset_delta + 1
        if count > room and (groups[-1] or len(groups) == 1):
            groups.append([])
            room = record_count_max
        groups[-1].append(batch)
        room -= count
    return [group for group in groups if group]
