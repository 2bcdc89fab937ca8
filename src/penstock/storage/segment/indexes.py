"""The indexes of one segment while they are in memory, and how they are loaded and saved.

Index files are an optimisation: a failure to write one is logged and makes lookups slower, it never fails an append.
Suspect files are rebuilt from the segment. All functions may run on a thread, on separate indexes.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from penstock.protocol.records.batch import HEADER_SIZE, parse_header
from penstock.storage.batch_scan import BatchScan
from penstock.storage.damage.confirmed_scan import sound_batches
from penstock.storage.files import Buffer, File, FileSystem
from penstock.storage.segment.offset_index import ENTRY_SIZE as OFFSET_ENTRY_SIZE
from penstock.storage.segment.offset_index import OffsetIndex
from penstock.storage.segment.time_index import ENTRY_SIZE as TIME_ENTRY_SIZE
from penstock.storage.segment.time_index import NO_TIMESTAMP, TimeIndex
from penstock.storage.segment.transaction_index import TransactionIndex
from penstock.storage.storable_batch import StorableBatch

INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TRANSACTION_INDEX: Final = ".txnindex"
INDEX_SUFFIXES: Final = (INDEX, TIME_INDEX, TRANSACTION_INDEX)

SHORT_SEGMENT_BYTES: Final = 1 << 16

_ABSENT: Final = bytearray()
_REWRITE: Final = -1
"""Saved count of an index whose file holds outdated entries."""

_log = logging.getLogger(__name__)

AnyIndex = OffsetIndex | TimeIndex | TransactionIndex
FileRead = Callable[[File, int, int], Buffer | None]


class IndexSource(NamedTuple):
    """The source of the indexes of one segment."""

    files: FileSystem
    prefix: str
    """The path of the segment's files without their suffix."""
    base_offset: int
    size_bytes: int
    interval_bytes: int


class SegmentIndexes:
    """Offset, time and transaction index of one segment, and the state needed to add to them."""

    __slots__ = (
        "_bytes_since_entry",
        "_saved_counts",
        "first_timestamp",
        "interval_bytes",
        "is_ready_for_batches",
        "max_timestamp",
        "max_timestamp_offset",
        "offsets",
        "times",
        "transactions",
    )

    def __init__(
        self,
        offsets: OffsetIndex,
        times: TimeIndex,
        transactions: TransactionIndex,
        interval_bytes: int,
    ) -> None:
        """The given entries are in the files already."""
        self.offsets = offsets
        self.times = times
        self.transactions = transactions
        self.interval_bytes = interval_bytes
        self.first_timestamp = NO_TIMESTAMP
        """Max timestamp of the first batch, from which the age of the segment is counted."""
        self.max_timestamp = times.last_timestamp
        self.max_timestamp_offset = times.last_offset if len(times) else -1
        """Last offset of the first batch that has the max timestamp."""
        self.is_ready_for_batches = False
        self._bytes_since_entry = 0
        self._saved_counts = [len(offsets), len(times), len(transactions)]

    @classmethod
    def empty(cls, base_offset: int, interval_bytes: int) -> "SegmentIndexes":
        indexes = cls(OffsetIndex(base_offset), TimeIndex(base_offset), TransactionIndex(), interval_bytes)
        indexes.is_ready_for_batches = True
        return indexes

    def note_batches(self, position: int, batches: Sequence[StorableBatch]) -> int:
        """Count in batches, the first of which is at `position`. Returns the position after the last one."""
        for batch in batches:
            size_bytes = batch.size_bytes
            if (
                position == 0
                or batch.max_timestamp > self.max_timestamp
                or self._bytes_since_entry > self.interval_bytes
            ):
                self.note_batch(position, size_bytes, batch.last_offset, batch.max_timestamp)
            else:  # as nearly always: nothing but the size is new
                self._bytes_since_entry += size_bytes
            position += size_bytes
        return position

    def note_batch(self, position: int, size_bytes: int, last_offset: int, max_timestamp: int) -> None:
        """Count the batch at `position`, and index it when enough bytes have passed since the last entry."""
        if position == 0:
            self.first_timestamp = max_timestamp
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.max_timestamp_offset = last_offset
        if self._bytes_since_entry > self.interval_bytes:
            self.offsets.add(last_offset, position)
            self.times.add(self.max_timestamp, self.max_timestamp_offset)
            self._bytes_since_entry = 0
        self._bytes_since_entry += size_bytes

    def catch_up(self, read: Callable[[int, int], Buffer], base_offset: int, size_bytes: int) -> int:
        """Get ready for `note_batch` after loading. Returns the offset after the last valid batch of the segment."""
        position = self.offsets.last_position
        next_offset = base_offset
        for batch in sound_batches(read, position, size_bytes, base_offset):
            header = batch.header
            next_offset = header.next_offset
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp = header.max_timestamp
                self.max_timestamp_offset = header.last_offset
        if size_bytes >= HEADER_SIZE:
            self.first_timestamp = parse_header(read(HEADER_SIZE, 0)).max_timestamp
        self._bytes_since_entry = size_bytes - position
        self.is_ready_for_batches = True
        return next_offset

    def has_room(self, size_bytes_max: int, batch_count: int = 1) -> bool:
        """Whether the entries of the next batches, if any, fit into each file along with the `close_times` entries."""
        if batch_count == 1 and self._bytes_since_entry <= self.interval_bytes:
            return True
        return (
            self.offsets.size_bytes + batch_count * OFFSET_ENTRY_SIZE <= size_bytes_max
            and self.times.size_bytes + (batch_count + 1) * TIME_ENTRY_SIZE <= size_bytes_max
        )

    def close_times(self) -> None:
        """End the time index with the greatest timestamp of the segment."""
        if self.max_timestamp_offset >= 0:
            self.times.add(self.max_timestamp, self.max_timestamp_offset)

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or above `offset`; the files are rewritten at the next save."""
        for number, (_, index) in enumerate(self._all()):
            index.truncate_to(offset)
            if self._saved_counts[number] > len(index):
                self._saved_counts[number] = _REWRITE
        self.max_timestamp = self.times.last_timestamp
        self.max_timestamp_offset = self.times.last_offset if len(self.times) else -1
        self.is_ready_for_batches = False

    @property
    def is_saved(self) -> bool:
        """Whether the files hold exactly the entries in memory."""
        return self._saved_counts == [len(self.offsets), len(self.times), len(self.transactions)]

    def save(self, files: FileSystem, prefix: str) -> list[str]:
        """Write the entries that are only in memory. Returns the written files, which are not synced yet."""
        written = []
        for number, (suffix, index) in enumerate(self._all()):
            if len(index) == self._saved_counts[number]:
                continue
            path = prefix + suffix
            if not len(index) and not files.exists(path):
                self._saved_counts[number] = 0
            elif _save(files, path, index, max(0, self._saved_counts[number])):
                self._saved_counts[number] = len(index)
                written.append(path)
        return written

    def take_transactions(self, files: FileSystem, prefix: str, below_offset: int) -> None:
        """Load the saved transactions that ended below `below_offset`; the other index files are outdated."""
        self.transactions = TransactionIndex(_read(files, prefix + TRANSACTION_INDEX, read_waiting) or b"")
        count = len(self.transactions)
        self.transactions.truncate_to(below_offset)
        self._saved_counts[2] = count if len(self.transactions) == count else _REWRITE
        self.mark_for_rewrite()

    def forget_transactions(self, from_offset: int) -> None:
        """Drop the transactions that ended at or above `from_offset`: they are reported again."""
        self.transactions.truncate_to(from_offset)
        self._saved_counts[2] = _REWRITE

    def mark_for_rewrite(self) -> None:
        """The files' content is outdated, whatever it is."""
        self._saved_counts[0] = self._saved_counts[1] = _REWRITE

    def _all(self) -> tuple[tuple[str, AnyIndex], ...]:
        return ((INDEX, self.offsets), (TIME_INDEX, self.times), (TRANSACTION_INDEX, self.transactions))


def load_indexes(source: IndexSource, read: FileRead) -> SegmentIndexes | None:
    """The indexes read from their files; None when `read` would wait, or they are missing or implausible.

    A segment that is shorter than a few index intervals needs no index: without one it is walked from its start.
    """
    files, prefix, base_offset, size_bytes, interval_bytes = source
    contents = [_read(files, prefix + suffix, read) for suffix in INDEX_SUFFIXES]
    if contents[0] is None or contents[1] is None or contents[2] is None:
        return None
    if size_bytes > SHORT_SEGMENT_BYTES and (contents[0] is _ABSENT or contents[1] is _ABSENT):
        return None
    offsets = OffsetIndex(base_offset, contents[0])
    times = TimeIndex(base_offset, contents[1])
    if not (offsets.is_plausible(size_bytes) and times.is_plausible()):
        return None
    return SegmentIndexes(offsets, times, TransactionIndex(contents[2]), interval_bytes)


def rebuild_indexes(source: IndexSource, read: Callable[[int, int], Buffer]) -> SegmentIndexes:
    """Offset and time index rebuilt from the batches; the transaction index from its file."""
    files, prefix, base_offset, size_bytes, interval_bytes = source
    transactions = TransactionIndex(_read(files, prefix + TRANSACTION_INDEX, read_waiting) or b"")
    indexes = SegmentIndexes(OffsetIndex(base_offset), TimeIndex(base_offset), transactions, interval_bytes)
    for position, header in BatchScan(read, 0, size_bytes, base_offset, check_crc=False):
        indexes.note_batch(position, header.size_bytes, header.last_offset, header.max_timestamp)
    indexes.is_ready_for_batches = True
    indexes.mark_for_rewrite()
    return indexes


def last_time_entry(files: FileSystem, prefix: str, base_offset: int) -> TimeIndex:
    """The time index with only its last entry, which is all that retention needs."""

    def read_end(file: File, size_bytes: int, _position: int) -> Buffer:
        end = size_bytes // TIME_ENTRY_SIZE * TIME_ENTRY_SIZE
        return file.read(TIME_ENTRY_SIZE, max(0, end - TIME_ENTRY_SIZE))

    return TimeIndex(base_offset, _read(files, prefix + TIME_INDEX, read_end) or b"")


def read_waiting(file: File, size_bytes: int, position: int) -> Buffer:
    return file.read(size_bytes, position)


def read_at_once(file: File, size_bytes: int, position: int) -> Buffer | None:
    return file.read_cached(size_bytes, position)


def _read(files: FileSystem, path: str, read: FileRead) -> Buffer | None:
    """All of a file, `_ABSENT` when there is none, None when `read` would wait."""
    try:
        file = files.open(path, writable=False)
    except FileNotFoundError:
        return _ABSENT
    try:
        return read(file, file.size(), 0)
    finally:
        file.close()


def _save(files: FileSystem, path: str, index: AnyIndex, first: int) -> bool:
    data = index.tail_bytes(first)
    position = index.size_bytes - len(data)
    try:
        file = files.open(path, create=True)
        try:
            if file.size() != position:
                file.truncate(position)
            file.write((data,), position)
        finally:
            file.close()
    except OSError as error:
        # The file holds a prefix of the entries, which only makes readers walk further.
        _log.warning("Cannot save %s (%s): lookups in its segment are slower", path, error.strerror)
        return False
    return True
