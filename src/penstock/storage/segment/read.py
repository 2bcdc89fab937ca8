"""Finds and slices whole batches in the bytes of a segment.

No I/O except for the `read` function that it is given: on the event loop it never waits, on a thread it may.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.records.batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC
from penstock.storage.damage.damage import sound_part
from penstock.storage.errors import LogCorrupt
from penstock.storage.files import Buffer
from penstock.storage.segment.offset_index import OffsetIndex

Read = Callable[[int, int], Buffer | None]
"""`read(size_bytes, position)`: None when it would have to wait."""

_HEAD = struct.Struct(">qiibIhi")  # base offset, length, epoch, magic, CRC, attributes, last offset delta
WALK_BYTES: Final = 4096 + HEADER_SIZE
_LENGTH_MIN: Final = HEADER_SIZE - LOG_OVERHEAD


class IndexInDoubt(Exception):
    """An index entry points at something that is no batch, or is the wrong one."""


class NotCached(Exception):
    """Some of the bytes are not in memory."""


class Cut(msgspec.Struct, frozen=True, gc=False):
    """Whole batches, and the offset after the last of them."""

    data: Buffer
    next_offset: int


class Found(msgspec.Struct, frozen=True, gc=False):
    """The location of a batch, with the bytes read around it: `chunk[start:]` begins with the batch."""

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int
    chunk: Buffer
    start: int


def find_batch(read: Read, index: OffsetIndex, size_bytes: int, offset: int, begin: int = 0) -> Found | None:
    """The first batch whose last offset is at or above `offset`; None when the segment has none.

    It does not begin before the byte `begin`, where a batch begins: earlier bytes may be damaged.
    """
    position = max(begin, index.position_before(offset))
    is_indexed = position > begin
    last_offset = -1
    if is_indexed and position + HEADER_SIZE > size_bytes:
        raise IndexInDoubt  # otherwise a corrupt entry would hide every record after it
    while position + HEADER_SIZE <= size_bytes:
        chunk = _read_exactly(read, min(WALK_BYTES, size_bytes - position), position)
        at = 0
        while len(chunk) - at >= HEADER_SIZE:
            base, length, _, magic, _, _, delta = _HEAD.unpack_from(chunk, at)
            if magic != MAGIC or length < _LENGTH_MIN or (is_indexed and base > offset):
                if is_indexed:
                    raise IndexInDoubt
                raise _corrupt(position + at)
            is_indexed = False
            if base <= last_offset:
                raise _corrupt(position + at)  # or the batch before: no checksum covers their offsets
            last_offset = base + delta
            if last_offset >= offset:
                return Found(position + at, LOG_OVERHEAD + length, base, last_offset, chunk, at)
            at += LOG_OVERHEAD + length
        position += at
    return None


def cut_batches(
    read: Read,
    index: OffsetIndex,
    size_bytes: int,
    *,
    offset: int,
    offset_limit: int,
    size_bytes_max: int,
    at_least_one: bool,
    end_offset: int,
    begin: int = 0,
) -> Cut | None:
    """Whole batches from the batch that contains `offset`, all below `offset_limit`; None when there are none.

    `end_offset` is where the segment ends. `begin` as in `find_batch`.
    """
    found = find_batch(read, index, size_bytes, offset, begin)
    if found is None:
        return None
    if found.base_offset > offset or found.last_offset >= end_offset:
        _check_gap(read, found, size_bytes, end_offset)
    if found.last_offset >= offset_limit:
        return None
    if found.size_bytes > size_bytes_max:
        if not at_least_one:
            return Cut(b"", offset)
        return Cut(_first_batch(read, found), found.last_offset + 1)
    chunk, start = found.chunk, found.start
    wanted = min(size_bytes_max, size_bytes - found.position)
    if len(chunk) - start < wanted:  # finding a batch reads little: the result is read at once, in one piece
        chunk, start = _read_exactly(read, wanted, found.position), 0
    bound = min(len(chunk), start + size_bytes_max)
    chunk_position = found.position - start
    jump = index.position_below(chunk_position + bound - HEADER_SIZE, offset_limit) - chunk_position
    end, next_offset = _walk(chunk, max(start, jump), bound, offset_limit)
    if end < 0:
        if jump > start:
            raise IndexInDoubt
        raise _corrupt(found.position)
    return Cut(memoryview(chunk)[start:end], next_offset)


def _check_gap(read: Read, found: Found, size_bytes: int, end_offset: int) -> None:
    """Compaction may have left a gap before a batch. Otherwise its offset is corrupt: the next batch contradicts it."""
    position = found.position + found.size_bytes
    next_offset = end_offset
    if position + HEADER_SIZE <= size_bytes:
        base, _, _, magic, *_ = _HEAD.unpack_from(_read_exactly(read, HEADER_SIZE, position))
        next_offset = min(base, end_offset) if magic == MAGIC else end_offset
    if found.last_offset >= next_offset:
        raise _corrupt(found.position)


def sound(cut: Cut) -> Cut:
    """The valid part of it. Raises `LogCorrupt` when not even the first batch is valid."""
    if not len(cut.data):
        return cut
    size_bytes, next_offset = sound_part(cut.data)
    if size_bytes == len(cut.data):
        return cut
    if size_bytes == 0:
        raise LogCorrupt(
            "the checksum of a batch does not match: its bytes have changed since they were written"
        )
    return Cut(memoryview(cut.data)[:size_bytes], next_offset)


def _walk(chunk: Buffer, at: int, bound: int, offset_limit: int) -> tuple[int, int]:
    """The end position of the whole batches from `at` that end by `bound` and below the limit, and the offset there."""
    next_offset = -1
    while bound - at >= HEADER_SIZE and next_offset < offset_limit:  # beyond the limit there may be damage
        base, length, _, magic, _, _, delta = _HEAD.unpack_from(chunk, at)
        if magic != MAGIC or length < _LENGTH_MIN:
            return -1, -1
        end = at + LOG_OVERHEAD + length
        if end > bound or base + delta >= offset_limit:
            # Not the base offset of the excluded batch: if it is corrupt, records in between would be skipped.
            return at, next_offset if next_offset >= 0 else base
        at = end
        next_offset = base + delta + 1
    return at, next_offset


def _first_batch(read: Read, found: Found) -> Buffer:
    if len(found.chunk) - found.start >= found.size_bytes:
        return memoryview(found.chunk)[found.start : found.start + found.size_bytes]
    return _read_exactly(read, found.size_bytes, found.position)


def _read_exactly(read: Read, size_bytes: int, position: int) -> Buffer:
    chunk = read(size_bytes, position)
    if chunk is None:
        raise NotCached
    if len(chunk) != size_bytes:
        raise LogCorrupt(
            f"the segment ends at byte {position + len(chunk)} but {position + size_bytes} bytes were written: "
            "something else has cut the file"
        )
    return chunk


def _corrupt(position: int) -> LogCorrupt:
    return LogCorrupt(
        f"there is no record batch at byte {position}: run `penstock log verify` on the partition"
    )
