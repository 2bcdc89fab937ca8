"""The journal of a broker: a few preallocated files in which small appends to any partition become durable together.

    <data>/.journal.<slot>     see `entries`; filled with zeros once, then used again and again

A round is one write and one sync for everything that came since the last one. The records stand in the segments too,
through the page cache: those are what is read. The journal is read only after a crash, for what the segments have lost.

    spare, with a durable header ──> current ──> full ──> checkpointed: the segments of all in it are synced ──> spare

When there is no spare file the journal takes nothing for the moment, and segments are synced one by one: nobody waits
for a checkpoint. Only the event loop calls it.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from penstock.observability.offload import Offload
from penstock.storage.files import Buffer, FileSystem
from penstock.storage.journal.entries import (
    ENTRY_BYTES,
    HEADER_BYTES,
    SEGMENTS_BYTES,
    DurableSegments,
    Kind,
    Start,
    encode_entry,
    encode_segments,
    encode_start,
)
from penstock.storage.journal.journal_file import JournaledLog, JournalFile, JournalFiles
from penstock.storage.journal.reading import FoundJournal, PartitionId, Piece
from penstock.storage.journal.records import JournalRecords
from penstock.storage.log.errors import StorageError, StorageFailure
from penstock.storage.log.sync import SyncJob
from penstock.storage.ring import Ended, SyncRing

_log = logging.getLogger(__name__)

_FIRST_PART = 64
"""The first file has this part of the journal's size: most brokers in tests write little."""
_FILES_MAX = 4
_FILE_BYTES_MIN = 8192


class _Note(NamedTuple):
    """What goes into the next round besides records."""

    kind: Kind
    partition_id: PartitionId
    end_offset: int


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
        """Waits for the disk: makes the first file if there is none. Raises `OSError`."""
        self._directory = directory
        self._offload = offload
        self._ring = ring
        self._when_free: list[Callable[[], None]] = []
        self._size_bytes = size_bytes
        self._found = found
        self._round = found.last_round
        self._files = JournalFiles(files, directory, found, new_nonce)
        self._live, self._spare = self._files.live, self._files.spare
        self._notes: list[_Note] = []
        self._task: asyncio.Task[bool] | None = None
        self._adding = asyncio.Lock()
        self._refusal: OSError | None = None
        """Why the last file could not be made."""
        self._position = 0
        """Where the last of the live files is written to next; 0 when it was found and is only read."""
        self._previous_bytes = found.last_bytes if self._live else 0
        self.failure: StorageFailure | None = None
        self.is_busy = False
        """Whether a round is on its way to the disk."""
        if not self._live and not self._spare:
            self._spare.append(self._files.make(max(size_bytes // _FIRST_PART, _FILE_BYTES_MIN)))

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

    def note(self, kind: Kind, partition_id: PartitionId, end_offset: int = 0) -> None:
        """Put an entry without records into the next round, before its records."""
        self._notes.append(_Note(kind, partition_id, end_offset))

    def note_segments_durable(self, log: JournaledLog) -> None:
        """What this log has is durable in its segments, as far as it says: recovery is to look there."""
        if not self._position:
            return
        current = self._live[-1]
        if log.recovery_point < log.segments_durable_offset > current.segments.get(log, -1):
            current.segments[log] = log.segments_durable_offset
            self.note(Kind.SEGMENTS, log.partition_id, log.segments_durable_offset)

    async def let_go(self, log: JournaledLog, offset: int) -> None:
        """Hold nothing of this log that a recovery would use, so that its records from `offset` on may be truncated.

        All that it has becomes durable in its segments. Raises `StorageError`, `StorageFailure`.
        """
        await self._require_written()  # an earlier try may have been given up before its note was durable
        while any(log in each.logs or log in each.segments for each in self._live):
            end_offset = log.log_end_offset
            await self._sync_segments((log,))
            if log.failure is not None:
                raise log.failure.with_traceback(None)
            if log.log_end_offset != end_offset:
                continue
            if log.segments_durable_offset < end_offset:
                raise StorageError(
                    "records that only the journal holds could not be synced: nothing is truncated"
                )
            for each in self._live:
                each.logs.pop(log, None)
                each.segments.pop(log, None)
            self.note(Kind.TRUNCATION, log.partition_id, offset)
            await self._require_written()

    async def _require_written(self) -> None:
        if not await self.written():
            raise StorageError(
                f"the journal in {self._directory} cannot be written: nothing is truncated", self._refusal
            )

    def begin_round(self, records: Sequence[JournalRecords], then: Callable[[], None]) -> int:
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
        """Wait until all that is noted by now is durable. False if the journal has failed, or has no room.

        Not for later rounds: while others write, they follow one another without a pause.
        """
        last = self._round + 1 if self._notes else self._round  # a round takes all notes that there are
        while self.failure is None and (self._round < last or (self._round == last and self.is_busy)):
            if not self.is_busy:
                self.begin_round((), _ignore)
            if self.is_busy:
                free: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self.when_free(partial(_resolve, free))
                await free
            elif not await self._room_made():
                return False
        return self.failure is None

    async def _room_made(self) -> bool:
        """Wait for a file to go on in: one more than there should be, if none becomes free."""
        if asyncio.current_task() is not self._task:  # it cannot wait for itself
            self._make_spare()
            if self._task is not None:
                await asyncio.wait([self._task])
        return bool(self._spare) or await self._add_file(is_needed=True)

    def _write_round(self, records: Sequence[JournalRecords]) -> int:
        size_bytes = ENTRY_BYTES + self._notes_bytes()
        if not self._has_room(size_bytes, records):
            if not self._spare:
                self._make_spare()
                return 0
            self._begin_file()
        current = self._live[-1]
        room_bytes = current.records_end - self._position - size_bytes
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

    def _has_room(self, notes_bytes: int, records: Sequence[JournalRecords]) -> bool:
        """Whether the current file takes the notes and the first of the records, if there are any."""
        if self._position <= HEADER_BYTES:
            return self._position == HEADER_BYTES  # at the start of a file, whatever there is goes in
        current = self._live[-1]
        limit = current.records_end if records else current.size_bytes
        records_bytes = ENTRY_BYTES + records[0].size_bytes if records else 0
        return self._position + notes_bytes + records_bytes <= limit

    def _notes_bytes(self) -> int:
        if not self._notes:
            return 0
        kinds = [each.kind for each in self._notes]
        segments = kinds.count(Kind.SEGMENTS)
        packed = sum(kind is Kind.SEGMENTS for kind, _ in itertools.groupby(kinds))
        return ENTRY_BYTES * (len(kinds) - segments + packed) + SEGMENTS_BYTES * segments

    def _write(self, current: JournalFile, records: Sequence[JournalRecords]) -> None:
        self._round += 1
        buffers: list[Buffer] = []
        crc, number = current.header_crc, self._round
        if self._position == HEADER_BYTES:
            previous = self._live[-2].number if len(self._live) > 1 else 0
            previous_bytes = self._previous_bytes if previous else 0
            start = Start(self._live[0].number, previous, previous_bytes, self._files.count)
            buffers.append(encode_start(crc, number, start))
        notes, self._notes = self._notes, []
        for kind, group in itertools.groupby(notes, key=attrgetter("kind")):
            if kind is Kind.SEGMENTS:
                segments = [DurableSegments(*each.partition_id, each.end_offset) for each in group]
                buffers.append(encode_segments(crc, number, segments))
            else:
                buffers += [
                    encode_entry(crc, kind, number, *each.partition_id, -1, 0, each.end_offset)
                    for each in group
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
        if self._position:
            self._previous_bytes = self._position
        self._position = HEADER_BYTES
        self._live.append(self._spare.popleft())

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
        """Make a file, or free the oldest one; whether there is one to use then. Never two of these at once."""
        if self._spare:
            return True
        if (len(self._live) < _FILES_MAX or not self._has_room_for_notes()) and await self._add_file():
            return True
        is_full = len(self._live) > 1 or not self._position
        return is_full and await self._checkpoint_oldest()

    async def _add_file(self, *, is_needed: bool = False) -> bool:
        largest = max((each.size_bytes for each in self._live), default=_FILE_BYTES_MIN)
        size_bytes = max(_FILE_BYTES_MIN, min(self._size_bytes // _FILES_MAX, 2 * largest))
        async with self._adding:
            try:
                self._spare.append(
                    await self._offload.run(partial(self._files.make, size_bytes, is_needed=is_needed))
                )
            except OSError as error:
                _log.warning("no further journal file could be made: %s", error.strerror)
                self._refusal = error
                return False
        return True

    def _has_room_for_notes(self) -> bool:
        """Whether what must be noted before the oldest file is used again fits into the current one."""
        if not self._position:
            return True
        oldest, current = self._live[0], self._live[-1]
        notes = len(oldest.logs) + len(oldest.segments)
        size_bytes = 2 * ENTRY_BYTES + self._notes_bytes() + SEGMENTS_BYTES * notes
        return self._position + size_bytes <= current.size_bytes

    async def _checkpoint_oldest(self) -> bool:
        """Sync the segments of all that the oldest file holds, so that it can be used again; whether it can."""
        oldest = self._live[0]
        if oldest.partitions:
            return False  # something in it could not be recovered: it is kept
        unsynced = [log for log, end_offset in oldest.logs.items() if not _is_needless(log, end_offset)]
        await self._sync_segments([log for log in unsynced if log.failure is None])
        if not all(_is_needless(log, end_offset) for log, end_offset in oldest.logs.items()):
            return False  # what it has may be nowhere else
        for log in (*oldest.logs, *oldest.segments):
            if not log.is_closed:
                self.note_segments_durable(log)
        if self._position and not await self.written():  # before what the notes stand for is gone
            return False
        self._live.popleft()
        try:
            await self._offload.run(partial(self._files.begin_use, oldest))
        except OSError as error:
            self.fail(error)
            return False
        self._spare.append(oldest)
        return True

    async def _sync_segments(self, logs: Sequence[JournaledLog]) -> None:
        """Sync those whose files can be opened. The caller compares `segments_durable_offset`: it tells which were."""
        jobs: list[tuple[JournaledLog, SyncJob]] = []
        for log in logs:
            try:
                jobs.append((log, log.begin_sync()))
            except OSError as error:
                _log.warning("a segment could not be opened to sync it: %s", error.strerror)
        await asyncio.shield(
            self._run_and_finish(jobs)
        )  # a truncation that is cancelled leaves no sync unfinished

    async def _run_and_finish(self, jobs: Sequence[tuple[JournaledLog, SyncJob]]) -> None:
        await self._offload.run(partial(_run_all, [job for _, job in jobs]))
        for log, job in jobs:
            if log.finish_sync(job, job.failure):
                log.notify_durable()

    async def close(self, *, is_clean: bool) -> None:
        """After a clean stop nothing of it means anything: what it held is in the segments, and synced."""
        if self._task is not None:
            await asyncio.wait([self._task])
        files = [*self._spare, *self._live]
        if is_clean and self.failure is None and files:
            try:
                await self._offload.run(partial(self._make_void, files[-1]))
            except OSError as error:
                _log.warning("the journal in %s could not be closed: %s", self._directory, error.strerror)
        for each in files:
            each.file.close()

    def _make_void(self, last: JournalFile) -> None:
        """Let the last file say that nothing before it means anything. Waits for the disk."""
        self._files.begin_use(last)
        start = encode_start(last.header_crc, self._round + 1, Start(last.number, 0, 0, self._files.count))
        last.file.write((start,), HEADER_BYTES)
        last.file.sync()


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


def _is_needless(log: JournaledLog, end_offset: int) -> bool:
    """Whether recovery needs nothing below `end_offset` that a file of the journal holds of this log."""
    is_durable = log.segments_durable_offset >= min(end_offset, log.log_end_offset)
    return log.is_closed or (log.failure is None and is_durable)


def _run_all(jobs: Sequence[SyncJob]) -> None:
    for job in jobs:
        try:
            job.run()
        except OSError:
            _log.debug("a sync failed; the log that it belongs to reports it")
