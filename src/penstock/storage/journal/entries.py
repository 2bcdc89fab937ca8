"""The format of a journal file: a header, then entries back to back. Big-endian. No I/O.

    header   magic 8 bytes, version u16, 2 zeros, crc u32, number u64, nonce 16 bytes, directory id 16 bytes; zeros up
             to byte 512; the same once more
    entry    magic u32, crc u32, payload crc u32, payload bytes u32, round u64, index u32, count u32, topic id 16 bytes,
             partition i32, leader epoch i32, base offset i64, end offset i64, kind u8, a zero, padding u16; then the
             payload; after the last entry of a round as many zeros as its padding says

All crcs are CRC-32C. An entry's crc covers everything after it up to the payload, and continues the crc of the file's
header. Files are reused, with a new number and nonce each time: leftovers of an earlier use do not match, so they are
never taken for entries. Each entry can be checked individually, so the entries after a damaged one are found; and an
entry whose payload is damaged still shows its partition.

A header is durable before the first entry is written, and is written twice: a torn write leaves one of the two valid.
All entries of one write have the same round; each has its index in the round, and the number of entries. A round is
written when the one before is durable. So only the last round can be torn by a power cut: anything else incomplete is
damage.

A round begins and ends at a block of the disk: no write touches a block whose entries are durable already. The first
round begins after the header, at byte 1024, or 4096 if rounds are written directly. Each entry has the padding of its
round, and the last entry includes it: so entries are back to back all the same. Nothing depends on the bytes of the
padding. Rounds of an earlier version have no padding, and are read in the same way.
"""

import enum
import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from penstock.protocol.records.crc import crc32c
from penstock.storage.files import Buffer

MAGIC: Final = b"PNSTKJNL"
ENTRY_MAGIC: Final = b"\xa5JE\x02"
VERSION: Final = 2

_HEADER: Final = struct.Struct(">8sH2xIQ16s16s")
_HEADER_BODY: Final = struct.Struct(">Q16s16s")
_PREFIX: Final = struct.Struct(">4sI")
_COMPLETE: Final = struct.Struct(">Q8x")
_BODY: Final = struct.Struct(">IIQII16siiqqBxH")
_COPY_BYTES: Final = 512
HEADER_BYTES: Final = 2 * _COPY_BYTES
ENTRY_BYTES: Final = _PREFIX.size + _BODY.size


class Kind(enum.IntEnum):
    APPEND = 1
    """The payload is the record batches from `base_offset` up to `end_offset`: the log ended at `base_offset`, and
    everything before was durable, in the journal or in its segments.
    """
    RESET = 2
    """Earlier entries of the partition are obsolete: it was deleted, it starts over, or all of it is durable in its
    segments and it is going to be truncated.
    """
    START = 3
    """The first entry of a file; see `Start`."""


class Start(NamedTuple):
    """The first entry of a file, about the files before it. It has these fields in place of topic id and offsets."""

    oldest_number: int
    """Files with lower numbers are obsolete from here on."""
    complete_round: int
    """The last complete round of the files before: those between it and this one were torn by a crash."""
    file_count: int
    """The number of files the journal had. It never shrinks, since files are reused; 0 after a clean stop."""


_KINDS: Final = frozenset(Kind)


class Entry(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    kind: Kind
    round: int
    index: int
    count: int
    topic_id: bytes
    partition: int
    leader_epoch: int
    base_offset: int
    end_offset: int
    payload: Buffer = b""
    size_bytes: int = 0
    """Includes the payload, and the padding after the last entry of a round."""
    is_sound: bool = True
    """Whether the payload is intact."""


class FileHeader(msgspec.Struct, frozen=True, gc=False):
    number: int
    """The number of this use of the file, higher each time: recovery reads the files in this order."""
    crc: int
    directory_id: bytes


class NotAJournal(Exception):
    """The file does not begin with a header of this format."""


def encode_header(number: int, nonce: bytes, directory_id: bytes) -> tuple[bytes, int]:
    """A file's header and its crc, which the crcs of the file's entries continue."""
    crc = crc32c(_HEADER_BODY.pack(number, nonce, directory_id))
    header = _HEADER.pack(MAGIC, VERSION, crc, number, nonce, directory_id)
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
    magic, version, crc, number, nonce, directory_id = _HEADER.unpack_from(data, position)
    is_sound = crc == crc32c(_HEADER_BODY.pack(number, nonce, directory_id))
    return (
        FileHeader(number, crc, directory_id) if magic == MAGIC and version == VERSION and is_sound else None
    )


def encode_entry(  # noqa: PLR0917  names are paid for at each call
    header_crc: int,
    kind: Kind,
    round_number: int,
    index: int,
    count: int,
    topic_id: bytes,
    partition: int,
    leader_epoch: int,
    base_offset: int,
    end_offset: int,
    payload: Sequence[Buffer] = (),
    payload_bytes: int = 0,
    padding_bytes: int = 0,
) -> bytes:
    """An entry's header, before its payload. `padding_bytes` is the padding of the round."""
    payload_crc = 0
    for part in payload:
        payload_crc = crc32c(part, payload_crc)
    body = _BODY.pack(
        payload_crc,
        payload_bytes,
        round_number,
        index,
        count,
        topic_id,
        partition,
        leader_epoch,
        base_offset,
        end_offset,
        kind,
        padding_bytes,
    )
    return _PREFIX.pack(ENTRY_MAGIC, crc32c(body, header_crc)) + body


def encode_start(
    header_crc: int, round_number: int, count: int, start: Start, padding_bytes: int = 0
) -> bytes:
    """The first of the `count` entries of a round."""
    return encode_entry(
        header_crc,
        Kind.START,
        round_number,
        0,
        count,
        _COMPLETE.pack(start.complete_round),
        start.file_count,
        -1,
        start.oldest_number,
        0,
        padding_bytes=padding_bytes,
    )


def decode_start(entry: Entry) -> Start | None:
    if entry.kind is not Kind.START:
        return None
    return Start(entry.base_offset, _COMPLETE.unpack(entry.topic_id)[0], entry.partition)


def decode_entry(data: memoryview, position: int, header_crc: int) -> Entry | None:
    """The entry that begins at `position`, if one does. Its payload may be damaged."""
    begin = position + ENTRY_BYTES
    if begin > len(data):
        return None
    magic, crc = _PREFIX.unpack_from(data, position)
    if magic != ENTRY_MAGIC or crc32c(data[position + _PREFIX.size : begin], header_crc) != crc:
        return None
    payload_crc, size, number, index, count, topic_id, partition, epoch, base, end, kind, padding = (
        _BODY.unpack_from(data, position + _PREFIX.size)
    )
    if kind not in _KINDS:
        return None
    payload = data[begin : begin + size]
    return Entry(
        kind=Kind(kind),
        round=number,
        index=index,
        count=count,
        topic_id=topic_id,
        partition=partition,
        leader_epoch=epoch,
        base_offset=base,
        end_offset=end,
        payload=payload,
        size_bytes=ENTRY_BYTES + size + (padding if index + 1 == count else 0),
        is_sound=len(payload) == size and crc32c(payload) == payload_crc,
    )
