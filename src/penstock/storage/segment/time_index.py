"""Sparse time index: after which offset of a segment to look for a timestamp (KIP-33).

File `<base offset, 20 digits>.timeindex`: entries of 12 bytes, big-endian, ascending in both fields.

    0  timestamp        i64   the greatest timestamp of the segment so far, milliseconds
    8  relative offset  u32   last offset of the batch that has it, minus the segment's base offset

An entry says that every record with a greater timestamp has a greater offset. A sealed segment's last entry is
the greatest timestamp of the whole segment. No checksum: a suspect index is deleted and rebuilt.
"""

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right

Buffer = bytes | bytearray | memoryview

ENTRY_SIZE = 12
NO_TIMESTAMP = -1

_ENTRY = struct.Struct(">qI")
_LITTLE = sys.byteorder == "little"


class TimeIndex:
    """No I/O: opens no file. Timestamps and offsets are in two arrays, 12 bytes an entry as on disk."""

    __slots__ = ("_base_offset", "_offsets", "_timestamps")

    def __init__(self, base_offset: int, content: Buffer = b"") -> None:
        """Take over the content of an index file; a partial last entry is ignored."""
        self._base_offset = base_offset
        self._timestamps = array("q")
        self._offsets = array("I")
        if content:
            self._load(content[: len(content) - len(content) % ENTRY_SIZE])

    def _load(self, content: Buffer) -> None:
        words = array("I")
        words.frombytes(content)
        if _LITTLE:
            words.byteswap()
        halves = array("I", bytes(len(words) // 3 * 8))
        halves[0::2] = words[1::3] if _LITTLE else words[0::3]
        halves[1::2] = words[0::3] if _LITTLE else words[1::3]
        self._timestamps.frombytes(halves.tobytes())
        self._offsets = words[2::3]

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def size_bytes(self) -> int:
        return len(self._offsets) * ENTRY_SIZE

    @property
    def last_timestamp(self) -> int:
        return self._timestamps[-1] if self._timestamps else NO_TIMESTAMP

    @property
    def last_offset(self) -> int:
        return self._base_offset + (self._offsets[-1] if self._offsets else 0)

    def add(self, timestamp: int, offset: int) -> bytes:
        """Add an entry unless the greatest timestamp has not grown. Returns the entry's bytes, or none."""
        if timestamp <= self.last_timestamp:
            return b""
        relative = offset - self._base_offset
        if self._offsets and relative < self._offsets[-1]:
            return b""  # a hint may be left out, but never contradict an earlier one
        self._timestamps.append(timestamp)
        self._offsets.append(relative)
        return _ENTRY.pack(timestamp, relative)

    def offset_before(self, timestamp: int) -> int:
        """Offset of the greatest entry at or below `timestamp`, else the base offset: look from there on."""
        found = bisect_right(self._timestamps, timestamp)
        return self._base_offset + (self._offsets[found - 1] if found else 0)

    def truncate_to(self, offset: int) -> None:
        """Forget the entries at or above `offset`."""
        keep = bisect_left(self._offsets, max(0, offset - self._base_offset))
        del self._timestamps[keep:]
        del self._offsets[keep:]

    def tail_bytes(self, first: int) -> bytes:
        """The file content from entry number `first` on."""
        return b"".join(map(_ENTRY.pack, self._timestamps[first:], self._offsets[first:]))

    def is_plausible(self) -> bool:
        """Whether the index looks valid: ascending at its ends."""
        return len(self._offsets) < 2 or (
            self._timestamps[0] < self._timestamps[-1] and self._offsets[0] <= self._offsets[-1]
        )
