"""The journal of a broker: a few preallocated files in which small appends to any partition become durable together.

    <data>/.journal.<slot>     see `entries`; filled with zeros once, then used again and again

A round is one write and one sync for everything that came since the last one. The records stand in the segments too,
through the page cache: those are what is read. The journal is read only after a crash, for what the segments have lost.

    spare ──> current ──> full ──> checkpointed: the segments of all it holds are synced ──> spare

When there is no spare file the journal takes nothing for the moment, and segments are synced one by one: nobody waits
for a checkpoint. Only the event loop calls it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from penstock.observability.offload import Offload
from penstock.storage.files import Buffer, File, FileSystem
from penstock.storage.journal.entries import ENTRY_BYTES, HEADER_BYTES, Kind, encode_entry, encode_header
from penstock.storage.journal.reading import PREFIX, FoundJournal, PartitionId, Piece
from penstock.storage.log_errors import StorageError, StorageFailure
from penstock.storage.log_sync import SyncJob
from penstock.storage.ring import Ended, SyncRing

_log = logging.getLogger(__name__)

_ZEROS = bytes(1 << 20)
_FIRST_PART = 64
"""The first file has this part of the journal's size: most brokers in tests write little."""
_FILES_MAX = 4
_FILE_BYTES_MIN = 4096


class JournaledLog(Protocol):
    """What the journal asks of a log whose records it holds."""

    partition_id: PartitionId
    segments_durable_offset: int
    recovery_point: int
    failure: StorageFailure | None

    @property
    def is_closed(self) -> bool: ...

    @property
    def log_end_offset(self) -> int: ...

    def begin_sync(self) -> SyncJob: ...

    def finish_sync(self, job: SyncJob, error: OSError | None = None) -> bool: ...

    def tell_durable(self) -> None: ...


class Records:
    """What one log puts into a round."""

    __slots__ = ("base_offset", "buffers", "end_offset", "leader_epoch", "log", "size_bytes")

    def __init__(  # noqa: PLR0917  names are paid for at each call
        self,
        log: JournaledLog,
        leader_epoch: int,
        base_offset: int,
        end_offset: int,
        buffers: Sequence[Buffer],
        size_bytes: int,
    ) -> None:
        self.log = log
        self.leader_epoch = leader_epoch
        self.base_offset = base_offset
        self.end_offset = end_offset
        self.buffers = buffers
        self.size_bytes = size_bytes


class _Note:
    """An entry without records, which goes into the next round."""

    __slots__ = ("base_offset", "end_offset", "kind", "partition_id")

    def __init__(self, kind: Kind, partition_id: PartitionId, base_offset: int, end_offset: int) -> None:
        self.kind = kind
        self.partition_id = partition_id
        self.base_offset = base_offset
        self.end_offset = end_offset


class _JournalFile:
    __slots__ = ("file", "logs", "number", "partitions", "path", "segments", "size_bytes")

    def __init__(self, path: str, file: File, size_bytes: int) -> None:
        self.path = path
        self.file = file
        self.size_bytes = size_bytes
        self.number = 0
        self.logs: dict[JournaledLog, int] = {}
        """Whose records it holds, and up to which offset."""
        self.segments: dict[JournaledLog, int] = {}
        """For which logs it says that their segments are durable up to an offset."""
        self.partitions: set[PartitionId] = set()
        """Found in it at the start, and not recovered yet."""


class Journal:
    def __init__(
        self,
        files: FileSystem,
        directory: str,
        offload: Offload,
        *,
        size_bytes: int,
        found: FoundJournal,
        new_nonce: Callable[[], bytes],
        ring: SyncRing | None = None,
    ) -> None:
        """Waits for the disk: makes the first file if there is none to use. Raises `OSError`."""
        self._new_nonce = new_nonce
        self._files = files
        self._directory = directory
        self._offload = offload
        self._ring = ring
        self._when_free: list[Callable[[], None]] = []
        self._size_bytes = size_bytes
        self._found = found
        self._last_number = found.last_number
        self._round = found.last_round
        self._live: deque[_JournalFile] = deque()
        """Oldest first; the last is written to."""
        self._spare: deque[_JournalFile] = deque()
        self._notes: list[_Note] = []
        self._task: asyncio.Task[bool] | None = None
        self._position = 0
        self._header_crc = 0
        self._bytes_before = found.last_bytes
        self.failure: StorageFailure | None = None
        self.is_busy = False
        """Whether a round is on its way to the disk."""
        self._take_found()
        if not self._spare:
            self._spare.append(
                _make_file(files, self._next_path(), max(size_bytes // _FIRST_PART, _FILE_BYTES_MIN))
            )
        self._begin_file()

    def _take_found(self) -> None:
        """The files from the first that a recovery needs on are kept until it is done; the others may be used."""
        needed = [piece.file_number for pieces in self._found.pieces.values() for piece in pieces]
        oldest = min(needed, default=self._last_number + 1)
        for each in sorted(self._found.files, key=lambda found: found.number):
            journal_file = _JournalFile(each.path, self._files.open(each.path), each.size_bytes)
            journal_file.number = each.number
            (self._live if each.number >= oldest else self._spare).append(journal_file)
        for key, pieces in self._found.pieces.items():
            numbers = {piece.file_number for piece in pieces}
            for journal_file in self._live:
                if journal_file.number in numbers:
                    journal_file.partitions.add(key)
        if self._live:
            # A kill may have left its last round in the page cache only; written again, because the kernel takes pages
            # for clean after a sync that failed.
            last = self._live[-1].file
            last.write((last.read(self._bytes_before, 0),), 0)
            last.sync()

    def _next_path(self) -> str:
        taken = {each.path for each in (*self._live, *self._spare)}
        number = 0
        while (path := f"{self._directory}/{PREFIX}{number}") in taken:
            number += 1
        return path

    # -- after a crash --------------------------------------------------------------------------------

    @property
    def unrecovered(self) -> list[PartitionId]:
        """The partitions that need a look after a crash, and did not have it yet."""
        return list(self._found.pieces)

    def pieces_of(self, partition_id: PartitionId) -> Sequence[Piece]:
        return self._found.pieces.get(partition_id, ())

    def recovered(self, log: JournaledLog) -> None:
        """What the journal has for this log is in its segments, though not synced."""
        for piece in self._found.pieces.pop(log.partition_id, ()):
            for each in self._live:
                if each.number == piece.file_number:
                    each.partitions.discard(log.partition_id)
                    each.logs[log] = max(each.logs.get(log, 0), piece.end_offset)

    def forget(self, partition_id: PartitionId) -> None:
        """The partition is not here any more: what was found for it means nothing."""
        self._found.pieces.pop(partition_id, None)
        for each in self._live:
            each.partitions.discard(partition_id)

    # -- rounds ---------------------------------------------------------------------------------------

    def note(self, kind: Kind, partition_id: PartitionId, base_offset: int = 0, end_offset: int = 0) -> None:
        """Put an entry without records into the next round, before its records."""
        self._notes.append(_Note(kind, partition_id, base_offset, end_offset))

    def note_segments_durable(self, log: JournaledLog) -> None:
        """What this log has is durable in its segments, as far as it says: they are what is looked at after a crash."""
        current = self._live[-1]
        if log.recovery_point < log.segments_durable_offset > current.segments.get(log, -1):
            current.segments[log] = log.segments_durable_offset
            self.note(Kind.SEGMENT, log.partition_id, 0, log.segments_durable_offset)

    async def let_go(self, log: JournaledLog, offset: int) -> None:
        """Hold nothing of this log that a recovery would use, so that its records from `offset` on may be truncated.

        All that it has becomes durable in its segments. Raises `StorageFailure`.
        """
        while any(log in each.logs or log in each.segments for each in self._live):
            end_offset = log.log_end_offset
            await self._sync_segments((log,))
            if log.failure is not None:
                raise log.failure.with_traceback(None)
            if log.log_end_offset != end_offset:
                continue
            for each in self._live:
                each.logs.pop(log, None)
                each.segments.pop(log, None)
            self.note(Kind.TRUNCATION, log.partition_id, 0, offset)
            if not await self.written():
                raise StorageError(
                    f"the journal in {self._directory} cannot be written: nothing is truncated"
                )

    def begin_round(self, records: Sequence[Records], then: Callable[[], None]) -> int:
        """Write a round and begin to sync it; gives how many of `records`, from the first on, are in it.

        `then` is called when the round has ended: it is durable, or the journal has failed.
        """
        try:
            count = self._write_round(records)
        except OSError as error:
            self.fail(error)
            asyncio.get_running_loop().call_soon(then)
            return len(records)
        if self.is_busy:
            self._sync(partial(self._ended, then))
        return count

    def when_free(self, then: Callable[[], None]) -> None:
        """Call back when the present round has ended."""
        self._when_free.append(then)

    async def written(self) -> bool:
        """Wait until all that was noted is durable. False if the journal has failed, or has no room."""
        while (self._notes or self.is_busy) and self.failure is None:
            if not self.is_busy:
                self.begin_round((), _ignore)
            if self.is_busy:
                free: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self.when_free(partial(_resolve, free))
                await free
            elif not await self._make_spare_file():
                return False
        return self.failure is None

    def _write_round(self, records: Sequence[Records]) -> int:
        size_bytes = HEADER_BYTES + ENTRY_BYTES * len(self._notes)
        current = self._live[-1]
        if self._position and self._position + size_bytes + _size_of(records[:1]) > current.size_bytes:
            if not self._spare:
                self._make_spare()
                return 0
            self._begin_file()
            current = self._live[-1]
        room_bytes = current.size_bytes - self._position - size_bytes
        count = 0
        for each in records:
            room_bytes -= ENTRY_BYTES + each.size_bytes
            if room_bytes < 0:
                break
            count += 1
        self._write(current, records[:count])
        if self._position * 2 > current.size_bytes and not self._spare:
            self._make_spare()
        return count

    def _write(self, current: _JournalFile, records: Sequence[Records]) -> None:
        self._round += 1
        buffers: list[Buffer] = []
        if self._position == 0:
            header, self._header_crc = encode_header(
                current.number, self._live[0].number, self._round, self._bytes_before, self._new_nonce()
            )
            buffers.append(header)
        notes, self._notes = self._notes, []
        crc, number = self._header_crc, self._round
        buffers += [
            encode_entry(crc, each.kind, number, *each.partition_id, -1, each.base_offset, each.end_offset)
            for each in notes
        ]
        for each in records:
            topic_id, partition = each.log.partition_id
            buffers.append(
                encode_entry(
                    crc,
                    Kind.APPEND,
                    number,
                    topic_id,
                    partition,
                    each.leader_epoch,
                    each.base_offset,
                    each.end_offset,
                    each.buffers,
                    each.size_bytes,
                )
            )
            buffers += each.buffers
            current.logs[each.log] = each.end_offset
        current.file.write(buffers, self._position)
        self._position += sum(map(len, buffers))
        self.is_busy = True

    def _sync(self, ended: Ended) -> None:
        file = self._live[-1].file
        descriptor = file.descriptor
        if self._ring is not None and descriptor is not None:
            self._ring.watch()
            if self._ring.begin(((descriptor, ended),)):
                return
        self._offload.call(file.sync, partial(_ended_on_thread, ended))

    def _ended(self, then: Callable[[], None], failure: OSError | None) -> None:
        self.is_busy = False
        if failure is not None:
            self.fail(failure)
        then()
        waiting, self._when_free = self._when_free, []
        for each in waiting:
            each()

    def fail(self, error: OSError) -> None:
        if self.failure is None:
            self.failure = StorageFailure(
                f"the journal in {self._directory} could not be written ({error.strerror or error}): check the disk, "
                "then restart the broker"
            )
            _log.error("all partitions are offline for writes: %s", self.failure)

    def _begin_file(self) -> None:
        following = self._spare.popleft()
        self._last_number += 1
        following.number = self._last_number
        following.logs = {}
        following.segments = {}
        if self._position:
            self._bytes_before = self._position
        self._position = 0
        self._live.append(following)

    # -- checkpoints ----------------------------------------------------------------------------------

    def _make_spare(self) -> None:
        if self._task is None and self.failure is None:
            self._task = asyncio.get_running_loop().create_task(self._make_spare_file())
            self._task.add_done_callback(self._made_spare)

    def _made_spare(self, task: "asyncio.Task[bool]") -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("no journal file could be made free: %s", error)

    async def _make_spare_file(self) -> bool:
        """Make a file, or free the oldest one; whether there is one to use then."""
        if self._spare:
            return True
        if len(self._live) < _FILES_MAX:
            size_bytes = min(self._size_bytes // _FILES_MAX, 2 * max(each.size_bytes for each in self._live))
            try:
                made = await self._offload.run(
                    partial(_make_file, self._files, self._next_path(), size_bytes)
                )
            except OSError as error:
                _log.warning("no further journal file could be made: %s", error.strerror)
            else:
                self._spare.append(made)
                return True
        return len(self._live) > 1 and await self.checkpoint_oldest()

    async def checkpoint_oldest(self) -> bool:
        """Sync the segments of all that the oldest file holds, so that it can be used again; whether it can."""
        oldest = self._live[0]
        if oldest.partitions:
            return False  # something in it could not be recovered: it is kept
        logs = [
            log
            for log, end_offset in oldest.logs.items()
            if log.failure is None and log.segments_durable_offset < min(end_offset, log.log_end_offset)
        ]
        await self._sync_segments(logs)
        if any(log.failure is not None and not log.is_closed for log in oldest.logs):
            return False  # what it has may be nowhere else
        if self._live[0] is not oldest or len(self._live) == 1:
            return bool(self._spare)  # another checkpoint came first
        self._live.popleft()
        self._spare.append(oldest)
        for log in (*oldest.logs, *oldest.segments):
            if not log.is_closed:
                self.note_segments_durable(log)
        return True

    async def _sync_segments(self, logs: Sequence[JournaledLog]) -> None:
        jobs: list[tuple[JournaledLog, SyncJob]] = []
        for log in logs:
            try:
                jobs.append((log, log.begin_sync()))
            except OSError as error:
                _log.warning("a segment could not be opened for a checkpoint: %s", error.strerror)
                return
        await self._offload.run(partial(_run_all, [job for _, job in jobs]))
        for log, job in jobs:
            if log.finish_sync(job, job.failure):
                log.tell_durable()

    async def close(self, *, is_clean: bool) -> None:
        """After a clean stop nothing of it means anything: what it held is in the segments, and synced."""
        if self._task is not None:
            await asyncio.wait([self._task])
        if is_clean and self.failure is None:
            number = self._last_number + 1
            header, _ = encode_header(number, number, self._round + 1, 0, self._new_nonce())
            try:
                await self._offload.run(partial(_write_durably, self._live[-1].file, header))
            except OSError as error:
                _log.warning("the journal in %s could not be closed: %s", self._directory, error.strerror)
        for each in (*self._live, *self._spare):
            each.file.close()


def _write_durably(file: File, data: bytes) -> None:
    file.write((data,), 0)
    file.sync()


def _ignore() -> None:
    pass


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _ended_on_thread(ended: Ended, _: object, error: BaseException | None) -> None:
    if error is None or isinstance(error, OSError):
        ended(error)
    else:
        ended(OSError(str(error)))
        raise error


def _size_of(records: Iterable[Records]) -> int:
    return sum(ENTRY_BYTES + each.size_bytes for each in records)


def _run_all(jobs: Sequence[SyncJob]) -> None:
    for job in jobs:
        try:
            job.run()
        except OSError:
            _log.debug("a sync failed; the log that it belongs to reports it")


def _make_file(files: FileSystem, path: str, size_bytes: int) -> _JournalFile:
    """A file of zeros, which stand on the disk: room that is only reserved costs a sync of its own when it is used."""
    file = files.open(path, create=True)
    try:
        for position in range(0, size_bytes, len(_ZEROS)):
            file.write((_ZEROS[: size_bytes - position],), position)
        file.sync()
        files.sync_dir(path.rpartition("/")[0])
    except OSError:
        file.close()
        files.remove(path)
        raise
    return _JournalFile(path, file, size_bytes)
