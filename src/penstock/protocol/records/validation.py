"""The leader's validation of a produced batch before it is stored, and the changes it may make.

The checks, their order and their error codes are Kafka's (ProduceRequest, UnifiedLog, LogValidator), with these
differences, each a refusal where Kafka stores records that consumers fail on, or returns UNKNOWN_SERVER_ERROR:
- offset deltas must be 0..n-1 in uncompressed batches too: INVALID_RECORD;
- a transactional batch must have a producer id: INVALID_RECORD;
- a codec that does not exist is UNSUPPORTED_COMPRESSION_TYPE, a stream that cannot be decompressed is
  INVALID_RECORD, and one that expands beyond the bound is MESSAGE_TOO_LARGE, at which producers split the batch.

Nothing in the header is believed before it is checked; compressed records are decompressed, bounded, and walked.
"""

from typing import NoReturn

from penstock.protocol.compression import (
    Buffer,
    Codec,
    compress,
    decompress,
)
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    CONTROL_FLAG,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    set_max_timestamp,
)
from penstock.protocol.records.builder import assemble_batch
from penstock.protocol.records.crc import crc32c
from penstock.protocol.records.errors import CorruptRecords, DecompressedTooLarge
from penstock.protocol.records.record import read_varint, read_varlong
from penstock.protocol.records.rules import (
    InvalidBatch,
    RecordError,
    Rewrite,
    TooLargeForEventLoop,
    ValidatedBatch,
    ValidationRules,
)
from penstock.protocol.records.walk import walk_records

# Kafka reports every bad record of a batch; the bound keeps the response smaller than the request.
RECORD_ERRORS_MAX = 1000

_INT64_MAX = 2**63 - 1
_AS_IT_IS = Rewrite.NONE  # in Python 3.11 access to an enum's member is a call


def validate_batch(
    batch: Buffer, rules: ValidationRules, now_ms: int, *, is_from_client: bool = True
) -> ValidatedBatch:
    """Check all of `batch`, which must be exactly one batch; raises `InvalidBatch` when it must not be stored.

    Raises `TooLargeForEventLoop` if the batch is so large that it must be validated on a thread.
    What the broker itself appends (`is_from_client=False`) may be a control batch and may lack sequences.
    """
    size_bytes = len(batch)
    if size_bytes < HEADER_SIZE or batch[MAGIC_POSITION] != MAGIC:
        _refuse_header(batch)
    header = BatchHeader(*HEADER.unpack_from(batch))
    if LOG_OVERHEAD + header.batch_length != size_bytes:
        _refuse_length(LOG_OVERHEAD + header.batch_length, size_bytes)
    if is_from_client and header.base_offset != 0:
        raise InvalidBatch(ErrorCode.INVALID_RECORD, f"The base offset must be 0, not {header.base_offset}")
    if size_bytes > rules.size_bytes_max:
        raise InvalidBatch(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The batch of {size_bytes} bytes exceeds max.message.bytes, which is {rules.size_bytes_max}",
        )
    view = batch if isinstance(batch, memoryview) else memoryview(batch)
    if crc32c(view[ATTRIBUTES_POSITION:]) != header.crc:
        raise InvalidBatch(ErrorCode.CORRUPT_MESSAGE, "The batch does not match its CRC")
    if size_bytes > rules.segment_bytes_max:
        _refuse_larger_than_segment(size_bytes, rules)
    attributes = header.attributes
    # The first condition holds for nearly all batches, and saves them a call.
    if is_from_client and (
        not 0 <= header.last_offset_delta == header.record_count - 1
        or header.producer_id != NO_PRODUCER_ID
        or attributes & (CONTROL_FLAG | TRANSACTIONAL_FLAG)
    ):
        _check_client_header(header)
    records = _decompressed(batch, header, rules) if attributes & CODEC_MASK else bytes(view[HEADER_SIZE:])
    try:
        delta_min, delta_max, has_null_key = walk_records(records, header.record_count)
    except CorruptRecords as error:
        raise InvalidBatch(ErrorCode.INVALID_RECORD, f"Malformed batch: {error}") from None

    if rules.is_compacted and has_null_key:
        _refuse_records(records, header, rules, now_ms)
    is_append_time = rules.is_log_append_time or attributes & LOG_APPEND_TIME_FLAG
    if is_append_time:
        least = greatest = _append_time(header, rules, now_ms)
    else:
        least, greatest = header.base_timestamp + delta_min, header.base_timestamp + delta_max
    # As in `_time_range`, without the call: this is done for every batch.
    if least < now_ms - rules.timestamp_before_max_ms or (
        greatest > now_ms + rules.timestamp_after_max_ms or greatest > _INT64_MAX
    ):
        _refuse_records(records, header, rules, now_ms)
    max_timestamp = greatest if greatest > NO_TIMESTAMP else NO_TIMESTAMP  # noqa: FURB136  `max` is a call
    if rules.codec is None and header.max_timestamp == max_timestamp and not is_append_time:
        return ValidatedBatch(header, max_timestamp, _AS_IT_IS, records)
    return ValidatedBatch(header, max_timestamp, _rewrite_needed(header, rules, max_timestamp), records)


def rewrite_batch(batch: Buffer, validated: ValidatedBatch, rules: ValidationRules) -> Buffer:
    """The bytes to store: `batch` itself, patched in place where it is writable, or a new batch."""
    if validated.rewrite is Rewrite.NONE:
        return batch
    if validated.rewrite is Rewrite.TIMESTAMPS:
        target = bytearray(batch) if memoryview(batch).readonly else batch
        assert not isinstance(target, bytes)
        set_max_timestamp(
            target,
            0,
            is_log_append_time=rules.is_log_append_time,
            max_timestamp=validated.max_timestamp,
        )
        return target
    return _recompress(validated, rules)


def _refuse_header(batch: Buffer) -> NoReturn:
    """The batch has no header of magic 2."""
    available = len(batch)
    if available <= MAGIC_POSITION:
        raise InvalidBatch(ErrorCode.INVALID_RECORD, "There must be one record batch for each partition")
    magic = batch[MAGIC_POSITION]
    if magic != MAGIC:
        code = ErrorCode.INVALID_RECORD if magic < MAGIC else ErrorCode.CORRUPT_MESSAGE
        raise InvalidBatch(code, f"Only record batches of magic 2 are taken, not {magic}")
    announced = LOG_OVERHEAD + int.from_bytes(batch[8:LOG_OVERHEAD], "big", signed=True)
    code = ErrorCode.INVALID_RECORD if announced > available else ErrorCode.CORRUPT_MESSAGE
    raise InvalidBatch(code, f"{available} bytes are too few for a batch header")


def _refuse_length(size: int, available: int) -> NoReturn:
    """The header has another length."""
    if size < HEADER_SIZE:
        raise InvalidBatch(ErrorCode.CORRUPT_MESSAGE, f"A batch of {size} bytes is shorter than its header")
    if size > available:
        raise InvalidBatch(
            ErrorCode.INVALID_RECORD, f"The batch says it has {size} bytes, but only {available} came"
        )
    raise InvalidBatch(ErrorCode.INVALID_RECORD, "There must be exactly one record batch for each partition")


def _check_client_header(header: BatchHeader) -> None:
    count = header.record_count
    if header.last_offset_delta < 0:
        raise InvalidBatch(ErrorCode.INVALID_RECORD, f"The last offset delta is {header.last_offset_delta}")
    if count <= 0:
        raise InvalidBatch(ErrorCode.INVALID_RECORD, f"The batch says it has {count} records")
    if header.last_offset_delta + 1 != count:
        raise InvalidBatch(
            ErrorCode.INVALID_RECORD,
            f"The last offset delta {header.last_offset_delta} does not fit with {count} records",
        )
    if header.attributes & CONTROL_FLAG:
        raise InvalidBatch(ErrorCode.INVALID_RECORD, "Clients may not write control records")
    if header.producer_id != NO_PRODUCER_ID:
        if header.base_sequence < 0:
            raise InvalidBatch(
                ErrorCode.INVALID_RECORD,
                f"The batch of producer {header.producer_id} has sequence {header.base_sequence}",
            )
    elif header.attributes & TRANSACTIONAL_FLAG:
        raise InvalidBatch(ErrorCode.INVALID_RECORD, "A transactional batch must have a producer id")


def _decompressed(batch: Buffer, header: BatchHeader, rules: ValidationRules) -> bytes:
    section = memoryview(batch)[HEADER_SIZE:]
    if header.attributes & CODEC_MASK > Codec.ZSTD:
        raise InvalidBatch(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"There is no codec {header.attributes & CODEC_MASK}"
        )
    loop_bytes_max = rules.event_loop_bytes_max
    try:
        return decompress(
            header.codec, section, rules.decompressed_bytes_max if loop_bytes_max is None else loop_bytes_max
        )
    except DecompressedTooLarge as error:
        if loop_bytes_max is not None:
            raise TooLargeForEventLoop from None
        raise InvalidBatch(ErrorCode.MESSAGE_TOO_LARGE, f"Decompressed batch too large: {error}") from None
    except CorruptRecords as error:
        raise InvalidBatch(ErrorCode.INVALID_RECORD, f"Malformed batch: {error}") from None


def _append_time(header: BatchHeader, rules: ValidationRules, now_ms: int) -> int:
    """The time of every record, where either the topic or the batch has the timestamp type LogAppendTime."""
    if not header.attributes & LOG_APPEND_TIME_FLAG:
        return now_ms
    # Kafka takes the header's max timestamp for the time of every record here, then clears the flag.
    if rules.is_log_append_time or header.max_timestamp == NO_TIMESTAMP:
        raise InvalidBatch(
            ErrorCode.INVALID_TIMESTAMP, "Producers may not set the timestamp type LogAppendTime"
        )
    return header.max_timestamp


def _time_range(rules: ValidationRules, now_ms: int) -> tuple[int, int]:
    """The earliest and latest time that a record may carry; a sum that is not an int64 never is in it."""
    return now_ms - rules.timestamp_before_max_ms, min(_INT64_MAX, now_ms + rules.timestamp_after_max_ms)


def _refuse_records(records: bytes, header: BatchHeader, rules: ValidationRules, now_ms: int) -> None:
    """Raise `InvalidBatch` with the invalid records; return if there are none."""
    errors: list[RecordError] = []
    has_bad_time = False
    earliest, latest = _time_range(rules, now_ms)
    position = 0
    for index in range(header.record_count):
        size, position = read_varint(records, position, len(records))
        end = position + size
        delta, position = read_varlong(records, position + 1, end)
        _, position = read_varint(records, position, end)
        key_size, _ = read_varint(records, position, end)
        position = end
        timestamp = header.max_timestamp if header.is_log_append_time else header.base_timestamp + delta
        if rules.is_compacted and key_size < 0:
            errors.append(RecordError(index, "A compacted topic takes no record without a key"))
        elif (
            not rules.is_log_append_time and timestamp != NO_TIMESTAMP and not earliest <= timestamp <= latest
        ):
            has_bad_time = True
            message = f"Timestamp {timestamp} is out of range: it must be within [{earliest}, {latest}]"
            errors.append(RecordError(index, message))
        if len(errors) == RECORD_ERRORS_MAX:
            break
    if has_bad_time:
        raise InvalidBatch(
            ErrorCode.INVALID_TIMESTAMP, "One or more records have an invalid timestamp", tuple(errors)
        )
    if errors:
        raise InvalidBatch(
            ErrorCode.INVALID_RECORD, f"{len(errors)} or more records are invalid", tuple(errors)
        )


def _rewrite_needed(header: BatchHeader, rules: ValidationRules, max_timestamp: int) -> Rewrite:
    attributes, codec = header.attributes, rules.codec
    if codec is not None and attributes & CODEC_MASK != codec:
        is_bare_control = attributes & CONTROL_FLAG and not attributes & CODEC_MASK
        if not is_bare_control:  # control records stay uncompressed
            return Rewrite.RECOMPRESS
    has_append_time = attributes & LOG_APPEND_TIME_FLAG != 0
    if header.max_timestamp != max_timestamp or has_append_time != rules.is_log_append_time:
        return Rewrite.TIMESTAMPS
    return _AS_IT_IS


def _recompress(validated: ValidatedBatch, rules: ValidationRules) -> bytes:
    header = validated.header
    assert rules.codec is not None
    attributes = header.attributes & ~CODEC_MASK & ~LOG_APPEND_TIME_FLAG | rules.codec
    if rules.is_log_append_time:
        attributes |= LOG_APPEND_TIME_FLAG
    batch = assemble_batch(
        compress(rules.codec, validated.records, rules.level),
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        attributes=attributes,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=header.base_timestamp,
        max_timestamp=validated.max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=header.record_count,
    )
    if len(batch) > rules.size_bytes_max:
        raise InvalidBatch(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"As {rules.codec.name.lower()} the batch has {len(batch)} bytes, "
            f"which exceeds max.message.bytes, {rules.size_bytes_max}",
        )
    if len(batch) > rules.segment_bytes_max:
        _refuse_larger_than_segment(len(batch), rules)
    return batch


def _refuse_larger_than_segment(size_bytes: int, rules: ValidationRules) -> None:
    raise InvalidBatch(
        ErrorCode.RECORD_LIST_TOO_LARGE,
        f"The batch of {size_bytes} bytes exceeds segment.bytes, which is {rules.segment_bytes_max}",
    )
