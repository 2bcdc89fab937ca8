"""One segment of a log: a sequence of record batches in a file, and the indexes for lookups in it.

Files, all named after the offset of the first record, in 20 digits:

    <base>.log        record batches of magic 2, back to back, exactly as they came over the wire
    <base>.index      see `offset_index`
    <base>.timeindex  see `time_index`
    <base>.txnindex   see `transaction_index`; only when a transaction was aborted

`size_bytes` counts the batches. The file may be longer while it is written to: it is grown ahead of the writes,
so that most syncs need not journal a new size; the zeros after `size_bytes` are cut when the segment is sealed,
and by recovery after a crash. Index entries stay in memory and are saved when the segment is sealed, at
checkpoints and when it falls idle: entries lost in a crash are rebuilt from the recovery point on.
"""

import contextlib
import logging
from collections.abc import Sequence

from penstock.storage.errors import StorageError, StorageFailure
from penstock.storage.file_cache import FileCache, Handle
from penstock.storage.files import Buffer, File
from penstock.storage.segment.indexes import (
    INDEX,
    INDEX_SUFFIXES,
    IndexSource,
    SegmentIndexes,
    last_time_entry,
    load_indexes,
    read_at_once,
    read_waiting,
    rebuild_indexes,
)
from penstock.storage.segment.transaction_index import AbortedTransaction
from penstock.storage.storable_batch import StorableBatch

LOG = ".log"
SUFFIXES = (LOG, *INDEX_SUFFIXES)
DELETED = ".deleted"

_REWRITE_BYTES = 1 << 20
_REBUILD_WORTH_A_WARNING_BYTES = 1 << 16

_log = logging.getLogger(__name__)


def is_segment(name: str) -> bool:
    """Whether a file of this name in the directory of a log holds its records."""
    return name.endswith(LOG) and name[: -len(LOG)].isdecimal()


class Segment:
    """Only the event loop calls it. An idle segment holds neither an open file nor an index."""

    __slots__ = (
        "_cache",
        "_file_size_bytes",
        "_handle",
        "_index_interval_bytes",
        "_max_timestamp",
        "base_offset",
        "has_unsynced_size",
        "indexes_in_memory",
        "log_path",
        "size_bytes",
    )

    def __init__(
        self,
        cache: FileCache,
        directory: str,
        base_offset: int,
        size_bytes: int,
        index_interval_bytes: int,
    ) -> None:
        """A segment whose file exists and holds `size_bytes` of batches."""
        self._cache = cache
        self._handle: Handle | None = None
        self.base_offset = base_offset
        self.log_path = f"{directory}/{base_offset:020d}{LOG}"
        self.size_bytes = size_bytes
        self.has_unsynced_size = False
        """Whether the file's length was set since it was last taken for a sync."""
        self._file_size_bytes = size_bytes
        self._index_interval_bytes = index_interval_bytes
        self.indexes_in_memory: SegmentIndexes | None = None
        self._max_timestamp: int | None = None  # remembered when the indexes are released

    @classmethod
    def create(
        cls, cache: FileCache, directory: str, base_offset: int, index_interval_bytes: int
    ) -> "Segment":
        """Create an empty segment, ready for appends. Durable only after a sync of the directory."""
        segment = cls(cache, directory, base_offset, 0, index_interval_bytes)
        file = cache.file(segment.log_path, create=True)
        if file.size() > 0:  # left over from an interrupted roll
            file.truncate(0)
        segment.indexes_in_memory = SegmentIndexes.empty(base_offset, index_interval_bytes)
        return segment

    def __repr__(self) -> str:
        return f"Segment({self.log_path}, {self.size_bytes} bytes)"

    def path(self, suffix: str) -> str:
        return self.log_path[: -len(LOG)] + suffix

    def file(self) -> File:
        """The open log file; valid until the next call into the file cache."""
        handle = self._handle
        if handle is None or handle.is_forgotten:
            handle = self._handle = self._cache.handle(self.log_path)
        handle.is_recent = True
        return handle.file

    # -- writing --------------------------------------------------------------------------------------

    def write(self, buffers: Sequence[Buffer], size_bytes: int, grow_by_bytes: int) -> int:
        """Write batches of `size_bytes` in total after the last ones. Returns their position. Then call `note_batches`.

        Raises `StorageError` when the disk refuses and nothing of the write remains, `StorageFailure` when even that
        cannot be ensured.
        """
        position = self.size_bytes
        end = position + size_bytes
        try:
            file = self.file()
        except OSError as error:
            raise StorageError(
                f"cannot open {self.log_path}: {error.strerror}; nothing was stored", error
            ) from error
        if end > self._file_size_bytes and grow_by_bytes:
            self._grow(file, end + grow_by_bytes)
        try:
            file.write(buffers, position)
        except OSError as error:
            self.cut_file(position)
            raise StorageError(
                f"cannot append {size_bytes} bytes to {self.log_path}: {error.strerror}; nothing was stored",
                error,
            ) from error
        self._file_size_bytes = max(self._file_size_bytes, end)
        return position

    def note_batches(self, position: int, batches: Sequence[StorableBatch]) -> None:
        """Count in batches that are now at `position`. Only after `writable_indexes`."""
        assert self.indexes_in_memory is not None
        self.size_bytes = self.indexes_in_memory.note_batches(position, batches)

    def note_batch(self, position: int, size_bytes: int, last_offset: int, max_timestamp: int) -> None:
        """Like `note_batches`, for one batch that recovery has found."""
        assert self.indexes_in_memory is not None
        self.indexes_in_memory.note_batch(position, size_bytes, last_offset, max_timestamp)
        self.size_bytes = position + size_bytes

    def note_aborted(self, transaction: AbortedTransaction) -> None:
        self.indexes().transactions.add(transaction)

    def writable_indexes(self) -> SegmentIndexes:
        """The indexes, ready for more batches. May wait for the disk the first time."""
        indexes = self.indexes()
        if not indexes.is_ready_for_batches:
            indexes.catch_up(self.file().read, self.base_offset, self.size_bytes)
        return indexes

    def end_offset(self) -> int:
        """The offset after the last batch, from the file. May wait for the disk."""
        return self.indexes().catch_up(self.file().read, self.base_offset, self.size_bytes)

    def _grow(self, file: File, size_bytes: int) -> None:
        """Enlarge the file ahead of writes. Only an optimisation: the write itself reports any error."""
        with contextlib.suppress(OSError):
            file.truncate(size_bytes)
            self._file_size_bytes = size_bytes
            self.has_unsynced_size = True

    def cut_file(self, size_bytes: int) -> None:
        """Truncate the bytes after `size_bytes`: batches of a refused append must not reappear later."""
        self.has_unsynced_size = True
        try:
            self.file().truncate(size_bytes)
        except OSError as error:
            raise StorageFailure(
                f"a write to {self.log_path} failed and cannot be taken back ({error.strerror}): "
                "check the disk, then restart the broker"
            ) from error
        self._file_size_bytes = size_bytes

    def trim(self) -> None:
        """Cut the zeros that the file was grown by."""
        if self._file_size_bytes > self.size_bytes:
            self.has_unsynced_size = True
            self.file().truncate(self.size_bytes)
            self._file_size_bytes = self.size_bytes

    def shrink_to(self, size_bytes: int) -> None:
        """Count only this many bytes as batches, until `note_batch` adds more; `trim` then cuts the rest."""
        self.size_bytes = size_bytes

    def rewrite_from(self, position: int) -> None:
        """Rewrite the batches from `position` on, with the content of the page cache. Waits for the disk.

        After a failed sync the kernel treats its pages as clean, though the disk does not have them: only rewritten
        bytes are certain to be there after the next sync.
        """
        file = self.file()
        self.has_unsynced_size = True
        file.truncate(self.size_bytes)
        self._file_size_bytes = self.size_bytes
        while position < self.size_bytes:
            data = file.read(min(_REWRITE_BYTES, self.size_bytes - position), position)
            file.write((data,), position)
            position += len(data)

    def seal(self) -> None:
        """No more appends for now: complete the time index and save the indexes."""
        if self.indexes_in_memory is not None:
            self.indexes_in_memory.close_times()
            self.save_indexes()
            self._make_index_file()

    def _make_index_file(self) -> None:
        """Kafka takes a segment without an offset index for damaged, and reads all of it."""
        files = self._cache.files
        if not files.exists(self.path(INDEX)):
            with contextlib.suppress(OSError):
                files.open(self.path(INDEX), create=True).close()

    def truncate_to(self, offset: int, position: int) -> None:
        """Drop the batches from `position` on, of which the first has `offset` or more."""
        indexes = self.indexes()
        self.file().truncate(position)
        self.size_bytes = self._file_size_bytes = position
        indexes.truncate_to(offset)
        self._max_timestamp = None

    # -- looking things up ----------------------------------------------------------------------------

    def indexes(self) -> SegmentIndexes:
        """Loads the indexes, and rebuilds them when they are missing or damaged. May wait for the disk."""
        if self.indexes_in_memory is None:
            self.indexes_in_memory = load_indexes(self.index_source(), read_waiting) or self.rebuilt_indexes()
        return self.indexes_in_memory

    def indexes_if_cached(self) -> SegmentIndexes | None:
        """The indexes if they are available without waiting."""
        if self.indexes_in_memory is None:
            self.indexes_in_memory = load_indexes(self.index_source(), read_at_once)
        return self.indexes_in_memory

    def install_indexes(self, indexes: SegmentIndexes, *, replace: bool = False) -> None:
        """Install indexes that a thread has loaded, unless others are there already; `replace` suspect ones."""
        if self.indexes_in_memory is None:
            self.indexes_in_memory = indexes
        elif replace:
            indexes.transactions = (
                self.indexes_in_memory.transactions
            )  # never suspect, and maybe not all saved
            self.indexes_in_memory = indexes

    def reset_indexes(self, indexes: SegmentIndexes) -> None:
        """Install these indexes, and keep nothing of any that were loaded before."""
        self.indexes_in_memory = indexes
        self._max_timestamp = None

    def rebuilt_indexes(self) -> SegmentIndexes:
        """Indexes rebuilt from the batches. Waits for the disk. Changes nothing.

        A segment of one large batch has no entries, so that there are no files, and nothing was lost.
        """
        indexes = rebuild_indexes(self.index_source(), self.file().read)
        if len(indexes.offsets) and self.size_bytes > _REBUILD_WORTH_A_WARNING_BYTES:
            _log.warning("Rebuilt the indexes of %s from its %d bytes", self.log_path, self.size_bytes)
        return indexes

    def max_timestamp(self) -> int:
        """The greatest timestamp of any record, -1 when there is none. May wait for the disk."""
        if self.indexes_in_memory is not None and self.indexes_in_memory.is_ready_for_batches:
            return self.indexes_in_memory.max_timestamp
        if self._max_timestamp is None:
            entry = last_time_entry(self._cache.files, self.path(""), self.base_offset)
            self._max_timestamp = entry.last_timestamp
            if self._max_timestamp < 0 and self.size_bytes:
                self._max_timestamp = self.writable_indexes().max_timestamp
        return self._max_timestamp

    @property
    def known_max_timestamp(self) -> int | None:
        """The greatest timestamp, if it is known without reading."""
        if self.indexes_in_memory is not None and self.indexes_in_memory.is_ready_for_batches:
            return self.indexes_in_memory.max_timestamp
        return self._max_timestamp if self.size_bytes else -1

    def index_source(self) -> IndexSource:
        """The facts of this segment that `load_indexes` and `rebuild_indexes` need."""
        return IndexSource(
            self._cache.files,
            self.path(""),
            self.base_offset,
            self.size_bytes,
            self._index_interval_bytes,
        )

    # -- saving memory and open files -----------------------------------------------------------------

    def save_indexes(self) -> list[str]:
        """Write the index entries that are only in memory. Returns the written files, which are not synced yet."""
        return (
            []
            if self.indexes_in_memory is None
            else self.indexes_in_memory.save(self._cache.files, self.path(""))
        )

    def index_files_to_sync(self) -> list[str] | None:
        """Save the indexes. Returns the files that hold them, None when they could not be saved."""
        self.save_indexes()
        if self.indexes_in_memory is not None and not self.indexes_in_memory.is_saved:
            return None
        paths = [self.path(suffix) for suffix in INDEX_SUFFIXES]
        return [path for path in paths if self._cache.files.exists(path)]

    def release(self) -> None:
        """Hold neither an open file nor indexes, until the segment is used again."""
        self._close_file()
        if self.indexes_in_memory is not None:
            self.seal()
            if self.indexes_in_memory.is_saved:
                if self.indexes_in_memory.is_ready_for_batches:
                    self._max_timestamp = self.indexes_in_memory.max_timestamp
                self.indexes_in_memory = None

    def _close_file(self) -> None:
        self._cache.forget(self.log_path)
        self._handle = None

    def forget(self) -> None:
        """Release the open file and the indexes, saved or not."""
        self._close_file()
        self.indexes_in_memory = None

    def rename_as_deleted(self) -> list[str]:
        """Rename the files as deleted. Returns their new names, to be removed."""
        self._close_file()
        files = self._cache.files
        renamed = []
        for suffix in SUFFIXES:
            path = self.path(suffix)
            with contextlib.suppress(FileNotFoundError):
                files.rename(path, path + DELETED)
                renamed.append(path + DELETED)
        return renamed
