"""A read that may have to wait for the disk: planned on the loop, run on a thread, ended on the loop."""

from penstock.storage.errors import LogCorrupt
from penstock.storage.file_cache import FileCache, Handle
from penstock.storage.segment.indexes import SegmentIndexes, load_indexes, read_waiting, rebuild_indexes
from penstock.storage.segment.read import Cut, IndexInDoubt, cut_batches, sound
from penstock.storage.segment.segment import Segment


class ColdRead:
    """Reads from one segment as it was when the read was planned."""

    __slots__ = (
        "_at_least_one",
        "_begin",
        "_cache",
        "_end",
        "_end_offset",
        "_handle",
        "_indexes",
        "_offset",
        "_offset_limit",
        "_rebuilt",
        "_segment",
        "_size_bytes",
        "_size_bytes_max",
        "_source",
    )

    def __init__(
        self,
        cache: FileCache,
        segment: Segment,
        *,
        offset: int,
        offset_limit: int,
        size_bytes_max: int,
        at_least_one: bool,
        end_offset: int,
        begin: int,
        end: int | None,
    ) -> None:
        """`end_offset` and `begin` as in `cut_batches`; nothing at or after `end` is read."""
        self._cache = cache
        self._segment = segment
        self._handle: Handle = cache.pin(segment.log_path)
        self._source = segment.index_source()
        self._size_bytes = segment.size_bytes
        self._indexes: SegmentIndexes | None = segment.indexes_in_memory
        self._rebuilt = False
        self._offset = offset
        self._offset_limit = offset_limit
        self._size_bytes_max = size_bytes_max
        self._at_least_one = at_least_one
        self._end_offset = end_offset
        self._begin = begin
        self._end = end

    def run(self) -> Cut | None:
        """Waits for the disk: call it on a thread."""
        if self._indexes is None:
            self._indexes = load_indexes(self._source, read_waiting)
        if self._indexes is None:
            self._rebuild()
        try:
            cut = self._cut()
        except IndexInDoubt:
            self._rebuild()
            try:
                cut = self._cut()
            except IndexInDoubt:
                raise LogCorrupt(
                    f"{self._handle.path} is damaged: run `penstock log verify` on the partition"
                ) from None
        return None if cut is None else sound(cut)  # data from the disk may be corrupt

    def end(self, *, is_current: bool) -> None:
        """Release the borrowed resources; on the loop, whether the read succeeded or not.

        `is_current`: the segment was not truncated meanwhile, so that the indexes found may be kept.
        """
        self._cache.unpin(self._handle)
        if self._indexes is not None and is_current:
            is_unchanged = self._segment.size_bytes == self._size_bytes
            self._segment.install_indexes(self._indexes, replace=self._rebuilt and is_unchanged)

    def _rebuild(self) -> None:
        self._indexes = rebuild_indexes(self._source, self._handle.file.read)
        self._rebuilt = True

    def _cut(self) -> Cut | None:
        assert self._indexes is not None
        return cut_batches(
            self._handle.file.read,
            self._indexes.offsets,
            self._size_bytes if self._end is None else self._end,
            offset=self._offset,
            offset_limit=self._offset_limit,
            size_bytes_max=self._size_bytes_max,
            at_least_one=self._at_least_one,
            end_offset=self._end_offset,
            begin=self._begin,
        )
