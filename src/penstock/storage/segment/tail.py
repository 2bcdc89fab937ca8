"""Positions of the newest batches of the active segment, so that readers at the tail need neither index nor walk."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from penstock.storage.storable_batch import StorableBatch

ENTRIES_MAX = 2048
_ENTRIES_KEPT = ENTRIES_MAX // 2 + 1  # with the sentinel


class Tail:
    """The last offset and the end position of each of the newest batches, after one sentinel.

    Entry i covers the offsets (lasts[i-1], lasts[i]] in the bytes [ends[i-1], ends[i]) of the active segment.
    """

    __slots__ = ("_ends", "_lasts")

    def __init__(self, next_offset: int, position: int) -> None:
        self._lasts = array("q", (next_offset - 1,))
        self._ends = array("q", (position,))

    def add(self, batches: Sequence[StorableBatch]) -> None:
        """Add batches that were written consecutively."""
        lasts, ends = self._lasts, self._ends
        end = ends[-1]
        for batch in batches:
            end += batch.size_bytes
            lasts.append(batch.last_offset)
            ends.append(end)
        if len(lasts) > ENTRIES_MAX:
            del self._lasts[:-_ENTRIES_KEPT]
            del self._ends[:-_ENTRIES_KEPT]

    def covers(self, offset: int) -> bool:
        """Whether the batch that contains `offset`, or would contain it, is among those kept."""
        return offset > self._lasts[0]

    def span(
        self, offset: int, offset_limit: int, size_bytes_max: int, at_least_one: bool
    ) -> tuple[int, int, int] | None:
        """Begin and end position and next offset of whole batches from `offset` on, all below `offset_limit`.

        None when there is no such batch. Only for an offset that is covered.
        """
        lasts = self._lasts
        first = bisect_left(lasts, offset)
        limit = bisect_left(lasts, offset_limit, first)
        if first == limit:
            return None
        ends = self._ends
        begin = ends[first - 1]
        fitting = bisect_right(ends, begin + size_bytes_max, first, limit)
        if fitting == first:
            if not at_least_one:
                return None
            fitting += 1
        return begin, ends[fitting - 1], lasts[fitting - 1] + 1
