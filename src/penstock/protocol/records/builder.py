"""Build record batches of magic 2, data and control."""

import struct
from collections.abc import Iterable, Sequence

import msgspec

from penstock.protocol.compression import Buffer, Codec, compress
from penstock.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    CONTROL_FLAG,
    CRC_POSITION,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
)
from penstock.protocol.records.crc import crc32c
from penstock.protocol.records.record import Record

_CRC = struct.Struct(">I")
_NULL = b"\x01"  # zigzag of -1
_ZERO = b"\x00"


class NewRecord(msgspec.Struct, frozen=True):
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = NO_TIMESTAMP


# 0..63 and, from the end, -1..-64: a list index is negative exactly where the value is.
_ONE_BYTE_VARINTS = [bytes((2 * value,)) for value in range(64)] + [
    bytes((-2 * value - 1,)) for value in range(-64, 0)
]


def encode_varint(value: int) -> bytes:
    """Zigzag varint; the same encoding serves 32 and 64 bits."""
    if -64 <= value < 64:
        return _ONE_BYTE_VARINTS[value]
    rest = (value << 1) if value >= 0 else ((-value << 1) - 1)
    if rest < 0x4000:
        return bytes((rest & 0x7F | 0x80, rest >> 7))
    out = bytearray()
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def encode_record(
    timestamp_delta: int,
    offset_delta: int,
    key: Buffer | None,
    value: Buffer | None,
    headers: Sequence[tuple[str, bytes | None]] = (),
) -> bytes:
    """One record as it stands inside a batch, with its length in front."""
    parts: list[Buffer] = [
        _ZERO,  # attributes
        encode_varint(timestamp_delta) if timestamp_delta else _ZERO,
        encode_varint(offset_delta) if offset_delta else _ZERO,
        _NULL if key is None else encode_varint(len(key)),
        key or b"",
        _NULL if value is None else encode_varint(len(value)),
        value or b"",
        encode_varint(len(headers)) if headers else _ZERO,
    ]
    for header_key, header_value in headers:
        name = header_key.encode()
        parts += (
            encode_varint(len(name)),
            name,
            _NULL if header_value is None else encode_varint(len(header_value)),
            header_value or b"",
        )
    body = b"".join(parts)
    return encode_varint(len(body)) + body


def assemble_batch(
    records_section: Buffer,
    *,
    base_offset: int,
    leader_epoch: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    record_count: int,
) -> bytes:
    """Header, CRC and an already encoded (and compressed) records section as one batch."""
    batch = bytearray(HEADER_SIZE + len(records_section))
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        len(batch) - LOG_OVERHEAD,
        leader_epoch,
        MAGIC,
        0,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    )
    batch[HEADER_SIZE:] = records_section
    _CRC.pack_into(batch, CRC_POSITION, crc32c(memoryview(batch)[ATTRIBUTES_POSITION:]))
    return bytes(batch)


class BatchBuilder:
    """Collects records and makes one batch of them."""

    __slots__ = ("_base_offset", "_base_timestamp", "_last_offset", "_max_timestamp", "_parts", "size_bytes")

    def __init__(self, base_offset: int = 0) -> None:
        self._base_offset = base_offset
        self._base_timestamp = NO_TIMESTAMP
        self._max_timestamp = NO_TIMESTAMP
        self._last_offset = base_offset - 1
        self._parts: list[bytes] = []
        self.size_bytes = HEADER_SIZE

    def __len__(self) -> int:
        return len(self._parts)

    def append(
        self,
        key: Buffer | None,
        value: Buffer | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        *,
        timestamp: int = NO_TIMESTAMP,
        offset: int | None = None,
    ) -> int:
        """Add a record and return its offset: the next one, or `offset`, which leaves a gap as compaction does."""
        if offset is None:
            offset = self._last_offset + 1
        elif offset <= self._last_offset:
            raise ValueError(f"offset {offset} does not follow {self._last_offset}")
        if not self._parts:
            self._base_timestamp = timestamp
        self._max_timestamp = max(self._max_timestamp, timestamp)
        delta = timestamp - self._base_timestamp
        encoded = encode_record(delta, offset - self._base_offset, key, value, headers)
        self._parts.append(encoded)
        self.size_bytes += len(encoded)
        self._last_offset = offset
        return offset

    def build(
        self,
        *,
        codec: Codec = Codec.NONE,
        level: int | None = None,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control: bool = False,
        leader_epoch: int = NO_LEADER_EPOCH,
        append_timestamp: int | None = None,
    ) -> bytes:
        """The batch. With `append_timestamp` it is of type LogAppendTime and all records carry that time."""
        section = b"".join(self._parts)
        attributes = int(codec)
        if is_transactional:
            attributes |= TRANSACTIONAL_FLAG
        if is_control:
            attributes |= CONTROL_FLAG
        max_timestamp = self._max_timestamp
        if append_timestamp is not None:
            attributes |= LOG_APPEND_TIME_FLAG
            max_timestamp = append_timestamp
        return assemble_batch(
            section if codec is Codec.NONE else compress(codec, section, level),
            base_offset=self._base_offset,
            leader_epoch=leader_epoch,
            attributes=attributes,
            last_offset_delta=self._last_offset - self._base_offset,
            base_timestamp=self._base_timestamp,
            max_timestamp=max_timestamp,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            record_count=len(self._parts),
        )


def build_batch(
    records: Iterable[NewRecord | Record],
    *,
    base_offset: int = 0,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
    leader_epoch: int = NO_LEADER_EPOCH,
    append_timestamp: int | None = None,
) -> bytes:
    """One batch of `records`: a `Record` keeps its offset, a `NewRecord` takes the next."""
    builder = BatchBuilder(base_offset)
    for record in records:
        builder.append(
            record.key,
            record.value,
            record.headers,
            timestamp=record.timestamp,
            offset=record.offset if isinstance(record, Record) else None,
        )
    return builder.build(
        codec=codec,
        level=level,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
        is_control=is_control,
        leader_epoch=leader_epoch,
        append_timestamp=append_timestamp,
    )
