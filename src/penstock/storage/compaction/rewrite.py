"""The main work of compaction: reads sealed segments, writes compacted ones next to them. Runs in a worker process.

It touches no file that a log uses. For each group of segments it writes `<base>.log.cleaned` with its indexes,
syncs them, and reports which segments they replace; `compaction.swap` then swaps them in. A leftover `.cleaned` file is
useless and is removed when the log is opened.

The pass over a log reads its dirty part twice (once for the keys) and its clean part once, and holds one chunk
of a segment and the key map in memory.
"""

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

import msgspec

from penstock.protocol.records.batch import BatchHeader, Buffer
from penstock.protocol.records.errors import CorruptRecords
from penstock.storage.batch_scan import BatchScan
from penstock.storage.compaction.choice import group_segments
from penstock.storage.compaction.filter import BatchFilter, LastRecord, fill_keys, marker_kind
from penstock.storage.compaction.keys import KeyOffsets
from penstock.storage.compaction.swap import CLEANED, SUFFIXES
from penstock.storage.compaction.transactions import CleanedTransactions
from penstock.storage.files import File, FileSystem, read_whole
from penstock.storage.retention import SegmentFacts
from penstock.storage.segment.offset_index import OffsetIndex
from penstock.storage.segment.time_index import NO_TIMESTAMP, TimeIndex
from penstock.storage.segment.transaction_index import AbortedTransaction, TransactionIndex

_WRITE_BYTES: Final = 1 << 20

Spend = Callable[[int], None]
"""Called with the number of bytes read or written; may sleep."""


def _at_once(_size_bytes: int) -> None:
    pass


class CompactionJob(msgspec.Struct, frozen=True, kw_only=True):
    """One pass over one log. `segments` are all sealed ones below the first uncleanable offset, oldest first."""

    directory: str
    segments: tuple[SegmentFacts, ...]
    first_dirty_offset: int
    first_uncleanable_offset: int
    now_ms: int
    delete_retention_ms: int
    segment_bytes_max: int
    index_bytes_max: int
    index_interval_bytes: int
    dedupe_buffer_bytes: int
    aborted: tuple[AbortedTransaction, ...] = ()
    """Aborted transactions that are not in the index files of these segments."""
    last_records: dict[int, LastRecord] = {}


class CleanedSegment(msgspec.Struct, frozen=True, kw_only=True):
    """A compacted segment on disk under its `.cleaned` names, and the base offsets of the segments that it replaces."""

    base_offset: int
    size_bytes: int
    replaces: tuple[int, ...]


class CompactionResult(msgspec.Struct, frozen=True, kw_only=True):
    end_offset: int
    """Everything below is clean now: the next pass begins here."""
    cleaned: tuple[CleanedSegment, ...] = ()
    bytes_read: int = 0
    bytes_written: int = 0
    records_read: int = 0
    records_kept: int = 0
    keyless_count: int = 0
    key_count: int = 0


def compact(files: FileSystem, job: CompactionJob, spend: Spend = _at_once) -> CompactionResult:
    """Write the compacted segments of one log. May take minutes."""
    aborted = _aborted_transactions(files, job)
    keys = collect_keys(files, job, aborted, spend)
    end_offset = keys.latest_offset + 1
    touched = [segment for segment in job.segments if segment.base_offset < end_offset]
    groups = group_segments(
        touched,
        segment_bytes_max=job.segment_bytes_max,
        index_bytes_max=job.index_bytes_max,
        first_uncleanable_offset=job.first_uncleanable_offset,
    )
    transactions = CleanedTransactions(aborted)
    batch_filter = BatchFilter(
        keys=keys,
        transactions=transactions,
        last_records=job.last_records,
        end_offset=job.first_uncleanable_offset,
        now_ms=job.now_ms,
        delete_retention_ms=job.delete_retention_ms,
    )
    cleaned = []
    bytes_written = 0
    for group in groups:
        segment = _compact_group(files, job, group, batch_filter, transactions, spend=spend)
        if segment is not None:
            cleaned.append(segment)
            bytes_written += segment.size_bytes
    return CompactionResult(
        end_offset=end_offset,
        cleaned=tuple(cleaned),
        bytes_read=sum(segment.size_bytes for segment in touched),
        bytes_written=bytes_written,
        records_read=batch_filter.records_read,
        records_kept=batch_filter.records_kept,
        keyless_count=batch_filter.keyless_count,
        key_count=len(keys),
    )


def _aborted_transactions(files: FileSystem, job: CompactionJob) -> set[AbortedTransaction]:
    """The aborted transactions of the job, and those in its segments' index files."""
    aborted = set(job.aborted)
    for segment in job.segments:
        with contextlib.suppress(FileNotFoundError):
            content = read_whole(files, f"{job.directory}/{segment.base_offset:020d}.txnindex")
            aborted.update(TransactionIndex(content).overlapping(0, job.first_uncleanable_offset)[0])
    return aborted


def collect_keys(
    files: FileSystem,
    job: CompactionJob,
    aborted: Collection[AbortedTransaction] = (),
    spend: Spend = _at_once,
) -> KeyOffsets:
    """The latest offset of every key in the dirty part, or in as much of it as fits the buffer.

    At least one batch is taken whatever its size, so that every pass makes progress.
    """
    keys = KeyOffsets(job.dedupe_buffer_bytes)
    transactions = CleanedTransactions(aborted)
    for segment in job.segments:
        end = _end_of(job, segment)
        if end <= job.first_dirty_offset:
            continue
        for scan, header in _batches(files, job, segment, spend):
            batch = scan.batch(header)
            if header.is_control:
                transactions.can_drop_marker(header, marker_kind(batch, 0))
            elif not transactions.is_aborted_data(header) and header.last_offset >= job.first_dirty_offset:
                if keys.is_full and keys.latest_offset >= job.first_dirty_offset:
                    return keys
                fill_keys(keys, batch, 0, header, job.first_dirty_offset)
            if header.last_offset >= job.first_dirty_offset:
                keys.latest_offset = header.last_offset
        keys.latest_offset = end - 1
    return keys


def _end_of(job: CompactionJob, segment: SegmentFacts) -> int:
    """The base offset of the next segment."""
    following = job.segments.index(segment) + 1
    if following < len(job.segments):
        return job.segments[following].base_offset
    return job.first_uncleanable_offset


def _batches(
    files: FileSystem, job: CompactionJob, segment: SegmentFacts, spend: Spend
) -> Iterator[tuple[BatchScan, BatchHeader]]:
    """Offsets are checked here because no checksum covers them."""
    end = _end_of(job, segment)
    file = files.open(f"{job.directory}/{segment.base_offset:020d}.log", writable=False)

    def read(size_bytes: int, position: int) -> Buffer:
        found = file.read(size_bytes, position)
        spend(len(found))
        return found

    try:
        scan = BatchScan(read, 0, segment.size_bytes, segment.base_offset, check_crc=False)
        for _, header in scan:
            if header.last_offset >= end:
                scan.reason = f"offset {header.last_offset} belongs behind offset {end}"
                break
            yield scan, header
        if scan.reason is not None:
            raise CorruptRecords(
                f"segment {segment.base_offset} of {job.directory}, byte {scan.position}: {scan.reason}"
            )
    finally:
        file.close()


def _compact_group(
    files: FileSystem,
    job: CompactionJob,
    group: Sequence[SegmentFacts],
    batch_filter: BatchFilter,
    transactions: CleanedTransactions,
    *,
    spend: Spend,
) -> CleanedSegment | None:
    """Write one segment in place of a group; None, and no file, when nothing would change."""
    writer = _CleanedWriter(files, job.directory, group[0].base_offset, job.index_interval_bytes, spend)
    try:
        is_changed = len(group) > 1
        for segment in group:
            for scan, header in _batches(files, job, segment, spend):
                batch = scan.batch(header)
                kept = batch_filter.apply(batch, 0, header)
                is_changed = is_changed or not isinstance(kept, memoryview)
                if kept is not None:
                    writer.append(kept, header)
        kept_transactions = list(transactions.kept)
        transactions.kept.clear()
        if not is_changed:
            writer.discard()
            return None
        writer.finish(kept_transactions)
    except BaseException:
        writer.discard()
        raise
    return CleanedSegment(
        base_offset=group[0].base_offset,
        size_bytes=writer.size_bytes,
        replaces=tuple(segment.base_offset for segment in group),
    )


class _CleanedWriter:
    """Writes one `.cleaned` segment with its indexes."""

    def __init__(
        self,
        files: FileSystem,
        directory: str,
        base_offset: int,
        index_interval_bytes: int,
        spend: Spend,
    ) -> None:
        self._files = files
        self._prefix = f"{directory}/{base_offset:020d}"
        self._interval_bytes = index_interval_bytes
        self._spend = spend
        self._offsets = OffsetIndex(base_offset)
        self._times = TimeIndex(base_offset)
        self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_offset = -1
        self._bytes_since_entry = 0
        self._buffers: list[Buffer] = []
        self._buffered_bytes = 0
        self.size_bytes = 0
        self._log = self._create(".log")

    def append(self, batch: Buffer, original: BatchHeader) -> None:
        """A batch that was rebuilt keeps its last offset; its greatest timestamp may have gone down."""
        max_timestamp = int.from_bytes(batch[35:43], "big", signed=True)
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._max_timestamp_offset = original.last_offset
        if self._bytes_since_entry > self._interval_bytes:
            self._offsets.add(original.last_offset, self.size_bytes)
            self._times.add(self._max_timestamp, self._max_timestamp_offset)
            self._bytes_since_entry = 0
        self._bytes_since_entry += len(batch)
        self._buffers.append(bytes(batch))  # a view would keep the whole chunk that it was cut from
        self._buffered_bytes += len(batch)
        self.size_bytes += len(batch)
        if self._buffered_bytes >= _WRITE_BYTES or len(self._buffers) >= 512:
            self._flush()

    def finish(self, aborted: Sequence[AbortedTransaction]) -> None:
        """Complete the files and sync every one."""
        self._flush()
        self._log.sync()
        self._log.close()
        if self._max_timestamp_offset >= 0:
            self._times.add(self._max_timestamp, self._max_timestamp_offset)
        self._write(".index", self._offsets.tail_bytes(0))
        self._write(".timeindex", self._times.tail_bytes(0))
        if aborted:
            transactions = TransactionIndex()
            self._write(".txnindex", b"".join(transactions.add(entry) for entry in aborted))

    def discard(self) -> None:
        """Remove the files, as far as the disk allows."""
        self._log.close()
        with contextlib.suppress(OSError):
            for suffix in SUFFIXES:
                if self._files.exists(self._prefix + suffix + CLEANED):
                    self._files.remove(self._prefix + suffix + CLEANED)

    def _flush(self) -> None:
        if self._buffers:
            self._log.write(self._buffers, self.size_bytes - self._buffered_bytes)
            self._spend(self._buffered_bytes)
            self._buffers = []
            self._buffered_bytes = 0

    def _write(self, suffix: str, content: bytes) -> None:
        file = self._create(suffix)
        try:
            if content:
                file.write([content], 0)
            file.sync()
        finally:
            file.close()

    def _create(self, suffix: str) -> File:
        file = self._files.open(self._prefix + suffix + CLEANED, create=True)
        file.truncate(0)
        return file
