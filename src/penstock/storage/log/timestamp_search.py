"""Finds a record by its timestamp: the search reads segments, and therefore runs on a thread.

It shares only the indexes with the log that started it, and opens the files itself.
"""

from collections.abc import Sequence

import msgspec

from penstock.protocol.records.batch import BatchHeader, Buffer
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import iter_records
from penstock.storage.batch_scan import BatchScan
from penstock.storage.errors import LogCorrupt
from penstock.storage.files import File
from penstock.storage.log.values import TimestampOffset
from penstock.storage.segment.indexes import (
    IndexSource,
    SegmentIndexes,
    last_time_entry,
    load_indexes,
    read_waiting,
    rebuild_indexes,
)
from penstock.storage.segment.segment import LOG, Segment


class SearchedSegment(msgspec.Struct):
    """A segment as it was when the search was planned."""

    source: IndexSource
    indexes: SegmentIndexes | None
    max_timestamp: int | None

    @classmethod
    def of(cls, segment: Segment) -> "SearchedSegment":
        indexes = segment.indexes_in_memory
        return cls(segment.index_source(), indexes, segment.known_max_timestamp)


class TimestampSearch:
    """Call `first_at_or_after` or `first_with_greatest` on a thread."""

    __slots__ = ("_log_start_offset", "_segments")

    def __init__(self, segments: Sequence[Segment], log_start_offset: int) -> None:
        self._segments = [SearchedSegment.of(segment) for segment in segments]
        self._log_start_offset = log_start_offset

    def first_at_or_after(self, timestamp: int) -> TimestampOffset | None:
        """The first record whose timestamp is `timestamp` or later."""
        for segment in self._segments:
            if self._max_timestamp(segment) >= timestamp:
                found = self._search(segment, timestamp)
                if found is not None:
                    return found
        return None

    def first_with_greatest(self) -> TimestampOffset | None:
        """The first record that has the greatest timestamp of all (KIP-734)."""
        found = None
        remaining = sorted(self._segments, key=self._max_timestamp, reverse=True)
        for segment in remaining:  # more than one only when the first has been deleted up to the log's start
            greatest = self._max_timestamp(segment)
            if greatest < 0 or found is not None:
                break
            found = self._search(segment, greatest)
        return found

    def _max_timestamp(self, segment: SearchedSegment) -> int:
        if segment.max_timestamp is None:
            files, prefix, base_offset, size_bytes, _ = segment.source
            segment.max_timestamp = last_time_entry(files, prefix, base_offset).last_timestamp
            if segment.max_timestamp < 0 and size_bytes:
                segment.max_timestamp = self._indexes(segment).max_timestamp
        return segment.max_timestamp

    @staticmethod
    def _indexes(segment: SearchedSegment) -> SegmentIndexes:
        if segment.indexes is None:
            segment.indexes = load_indexes(segment.source, read_waiting)
        if segment.indexes is None or (segment.max_timestamp is None and not len(segment.indexes.times)):
            file = _open(segment.source)
            try:
                segment.indexes = rebuild_indexes(segment.source, file.read)
            finally:
                file.close()
        return segment.indexes

    def _search(self, segment: SearchedSegment, timestamp: int) -> TimestampOffset | None:
        indexes = self._indexes(segment)
        offset = max(indexes.times.offset_before(timestamp), self._log_start_offset)
        position = indexes.offsets.position_before(offset)
        file = _open(segment.source)
        try:
            scan = BatchScan(
                file.read, position, segment.source.size_bytes, segment.source.base_offset, check_crc=False
            )
            for _, header in scan:
                if header.max_timestamp >= timestamp and header.last_offset >= self._log_start_offset:
                    found = self._search_batch(header, scan.batch(header), timestamp)
                    if found is not None:
                        return found
        finally:
            file.close()
        return None

    def _search_batch(self, header: BatchHeader, batch: Buffer, timestamp: int) -> TimestampOffset | None:
        try:
            for record in iter_records(batch):
                if record.timestamp >= timestamp and record.offset >= self._log_start_offset:
                    return TimestampOffset(record.timestamp, record.offset)
        except CorruptRecords as error:
            raise LogCorrupt(f"the batch at offset {header.base_offset} cannot be read: {error}") from error
        return None


def _open(source: IndexSource) -> File:
    return source.files.open(source.prefix + LOG, writable=False)
