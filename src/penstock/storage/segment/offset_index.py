"""Sparse offset index: which byte of a segment to start reading from.

File `<base offset, 20 digits>.index`: entries of 8 bytes, big-endian, ascending.

    0  relative offset  u32   last offset of an indexed batch, minus the segment's base offset
    4  position         u32   where in the `.log` file that batch begins

There is about one entry for every `index.interval.bytes` of log. There is no checksum: a suspect index is
deleted and rebuilt from its segment.
"""

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right

Buffer = bytes | bytearray | memoryview

ENTRY_SIZE = 8
RELATIVE_OFFSET_MAX = 2**31 - 1  # Kafka keeps it signed, and so refuses more than this

_ENTRY = struct.Struct(">Q")
_POSITION_MASK = 0xFFFF_FFFF
_SWAP = sys.byteorder == "little"


class OffsetIndex:
    """Pure: opens no file. `segment.py` writes the bytes that `tail_bytes` returns.

    An entry is held as the one 64-bit number that its 8 bytes spell, so that entries compare by offset, are
    found by a bisection in C, and cost 8 bytes each.
    """

    __slots__ = ("_base_offset", "_entries")

    def __init__(self, base_offset: int, content: Buffer = b"") -> None:
        """Take over the content of an index file; a partial last entry is ignored."""
        self._base_offset = base_offset
        entries = array("Q")
        entries.frombytes(content[: len(content) - len(content) % ENTRY_SIZE])
        if _SWAP:
            entries.byteswap()
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size_bytes(self) -> int:
        return len(self._entries) * ENTRY_SIZE

    @property
    def last_position(self) -> int:
        """Position of the newest entry, else 0."""
        return self._entries[-1] & _POSITION_MASK if self._entries else 0

    @property
    def last_offset(self) -> int:
        """Offset of the newest entry, else the base offset."""
        return self._base_offset + (self._entries[-1] >> 32 if self._entries else 0)

    def add(self, offset: int, position: int) -> bytes:
        """Add an entry for the batch at `position` whose last offset is `offset`. Returns the entry's bytes."""
        entry = (offset - self._base_offset) << 32 | position
        assert not self._entries or entry > self._entries[-1], "index entries ascend"
        self._entries.append(entry)
        return _ENTRY.pack(entry)

    def position_before(self, offset: int) -> int:
        """Position of the greatest indexed offset at or below `offset`, else 0."""
        found = bisect_right(self._entries, (offset - self._base_offset) << 32 | _POSITION_MASK)
        return self._entries[found - 1] & _POSITION_MASK if found else 0

    def position_below(self, position: int, offset: int) -> int:
        """The greatest indexed position at or below `position` whose entry's offset is below `offset`, else 0."""
        found = bisect_left(self._entries, (offset - self._base_offset) << 32)
        found = bisect_right(self._entries, position, 0, found, key=_position)
        return self._entries[found - 1] & _POSITION_MASK if found else 0

    def truncate_to(self, offset: int) -> None:
        """Forget the entries at or above `offset`."""
        del self._entries[bisect_left(self._entries, max(0, offset - self._base_offset) << 32) :]

    def tail_bytes(self, first: int) -> bytes:
        """The file content from entry number `first` on."""
        entries = self._entries[first:]
        if _SWAP:
            entries.byteswap()
        return entries.tobytes()

    def is_plausible(self, segment_size_bytes: int) -> bool:
        """Whether the index looks valid: ascending at its ends, and inside the segment."""
        if not self._entries:
            return True
        first, last = self._entries[0], self._entries[-1]
        return (first < last or len(self._entries) == 1) and (last & _POSITION_MASK) < segment_size_bytes


def _position(entry: int) -> int:
    return entry & _POSITION_MASK
