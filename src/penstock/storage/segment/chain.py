"""The segments of one log as one sequence of batches: where to write, when to roll, which segments to drop.

Handles files and offsets; the log handles producers, epochs and durability. Only the event loop calls it.
"""

import contextlib
import logging
import os
import zlib
from bisect import bisect_right
from collections.abc import Callable, Sequence

from penstock.config.topic import LONG_MAX, TopicConfig
from penstock.storage.damage.confirmed_scan import find_cut, sound_batches
from penstock.storage.directory.metadata_files import PARTITION_METADATA
from penstock.storage.errors import LogError, StorageError, StorageFailure
from penstock.storage.file_cache import FileCache, Handle
from penstock.storage.files import Buffer
from penstock.storage.segment.offset_index import RELATIVE_OFFSET_MAX
from penstock.storage.segment.segment import LOG, Segment
from penstock.storage.segment.tail import Tail
from penstock.storage.storable_batch import StorableBatch

GROW_BYTES = 1 << 20
"""The bytes by which an active file is grown ahead of its writes, so that most syncs need not journal a new size."""
GROW_FOR_APPENDS_BELOW_BYTES = 16_384
"""Larger appends allocate blocks with every sync anyway, and gain nothing."""
JOINED_BYTES_MAX = 64 << 10
"""Batches up to this total size are copied into one buffer: the system call and the journal are slower with many."""

_log = logging.getLogger(__name__)

Discard = Callable[[Sequence[str]], None]


class SegmentChain:
    __slots__ = (
        "_cache",
        "_config",
        "_discard",
        "_grow_by_bytes",
        "_rolled_at_ms",
        "active",
        "counted_batches",
        "counted_bytes",
        "directory",
        "end_offset",
        "is_new",
        "layout",
        "names_unsynced",
        "segments",
        "tail",
        "unsynced",
    )

    def __init__(
        self,
        directory: str,
        config: TopicConfig,
        cache: FileCache,
        segments: list[Segment],
        *,
        end_offset: int,
        discard: Discard,
    ) -> None:
        """`discard` gets the files of dropped segments, already renamed, and removes them later."""
        self.directory = directory
        self._cache = cache
        self._discard = discard
        self.segments = segments
        """Ascending and never empty; the last is active."""
        self.active = segments[-1]
        self.end_offset = end_offset
        self.counted_bytes = 0
        self.counted_batches = 0
        self.unsynced: list[Segment] = []
        """Segments written to since they were last taken for a sync."""
        self.names_unsynced = False
        """Whether files were created since the directory was last taken for a sync."""
        self.is_new = False
        """Whether even the directory was created, and `names_unsynced` is set with it."""
        self._rolled_at_ms = -1
        self.tail: Tail | None = None
        """The positions of the newest batches of the active segment, once this process has written any."""
        self.layout = 0
        """Changes when segments are dropped or replaced: a read that was planned before is planned again."""
        self.configure(config)

    def configure(self, config: TopicConfig) -> None:
        self._config = config
        if config.preallocate:
            self._grow_by_bytes = config.segment_bytes
        else:
            self._grow_by_bytes = GROW_BYTES if config.flush_messages == 1 else 0

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)

    def number_of(self, offset: int) -> int:
        """Number of the segment that contains `offset`, or would: 0 for anything below the first."""
        return max(0, bisect_right(self.segments, offset, key=_base_offset) - 1)

    # -- writing --------------------------------------------------------------------------------------

    def write(self, batches: list[StorableBatch], now_ms: int) -> Sequence[Buffer]:
        """Append all batches, which have their offsets, or, raising, none. Returns the written bytes."""
        if self._config.segment_records != LONG_MAX:
            return self._write_counted(batches, now_ms)
        buffers = self._write_group(batches, self.end_offset, now_ms)
        self.end_offset = batches[-1].last_offset + 1
        return buffers

    def has_room_for(self, batches: Sequence[StorableBatch], now_ms: int) -> bool:
        """Whether all of them would go to the active segment, so that a single write is enough."""
        indexes = self.active.indexes_in_memory
        if self.active.size_bytes == 0 or indexes is None or not indexes.is_ready_for_batches:
            return False
        if not indexes.has_room(self._config.segment_index_bytes, len(batches)):
            return False
        size_bytes = record_count = 0
        max_timestamp = -1
        for batch in batches:
            size_bytes += batch.size_bytes
            record_count += batch.header.last_offset_delta + 1
            if batch.max_timestamp > max_timestamp:  # noqa: PLR1730  `max` is a call for each batch
                max_timestamp = batch.max_timestamp
        return not self._must_roll(size_bytes, self.end_offset + record_count - 1, max_timestamp, now_ms)

    def _write_counted(self, batches: list[StorableBatch], now_ms: int) -> Sequence[Buffer]:
        """Write batches into as many segments as they need, where segments are limited by their number of records."""
        active, size_bytes = self.active, self.active.size_bytes
        record_count_max = self._config.segment_records
        room = record_count_max - (self.end_offset - active.base_offset)
        next_offset = self.end_offset
        buffers: list[Buffer] = []
        try:
            for group in split_by_record_count(batches, room, record_count_max):
                buffers += self._write_group(group, next_offset, now_ms)
                next_offset = group[-1].last_offset + 1
        except StorageFailure:
            raise
        except LogError:
            if next_offset != self.end_offset:
                self._take_back(active, size_bytes)
            raise
        self.end_offset = next_offset
        return buffers

    def _write_group(self, batches: list[StorableBatch], next_offset: int, now_ms: int) -> Sequence[Buffer]:
        """Write batches into one segment, a new one if needed, with a single write."""
        indexes = self.active.indexes_in_memory
        if indexes is None or not indexes.is_ready_for_batches:
            self._make_writable(next_offset)
        last = batches[-1]
        last_offset = last.last_offset
        if len(batches) == 1:
            buffers: Sequence[Buffer] = (last.data,)
            size_bytes, max_timestamp = last.size_bytes, last.max_timestamp
        else:  # lists, because a generator is called for each element
            buffers = [batch.data for batch in batches]
            size_bytes = sum([batch.size_bytes for batch in batches])
            max_timestamp = max([batch.max_timestamp for batch in batches])
            if size_bytes <= JOINED_BYTES_MAX:
                buffers = (b"".join(buffers),)
        if self._must_roll(size_bytes, last_offset, max_timestamp, now_ms):
            is_near = last_offset - next_offset <= RELATIVE_OFFSET_MAX
            self._roll(next_offset if is_near else batches[0].base_offset, now_ms)
        segment = self.active
        tail = self.tail
        if tail is None:
            tail = self.tail = Tail(next_offset, segment.size_bytes)
        grow_by_bytes = self._grow_by_bytes if size_bytes < GROW_FOR_APPENDS_BELOW_BYTES else 0
        position = segment.write(buffers, size_bytes, grow_by_bytes)
        segment.note_batches(position, batches)
        tail.add(batches)
        self.counted_bytes += size_bytes
        self.counted_batches += len(batches)
        if not self.unsynced or self.unsynced[-1] is not segment:
            self.unsynced.append(segment)
        return buffers

    def _make_writable(self, next_offset: int) -> None:
        """Load the state that appends need. The first append after opening a log also verifies the log's end."""
        try:
            end_offset = self.active.end_offset()
        except OSError as error:
            raise StorageError(f"cannot read {self.active.log_path}: {error.strerror}", error) from error
        if end_offset > next_offset and self._begins_at(next_offset):
            raise StorageFailure(
                f"{self.active.log_path} holds records up to offset {end_offset - 1}, but the checkpoint says that "
                f"the log ends at {next_offset}: remove {self.directory}/../.kafka_cleanshutdown and restart"
            )

    def _begins_at(self, offset: int) -> bool:
        """Whether a batch of the active segment begins at `offset`. If none does, a later one has a corrupt offset."""
        read, base_offset = self.active.file().read, self.active.base_offset
        return any(
            batch.header.base_offset == offset
            for batch in sound_batches(read, 0, self.active.size_bytes, base_offset)
        )

    def _must_roll(self, size_bytes: int, last_offset: int, max_timestamp: int, now_ms: int) -> bool:
        """Whether these records go to a new segment: by bytes, count, age, or because an index is full."""
        segment, config = self.active, self._config
        if segment.size_bytes == 0:
            return last_offset - segment.base_offset > RELATIVE_OFFSET_MAX
        indexes = segment.indexes_in_memory
        assert indexes is not None
        if (
            segment.size_bytes + size_bytes > config.segment_bytes
            or last_offset - segment.base_offset >= config.segment_records
            or last_offset - segment.base_offset > RELATIVE_OFFSET_MAX
            or not indexes.has_room(config.segment_index_bytes)
        ):
            return True
        # By the records' own time, so that copying old records rolls as writing them did (KIP-32).
        if indexes.first_timestamp >= 0:
            age_ms = max_timestamp - indexes.first_timestamp
        else:
            age_ms = now_ms - self._rolled_at_ms if self._rolled_at_ms >= 0 else 0
        limit_ms = config.segment_ms
        return age_ms > (limit_ms if config.segment_jitter_ms == 0 else limit_ms - self._jitter_ms())

    def _jitter_ms(self) -> int:
        """Differs from segment to segment, so that not all partitions roll at once."""
        limit_ms = min(self._config.segment_jitter_ms, self._config.segment_ms)
        return zlib.crc32(self.active.log_path.encode()) % (limit_ms + 1)

    def roll(self, now_ms: int) -> bool:
        """Seal the active segment and begin another; nothing to do while the active one is empty."""
        if self.active.size_bytes == 0:
            return False
        self._roll(self.end_offset, now_ms)
        return True

    def _roll(self, base_offset: int, now_ms: int) -> None:
        sealed = self.active
        try:
            self._trim(sealed)
            segment = Segment.create(
                self._cache, self.directory, base_offset, self._config.index_interval_bytes
            )
        except OSError as error:
            self._remove_empty(base_offset)
            raise StorageError(
                f"cannot begin segment {base_offset} in {self.directory}: {error.strerror}; nothing was stored",
                error,
            ) from error
        sealed.seal()
        self.segments.append(segment)
        self.active = segment
        self.names_unsynced = True
        self._rolled_at_ms = now_ms
        self.tail = Tail(base_offset, 0)

    def _trim(self, segment: Segment) -> None:
        """Cut a file to its size, which the next sync makes durable: a checkpoint vouches for it."""
        segment.trim()
        if segment.has_unsynced_size:
            self.note_unsynced(segment)

    def _remove_empty(self, base_offset: int) -> None:
        """An empty file with a base offset inside another segment would hide that segment's records."""
        path = f"{self.directory}/{base_offset:020d}{LOG}"
        if path != self.active.log_path:
            self._cache.forget(path)
            with contextlib.suppress(OSError):
                self._cache.files.remove(path)

    def _take_back(self, active: Segment, size_bytes: int) -> None:
        """Undo the groups already written, when a later one of the same append could not be."""
        offset = self.end_offset
        while self.segments[-1] is not active:
            self._drop(self.segments.pop())
        self.active = active
        self.tail = None
        self.unsynced = [segment for segment in self.unsynced if segment in self.segments]
        if active.size_bytes != size_bytes:
            active.cut_file(size_bytes)
            active.truncate_to(offset, size_bytes)

    def end_of(self, number: int) -> int:
        """The offset at which this segment ends."""
        return self.segments[number + 1].base_offset if number + 1 < len(self.segments) else self.end_offset

    # -- dropping -------------------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> int:
        """Drop every batch that reaches `offset` or beyond. Returns the new end offset. Waits for the disk.

        A batch is dropped whole, so that the log may end below `offset`. All of it is durable before it returns:
        otherwise a crash could bring dropped records back after new ones. Raises `StorageFailure`.
        """
        if offset >= self.end_offset:
            return self.end_offset
        self.layout += 1
        number = self.number_of(offset)
        segment = self.segments[number]
        found = find_cut(
            segment.file().read,
            segment.indexes().offsets.position_before(offset),
            segment.size_bytes,
            segment.base_offset,
            offset,
        )
        end_offset = offset if found is None else min(offset, found[1])
        for dropped in reversed(self.segments[number + 1 :]):
            self._drop(dropped)
        del self.segments[number + 1 :]
        self.active = segment
        self.end_offset = end_offset
        self.tail = None
        self.unsynced = [s for s in self.unsynced if s in self.segments]
        try:
            self._cache.files.sync_dir(self.directory)
            if found is not None:
                segment.truncate_to(end_offset, found[0])
                segment.file().sync()
        except OSError as error:
            raise StorageFailure(
                f"{self.directory} could not be truncated to offset {offset} ({error.strerror}): check the disk, "
                "then restart the broker"
            ) from error
        return end_offset

    def overwrite(self, segment: Segment, data: Buffer, position: int) -> None:
        """Overwrite damaged bytes; the next sync makes the new ones durable. Raises `OSError`."""
        segment.file().write((data,), position)
        self.note_unsynced(segment)

    def complete(self, segment: Segment, data: Buffer, position: int) -> None:
        """Write the batches that are missing at the end of a segment, from `position` on. Raises `StorageError`.

        The next sync makes them durable. The caller rebuilds the indexes.
        """
        segment.shrink_to(position)
        segment.write((data,), len(data), 0)
        segment.shrink_to(position + len(data))
        segment.trim()
        self.note_unsynced(segment)

    def note_unsynced(self, segment: Segment) -> None:
        """Include this segment in the next sync."""
        if segment not in self.unsynced:
            self.unsynced.append(segment)

    def count_anew(self) -> None:
        """Restart the count of written bytes and batches."""
        self.counted_bytes = self.counted_batches = 0

    def take_unsynced(self, *, opens_files: bool = True) -> tuple[list[Handle], list[str]]:
        """The files and directories to sync for everything written since the last call. Raises `OSError`.

        The files are pinned. When one cannot be opened, nothing is taken. `opens_files` is off when the whole file
        system is synced.
        """
        paths = [segment.log_path for segment in self.unsynced]
        directories = [self.directory] if self.names_unsynced else []
        if self.is_new:
            # The topic id must be as durable as the records: it distinguishes a new topic's log from an old one's.
            paths.append(f"{self.directory}/{PARTITION_METADATA}")
            directories.append(os.path.dirname(self.directory))
        handles = self._cache.pin_all(paths) if opens_files else []
        if self.is_new and opens_files:
            self._cache.forget(paths[-1])
        for segment in self.unsynced:
            segment.has_unsynced_size = False
        self.unsynced = []
        self.names_unsynced = self.is_new = False
        return handles, directories

    def restart_at(self, offset: int) -> None:
        """Drop everything and begin an empty segment at `offset`. Waits for the disk. Raises `StorageFailure`.

        Durable before it returns: otherwise a crash could bring dropped records back after a start that was saved.
        """
        self.layout += 1
        for dropped in reversed(self.segments):
            self._drop(dropped)
        try:
            segment = Segment.create(self._cache, self.directory, offset, self._config.index_interval_bytes)
            self._cache.files.sync_dir(self.directory)
        except OSError as error:
            raise StorageFailure(
                f"{self.directory} could not begin anew at offset {offset} ({error.strerror}): check the disk, then "
                "restart the broker"
            ) from error
        self.segments[:] = [segment]
        self.active = segment
        self.end_offset = offset
        self.names_unsynced = True
        self.unsynced = []
        self.tail = None

    def delete_oldest(self, count: int) -> None:
        """Delete the `count` oldest segments, never the active one."""
        if count <= 0:
            return
        self.layout += 1
        deleted = self.segments[:count]
        assert self.active not in deleted, "the active segment is never deleted"
        del self.segments[:count]
        self.unsynced = [segment for segment in self.unsynced if segment not in deleted]
        for segment in deleted:
            self._drop(segment)

    def replace(self, base_offset: int, size_bytes: int, replaced: Sequence[int]) -> None:
        """Replace the segments with the base offsets `replaced` with one segment, whose files are in place."""
        first = self.number_of(replaced[0])
        old = self.segments[first : first + len(replaced)]
        assert [segment.base_offset for segment in old] == list(replaced), "they are neighbours"
        assert self.active not in old, "the active segment is never replaced"
        self.layout += 1
        for segment in old:
            segment.forget()
        self.segments[first : first + len(old)] = [
            Segment(self._cache, self.directory, base_offset, size_bytes, self._config.index_interval_bytes)
        ]

    def _drop(self, segment: Segment) -> None:
        """Rename first, so that a crash before the removal cannot bring part of the segment back."""
        try:
            self._discard(segment.rename_as_deleted())
        except OSError as error:
            _log.warning("Cannot delete %s (%s): remove it by hand", segment.log_path, error.strerror)

    def release(self) -> None:
        """Hold no open file and no index."""
        for segment in self.segments:
            segment.release()
        self.tail = None

    def seal(self) -> None:
        """Leave the files as expected by a reader that knows nothing but their sizes."""
        for segment in self.segments:
            self._trim(segment)
            segment.seal()

    def close(self) -> None:
        self.layout += 1
        for segment in self.segments:
            segment.forget()


def _base_offset(segment: Segment) -> int:
    return segment.base_offset


def split_by_record_count(
    batches: list[StorableBatch], record_count_first: int, record_count_max: int
) -> list[list[StorableBatch]]:
    """Groups that fit a segment by their number of records: `record_count_first` for the first group, which may
    be empty when not even one batch fits. A single batch that is too large forms its own group.
    """
    groups: list[list[StorableBatch]] = [[]]
    room = record_count_first
    for batch in batches:
        count = batch.header.last_offset_delta + 1
        if count > room and (groups[-1] or len(groups) == 1):
            groups.append([])
            room = record_count_max
        groups[-1].append(batch)
        room -= count
    return [group for group in groups if group]
