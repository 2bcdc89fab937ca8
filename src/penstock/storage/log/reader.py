"""Reads the segments of one log: records from memory or from the disk, timestamps, aborted transactions.

Only the event loop calls it. Calls that may wait for the disk are awaited, and run on a thread.
"""

from collections.abc import Callable
from functools import partial

from penstock.runtime.offload import Offload
from penstock.storage.damage.ranges import DamagedRanges
from penstock.storage.errors import LogCorrupt
from penstock.storage.file_cache import FileCache
from penstock.storage.log.cold_read import ColdRead
from penstock.storage.log.timestamp_search import TimestampSearch
from penstock.storage.log.values import COLD, Cold, LogSlice, TimestampOffset
from penstock.storage.segment.chain import SegmentChain
from penstock.storage.segment.read import Cut, IndexInDoubt, NotCached, cut_batches, sound
from penstock.storage.segment.transaction_index import AbortedTransaction


class SegmentsChanged(Exception):
    """Segments were dropped or replaced while a thread read them: the read begins again."""


class LogReader:
    __slots__ = ("_cache", "_chain", "_damaged", "_offload")

    def __init__(
        self, chain: SegmentChain, cache: FileCache, offload: Offload, damaged: DamagedRanges
    ) -> None:
        self._chain = chain
        self._cache = cache
        self._offload = offload
        self._damaged = damaged

    def before_damage(self, offset: int, limit: int) -> int:
        """`limit`, or the first damaged offset above `offset`. Raises `LogCorrupt` when `offset` itself is damaged."""
        for damage in self._damaged:
            if damage.base_offset > offset:
                return min(limit, damage.base_offset)
            if offset < damage.next_offset:
                raise LogCorrupt(f"{self._chain.directory} is damaged: {damage}")
        return limit

    def read(
        self, offset: int, limit: int, size_bytes_max: int, *, at_least_one: bool, check_crc: bool
    ) -> LogSlice | Cold:
        """As `Log.read`, for batches below `limit`."""
        if offset >= limit:
            return LogSlice(b"", offset)
        chain = self._chain
        tail = chain.tail
        if tail is not None and tail.covers(offset):
            span = tail.span(offset, limit, size_bytes_max, at_least_one)
            if span is None:
                return LogSlice(b"", offset)
            first, last, next_offset = span
            data = chain.active.file().read_cached(last - first, first)
            if data is None or len(data) != last - first:
                return COLD
            return LogSlice(data, next_offset)
        try:
            cut = self._cut(offset, limit, size_bytes_max, at_least_one=at_least_one)
        except NotCached:
            return COLD
        return _slice_of(sound(cut) if check_crc and cut is not None else cut, offset)

    def _cut(self, offset: int, limit: int, size_bytes_max: int, *, at_least_one: bool) -> Cut | None:
        chain = self._chain
        number = chain.number_of(offset)
        begin, end = self._damaged.bounds(chain.segments[number].base_offset, offset)
        for segment in chain.segments[number:]:
            if segment.base_offset >= limit:
                return None
            indexes = segment.indexes_if_cached()
            if indexes is None:
                raise NotCached
            try:
                cut = cut_batches(
                    segment.file().read_cached,
                    indexes.offsets,
                    segment.size_bytes if end is None else end,
                    offset=offset,
                    offset_limit=limit,
                    size_bytes_max=size_bytes_max,
                    at_least_one=at_least_one,
                    end_offset=chain.end_of(number),
                    begin=begin,
                )
            except IndexInDoubt:
                raise NotCached from None  # a rebuild reads all of the segment: not here
            if cut is not None:
                return cut
            number, begin, end = number + 1, 0, None
        return None

    async def read_cold(
        self, offset: int, limit: int, size_bytes_max: int, *, at_least_one: bool
    ) -> LogSlice:
        """As `Log.read_cold`, for batches below `limit`. Raises `SegmentsChanged`."""
        if offset >= limit:
            return LogSlice(b"", offset)
        chain = self._chain
        layout, first = chain.layout, chain.number_of(offset)
        begin, end = self._damaged.bounds(chain.segments[first].base_offset, offset)
        cut = None
        for number in range(first, len(chain.segments)):
            segment = chain.segments[number]
            if segment.base_offset >= limit:
                break
            cold = ColdRead(
                self._cache,
                segment,
                offset=offset,
                offset_limit=limit,
                size_bytes_max=size_bytes_max,
                at_least_one=at_least_one,
                end_offset=chain.end_of(number),
                begin=begin,
                end=end,
            )
            begin, end = 0, None
            try:
                cut = await self._offload.run(cold.run)
            except LogCorrupt:
                if layout != chain.layout:
                    raise SegmentsChanged from None
                raise
            finally:
                cold.end(is_current=layout == chain.layout)
            if layout != chain.layout:
                raise SegmentsChanged
            if cut is not None:
                break
        return _slice_of(cut, offset)

    async def search(
        self, find: Callable[[TimestampSearch], TimestampOffset | None], log_start_offset: int
    ) -> TimestampOffset | None:
        """Look for a timestamp in the records from `log_start_offset` on. Raises `SegmentsChanged`."""
        layout = self._chain.layout
        search = TimestampSearch(self._chain.segments, log_start_offset)
        try:
            found = await self._offload.run(partial(find, search))
        except FileNotFoundError:
            if layout == self._chain.layout:
                raise
            raise SegmentsChanged from None
        if layout != self._chain.layout:
            raise SegmentsChanged
        return found

    def aborted_transactions(self, begin: int, end: int) -> list[AbortedTransaction]:
        """Transactions with records in [begin, end) that were aborted. May wait for a small file."""
        aborted: list[AbortedTransaction] = []
        for segment in self._chain.segments[self._chain.number_of(begin) :]:
            found, is_complete = segment.indexes().transactions.overlapping(begin, end)
            aborted += found
            if is_complete:
                break
        return aborted


def _slice_of(cut: Cut | None, offset: int) -> LogSlice:
    return LogSlice(b"", offset) if cut is None else LogSlice(cut.data, cut.next_offset)
