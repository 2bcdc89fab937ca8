"""The format of a journal file: a header, then entries back to back. Pure; big-endian.

    header   magic 8 bytes, version u16, 2 zeros, crc u32, number u64, oldest number u64, first round u64,
             bytes before u64, nonce 16 bytes
    entry    magic u32, crc u32, payload bytes u32, round u64, topic id 16 bytes, partition i32, leader epoch i32,
             base offset i64, end offset i64, kind u8, 3 zeros; then the payload

The crc is CRC-32C of everything behind it, payload included, and continues the crc of the file's header. A file is used
again and again, with another number and nonce each time: what an earlier use left behind does not match, so it is never
taken for an entry. Each entry can be checked by itself, so what stands behind a damaged one is still found.

All entries of one write have the same round, and a round is written when the one before is durable. So only the last
round can be torn by a power cut; anything wrong before it is damage.
"""

import enum
import struct
from collections.abc import Sequence
from typing import Final

import msgspec

from penstock.protocol.records.crc import crc32c
from penstock.storage.files import Buffer

MAGIC: Final = b"PNSTKJNL"
ENTRY_MAGIC: Final = b"\xa5JE\x01"
VERSION: Final = 1

_HEADER: Final = struct.Struct(">8sH2xIQQQQ16s")
_HEADER_BODY: Final = struct.Struct(">QQQQ16s")
_PREFIX: Final = struct.Struct(">4sI")
_BODY: Final = struct.Struct(">IQ16siiqqB3x")
HEADER_BYTES: Final = _HEADER.size
ENTRY_BYTES: Final = _PREFIX.size + _BODY.size


class Kind(enum.IntEnum):
    APPEND = 1
    """The payload is the record batches from `base_offset` up to `end_offset`: the log ended at `base_offset`."""
    SEGMENT = 2
    """All records of the partition below `end_offset` are durable in its segments, where recovery is to look."""
    RESET = 3
    """The partition was deleted, or starts over: entries before this one mean nothing."""
    TRUNCATION = 4
    """All records of the partition are durable in its segments, and those from `end_offset` on may be truncated."""


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
    oldest_number: int
    """Of the files that meant anything when this one was begun."""
    first_round: int
    bytes_before: int
    """Where the entries of the file with the number before end: less than that is damage."""
    crc: int


class NotAJournal(Exception):
    """The file does not begin with a header of this format."""


def encode_header(
    number: int, oldest_number: int, first_round: int, bytes_before: int, nonce: bytes
) -> tuple[bytes, int]:
    """The header of a file, and its crc, which those of the file's entries continue."""
    crc = crc32c(_HEADER_BODY.pack(number, oldest_number, first_round, bytes_before, nonce))
    return _HEADER.pack(MAGIC, VERSION, crc, number, oldest_number, first_round, bytes_before, nonce), crc


def decode_header(data: Buffer) -> FileHeader:
    """Raises `NotAJournal`."""
    if len(data) < HEADER_BYTES:
        raise NotAJournal(f"it has {len(data)} bytes, and its header should have {HEADER_BYTES}")
    magic, version, crc, number, oldest_number, first_round, bytes_before, nonce = _HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION:
        raise NotAJournal("its first bytes are not those of a journal file of this version")
    if crc32c(_HEADER_BODY.pack(number, oldest_number, first_round, bytes_before, nonce)) != crc:
        raise NotAJournal("its header does not match its checksum")
    return FileHeader(number, oldest_number, first_round, bytes_before, crc)


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


def decode_entry(data: memoryview, position: int, header_crc: int) -> Entry | None:
    """The entry that begins at `position`, if a sound one does."""
    begin = position + ENTRY_BYTES
    if begin > len(data):
        return None
    magic, crc = _PREFIX.unpack_from(data, position)
    if magic != ENTRY_MAGIC:
        return None
    size, number, topic_id, partition, epoch, base, end, kind = _BODY.unpack_from(
        data, position + _PREFIX.size
    )
    if size > len(data) - begin or crc32c(data[position + _PREFIX.size : begin + size], header_crc) != crc:
        return None
    return Entry(Kind(kind), number, topic_id, partition, epoch, base, end, data[begin : begin + size])
