"""The format of a journal file: a header, then entries back to back. Pure; big-endian.

    header   magic 8 bytes, version u16, 2 zeros, crc u32, number u64, nonce 16 bytes; zeros up to byte 512; the same
             once more
    entry    magic u32, crc u32, payload bytes u32, round u64, topic id 16 bytes, partition i32, leader epoch i32,
             base offset i64, end offset i64, kind u8, 3 zeros; then the payload

The crc is CRC-32C of everything behind it, payload included, and continues the crc of the file's header. A file is used
again and again, with another number and nonce each time: what an earlier use left behind does not match, so it is never
taken for an entry. Each entry can be checked by itself, so what stands behind a damaged one is still found.

A header is durable before the first entry is written, and stands there twice: a torn write leaves one of the two sound.
All entries of one write have the same round, and a round is written when the one
before is durable. So only the last round can be torn by a power cut; anything wrong before it is damage.
"""

import enum
import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from penstock.protocol.records.crc import crc32c
from penstock.storage.files import Buffer

MAGIC: Final = b"PNSTKJNL"
ENTRY_MAGIC: Final = b"\xa5JE\x01"
VERSION: Final = 1

_HEADER: Final = struct.Struct(">8sH2xIQ16s")
_HEADER_BODY: Final = struct.Struct(">Q16s")
_PREFIX: Final = struct.Struct(">4sI")
_CRC: Final = struct.Struct(">I")
_PREVIOUS: Final = struct.Struct(">Q8x")
_SEGMENTS: Final = struct.Struct(">16siq")
_BODY: Final = struct.Struct(">IQ16siiqqB3x")
_COPY_BYTES: Final = 512
HEADER_BYTES: Final = 2 * _COPY_BYTES
ENTRY_BYTES: Final = _PREFIX.size + _BODY.size
SEGMENTS_BYTES: Final = _SEGMENTS.size


class Kind(enum.IntEnum):
    APPEND = 1
    """The payload is the record batches from `base_offset` up to `end_offset`: the log ended at `base_offset`."""
    SEGMENTS = 2
    """The payload names partitions, each with an offset: all records below that are durable in the segments of the
    partition, where recovery is to look.
    """
    RESET = 3
    """The partition was deleted, or starts over: entries before this one mean nothing."""
    TRUNCATION = 4
    """All records of the partition are durable in its segments, and those from `end_offset` on may be truncated."""
    START = 5
    """The first entry of a file; see `Start`."""


class Start(NamedTuple):
    """What the first entry of a file says of those before. It stands where others have topic id and offsets."""

    oldest_number: int
    """Files with lower numbers mean nothing from here on."""
    previous_number: int
    """The file before, 0 if there is none that means anything."""
    previous_bytes: int
    """Where the entries of that file end: less is damage."""
    file_count: int
    """How many files the journal had. There are never fewer: they are used again."""


class DurableSegments(NamedTuple):
    """One partition in an entry of kind `SEGMENTS`."""

    topic_id: bytes
    partition: int
    end_offset: int


_KINDS: Final = frozenset(Kind)


class Entry(msgspec.Struct, frozen=True, gc=False):
    kind: Kind
    round: int
    topic_id: bytes
    partition: int
    leader_epoch: int
    base_offset: int
    end_offset: int
    payload: Buffer = b""


class FileHeader(msgspec.Struct, frozen=True, gc=False):
    number: int
    """Of this use of the file, higher each time: recovery reads the files in this order."""
    crc: int


class NotAJournal(Exception):
    """The file does not begin with a header of this format."""


def encode_header(number: int, nonce: bytes) -> tuple[bytes, int]:
    """The header of a file, and its crc, which those of the file's entries continue."""
    crc = crc32c(_HEADER_BODY.pack(number, nonce))
    header = _HEADER.pack(MAGIC, VERSION, crc, number, nonce)
    return 2 * header.ljust(_COPY_BYTES, b"\0"), crc


def decode_header(data: Buffer) -> FileHeader:
    """Raises `NotAJournal`."""
    if len(data) < HEADER_BYTES:
        raise NotAJournal(f"it has {len(data)} bytes, and its header should have {HEADER_BYTES}")
    copies = (_decode_copy(data, 0), _decode_copy(data, _COPY_BYTES))
    found = max((each for each in copies if each is not None), key=lambda each: each.number, default=None)
    if found is None:
        raise NotAJournal("its header is damaged, or of another version")
    return found


def _decode_copy(data: Buffer, position: int) -> FileHeader | None:
    magic, version, crc, number, nonce = _HEADER.unpack_from(data, position)
    is_sound = crc == crc32c(_HEADER_BODY.pack(number, nonce))
    return FileHeader(number, crc) if magic == MAGIC and version == VERSION and is_sound else None


def encode_entry(  # noqa: PLR0917  names are paid for at each call
    header_crc: int,
    kind: Kind,
    round_number: int,
    topic_id: bytes,
    partition: int,
    leader_epoch: int,
    base_offset: int,
    end_offset: int,
    payload: Sequence[Buffer] = (),
    payload_bytes: int = 0,
) -> bytes:
    """What stands before the payload of an entry."""
    body = _BODY.pack(
        payload_bytes, round_number, topic_id, partition, leader_epoch, base_offset, end_offset, kind
    )
    crc = crc32c(body, header_crc)
    for part in payload:
        crc = crc32c(part, crc)
    return _PREFIX.pack(ENTRY_MAGIC, crc) + body


def encode_start(header_crc: int, round_number: int, start: Start) -> bytes:
    return encode_entry(
        header_crc,
        Kind.START,
        round_number,
        _PREVIOUS.pack(start.previous_number),
        start.file_count,
        -1,
        start.oldest_number,
        start.previous_bytes,
    )


def decode_start(entry: Entry) -> Start | None:
    if entry.kind is not Kind.START:
        return None
    previous_number = _PREVIOUS.unpack(entry.topic_id)[0]
    return Start(entry.base_offset, previous_number, entry.end_offset, entry.partition)


def encode_segments(header_crc: int, round_number: int, segments: Sequence[DurableSegments]) -> bytes:
    payload = b"".join(_SEGMENTS.pack(*each) for each in segments)
    head = encode_entry(
        header_crc, Kind.SEGMENTS, round_number, bytes(16), -1, -1, 0, 0, (payload,), len(payload)
    )
    return head + payload


def decode_segments(entry: Entry) -> Iterator[DurableSegments]:
    return map(DurableSegments._make, _SEGMENTS.iter_unpack(entry.payload))


def decode_entry(data: memoryview, position: int, header_crc: int) -> Entry | None:
    """The entry that begins at `position`, if a sound one does."""
    entry = _unchecked_entry(data, position)
    if entry is None:
        return None
    end = position + ENTRY_BYTES + len(entry.payload)
    (crc,) = _CRC.unpack_from(data, position + len(ENTRY_MAGIC))
    return entry if crc32c(data[position + _PREFIX.size : end], header_crc) == crc else None


def guess_entry(data: memoryview, position: int) -> Entry | None:
    """What an entry at `position` says that does not match its checksum, if it may be one of records."""
    entry = _unchecked_entry(data, position)
    is_plausible = entry is not None and entry.kind is Kind.APPEND and entry.base_offset < entry.end_offset
    return entry if is_plausible else None


def _unchecked_entry(data: memoryview, position: int) -> Entry | None:
    begin = position + ENTRY_BYTES
    if begin > len(data) or bytes(data[position : position + len(ENTRY_MAGIC)]) != ENTRY_MAGIC:
        return None
    size, number, topic_id, partition, epoch, base, end, kind = _BODY.unpack_from(
        data, position + _PREFIX.size
    )
    if size > len(data) - begin or kind not in _KINDS:
        return None
    return Entry(Kind(kind), number, topic_id, partition, epoch, base, end, data[begin : begin + size])
