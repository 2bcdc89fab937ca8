"""The journal of a broker: a few preallocated files in which small appends to any partition become durable together.

    <data>/.journal.<slot>     see `entries`; filled with zeros once, then reused

A round is one durable write of all records that came since the previous round: bypassing the page cache if the kernel
can (`direct`), else a write and a sync. The records are also in the segments, through the page cache: reads are served
from there. The journal is read only after a crash, for records that the segments have lost.

    spare, with a durable header ──> current ──> full ──> checkpointed: the segments of all in it are synced ──> spare

While there is no spare file the journal accepts nothing, and segments are synced individually: no producer waits for a
checkpoint. Only the event loop calls it.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from functools import partial

from penstock.runtime.offload import Offload
from penstock.storage.direct import AlignedBuffer
from penstock.storage.errors import StorageError, StorageFailure
from penstock.storage.files import Buffer, FileSystem
from penstock.storage.journal.entries import (
    ENTRY_BYTES,
    Kind,
    Start,
    encode_entry,
    encode_start,
)
from penstock.storage.journal.journal_file import JournaledLog, JournalFile, JournalFiles
from penstock.storage.journal.reading import FoundJournal, PartitionId, Piece
from penstock.storage.journal.records import JournalRecords
from penstock.storage.ring import Ended, SyncRing
from penstock.storage.sync import sync_segments

_log = logging.getLogger(__name__)

_FIRST_PART = 64
"""The first file has this part of the journal's size: most brokers in tests write little."""
_FILES_MAX = 4
_FILE_BYTES_MIN = 8192


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
        directory_id: bytes,
        ring: SyncRing | None = None,
    ) -> None:
        """Waits for the disk: makes the first file if there is none. Raises `OSError`.

        With `size_bytes` 0 it only keeps the files that were found, until they are recovered.
        """
        self._directory = directory
        self._offload = offload
        self._ring = ring
        self._buffer = AlignedBuffer()
        """The buffer that the kernel writes from."""
        self._when_free: list[Callable[[], None]] = []
        self._size_bytes = size_bytes
        self._found = found
        self._round = found.last_round
        self._complete_round = found.complete_round
        self._files = JournalFiles(
            files, directory, found, new_nonce, directory_id, is_direct=ring is not None
        )
        self._live, self._spare = self._files.live, self._files.spare
        self._is_evidence = bool(found.damage)
        """Whether the files that were found prove that records are lost, and this has not been registered yet."""
        self._resets: list[PartitionId] = []
        """Resets for the next round, before its records. Never more than there are partitions in the files."""
        self._task: asyncio.Task[bool] | None = None
        self._making = asyncio.Lock()
        """Held while a file gets its number: files are used in the order of their numbers."""
        self._voiding: JournalFile | None = None
        """The file that is being made void: it may hold its former content, or the header of its next use."""
        self._refusal: OSError | None = None
        """The error that prevented the last file from being made."""
        self._position = 0
        """The position of the next write in the last live file; 0 when it was found and is only read."""
        self._is_closed = False
        self.failure: StorageFailure | None = None
        self.is_busy = False
        """Whether a round is being written."""
        if size_bytes and not self._live and not self._spare:
            self._spare.append(self._files.make(max(size_bytes // _FIRST_PART, _FILE_BYTES_MIN)))

    # -- after a crash --------------------------------------------------------------------------------

    @property
    def unrecovered(self) -> list[PartitionId]:
        """The partitions that must be recovered after a crash, and have not been yet."""
        return list(self._found.pieces)

    def pieces_of(self, partition_id: PartitionId) -> Sequence[Piece]:
        return self._found.pieces.get(partition_id, ())

    def recovered(self, log: JournaledLog) -> None:
        """Note that the log has all records of the journal in its segments, synced or not."""
        for piece in self._found.pieces.pop(log.partition_id, ()):
            for each in self._live:
                if each.number == piece.file_number:
                    each.partitions.discard(log.partition_id)
                    each.logs[log] = max(each.logs.get(log, 0), piece.end_offset)

    async def end_recovery(self, failed: Collection[PartitionId]) -> None:
        """Everything that was found and still has a log is in segments and synced, except for the failed partitions. If
        there was damage, the broker has registered that it lost records.

        The files that were found are free, from the oldest up to the first that a failed partition needs.
        """
        self._is_evidence = False
        if self._files.missing_count:
            await self._accept_missing_files()
        for partition_id in self.unrecovered:
            if partition_id not in failed:
                self.forget(partition_id)
        while self._live and self._live[0].number <= self._found.last_number:
            if not await self._checkpoint_oldest():
                return
        if not self._live:
            self._resets.clear()

    async def _accept_missing_files(self) -> None:
        async with self._making:
            present = [*self._live, *self._spare]
            try:
                await self._offload.run(partial(self._files.accept_missing, present))
            except OSError as error:
                _log.warning(
                    "Cannot rename journal files in %s: %s. The missing ones will be reported again after a crash",
                    self._directory,
                    error.strerror,
                )

    # -- rounds ---------------------------------------------------------------------------------------

    def forget(self, partition_id: PartitionId, log: JournaledLog | None = None) -> None:
        """From the next round on, invalidate everything that the journal holds for this partition."""
        self._found.pieces.pop(partition_id, None)
        is_held = False
        for each in self._live:
            if log in each.logs or partition_id in each.partitions:
                is_held = True
                each.partitions.discard(partition_id)
                if log is not None:
                    each.logs.pop(log, None)
        if is_held:
            self._resets.append(partition_id)

    async def release_log(self, log: JournaledLog) -> None:
        """Hold nothing of this log that a recovery would use, so that its records may be truncated.

        All its records become durable in its segments. Raises `StorageError`, `StorageFailure`.
        """
        await self._require_written()  # an earlier call may have been cancelled before its entry was durable
        while any(log in each.logs for each in self._live):
            end_offset = log.log_end_offset
            await sync_segments((log,), self._offload)
            if log.failure is not None:
                raise log.failure.with_traceback(None)
            if log.log_end_offset != end_offset:
                continue
            if log.segments_durable_offset < end_offset:
                raise StorageError(
                    "records that only the journal holds could not be synced: nothing is truncated"
                )
            self.forget(log.partition_id, log)
            await self._require_written()

    async def _require_written(self) -> None:
        if not await self.written():
            raise StorageError(
                f"the journal in {self._directory} cannot be written: nothing is truncated", self._refusal
            )

    def begin_round(self, records: Sequence[JournalRecords], then: Callable[[], None]) -> int:
        """Write a round and begin to sync it. Returns how many of `records`, from the first one, are in it.

        `then` is called when the round has ended: it is durable, or the journal has failed.
        """
        if self._is_closed:
            return 0
        size_bytes = ENTRY_BYTES * (1 + len(self._resets))
        if not self._has_room(size_bytes, records):
            if not self._spare:
                self._make_spare()
                return 0
            self._live.append(self._spare.popleft())
            self._position = self._live[-1].entries_position
        current = self._live[-1]
        room_bytes = current.size_bytes - self._position - size_bytes
        count = 0
        for each in records:
            room_bytes -= ENTRY_BYTES + each.size_bytes
            if room_bytes < 0:
                break
            count += 1
        position = self._position
        buffers = self._encode(current, records[:count])
        if self._position * 2 > current.size_bytes and not self._spare:
            self._make_spare()
        self._write(current, buffers, position, partial(self._ended, then))
        return count

    def when_free(self, then: Callable[[], None]) -> None:
        """Call back when the present round has ended."""
        self._when_free.append(then)

    async def written(self) -> bool:
        """Wait until everything queued so far is durable. Returns False if the journal has failed, or has no room.

        Not for later rounds: while others write, they follow one another without a pause.
        """
        last = self._round + 1 if self._resets else self._round  # a round takes all that there are
        while self.failure is None and (self._round < last or (self._round == last and self.is_busy)):
            if not self.is_busy:
                self.begin_round((), _ignore)
            if self.is_busy:
                await self._round_ended()
            elif self._is_closed or not await self._room_made():
                return False
        return self.failure is None

    async def _round_ended(self) -> None:
        free: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.when_free(partial(_resolve, free))
        await free

    async def _room_made(self) -> bool:
        """Wait for a file to continue in: an extra file, if none becomes free."""
        self._make_spare()
        if self._task is not None:
            await asyncio.wait([self._task])
        return bool(self._spare) or await self._add_file(is_needed=True)

    def _has_room(self, size_bytes: int, records: Sequence[JournalRecords]) -> bool:
        """Whether the current file has room for `size_bytes` and for the first of the records, if there are any."""
        if not self._position:
            return False
        if self._position == self._live[-1].entries_position:
            return True  # at the start of a file, any size is accepted
        records_bytes = ENTRY_BYTES + records[0].size_bytes if records else 0
        return self._position + size_bytes + records_bytes <= self._live[-1].size_bytes

    def _encode(self, current: JournalFile, records: Sequence[JournalRecords]) -> list[Buffer]:
        """The next round: whole blocks."""
        is_first = self._position == current.entries_position
        resets, self._resets = self._resets, []
        complete_round, self._round = self._complete_round, self._round + 1
        crc, number = current.header_crc, self._round
        count = is_first + len(resets) + len(records)
        size_bytes = ENTRY_BYTES * count + sum([each.size_bytes for each in records])
        padding_bytes = -size_bytes % current.block_bytes
        buffers: list[Buffer] = []
        index = 0
        if is_first:
            oldest = next(each.number for each in self._live if each is not self._voiding)
            start = Start(oldest, complete_round, self._files.count)
            buffers.append(encode_start(crc, number, count, start, padding_bytes))
            index = 1
        for partition_id in resets:
            buffers.append(
                encode_entry(
                    crc, Kind.RESET, number, index, count, *partition_id, -1, 0, 0, (), 0, padding_bytes
                )
            )
            index += 1
        for each in records:
            topic_id, partition = each.log.partition_id
            buffers.append(
                encode_entry(
                    crc,
                    Kind.APPEND,
                    number,
                    index,
                    count,
                    topic_id,
                    partition,
                    each.leader_epoch,
                    each.base_offset,
                    each.end_offset,
                    each.buffers,
                    each.size_bytes,
                    padding_bytes,
                )
            )
            index += 1
            buffers += each.buffers
            current.logs[each.log] = each.end_offset
        if padding_bytes:
            buffers.append(bytes(padding_bytes))
        self._position += size_bytes + padding_bytes
        self._complete_round = number  # valid when the next round is written, which waits for this one
        return buffers

    def _write(self, current: JournalFile, buffers: Sequence[Buffer], position: int, ended: Ended) -> None:
        self.is_busy = True
        # ext4 before 91562895f803 (2023) may end a direct write that lengthens a file before its size is durable.
        direct = current.direct if self._position <= current.size_bytes else None
        ring = self._ring
        try:
            if ring is not None and direct is not None:
                size_bytes = self._buffer.fill(buffers)
                ring.watch()
                if ring.write(direct, self._buffer.address, size_bytes, position, ended):
                    return
            current.file.write(buffers, position)
        except OSError as error:
            self._fail_writing(error)
            asyncio.get_running_loop().call_soon(ended, error)
            return
        self._sync(ended)

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
            self._fail_writing(failure)
        then()
        waiting, self._when_free = self._when_free, []
        for each in waiting:
            each()

    def fail(self, failure: StorageFailure) -> None:
        """Accept no more writes, for any log: the state of the disk is unknown."""
        if self.failure is None:
            self.failure = failure
            _log.error("All partitions are offline for writes: %s", failure)

    def _fail_writing(self, error: OSError) -> None:
        self.fail(
            StorageFailure(
                f"the journal in {self._directory} could not be written ({error.strerror or error}): check the disk, "
                "then restart the broker"
            )
        )

    # -- checkpoints ----------------------------------------------------------------------------------

    def _make_spare(self) -> None:
        if self._task is None and self.failure is None and self._size_bytes and not self._is_closed:
            self._task = asyncio.get_running_loop().create_task(self._make_spare_file())
            self._task.add_done_callback(self._made_spare)

    def _made_spare(self, task: "asyncio.Task[bool]") -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("Cannot free a journal file in %s: %s", self._directory, error)

    async def _make_spare_file(self) -> bool:
        """Make a file, or free the oldest one. Returns True if there is one to use then. Never two of these at once."""
        if self._spare or (len(self._live) < _FILES_MAX and await self._add_file()):
            return True
        return await self._checkpoint_oldest()

    async def _add_file(self, *, is_needed: bool = False) -> bool:
        largest = max((each.size_bytes for each in self._live), default=_FILE_BYTES_MIN)
        size_bytes = max(_FILE_BYTES_MIN, min(self._size_bytes // _FILES_MAX, 2 * largest))
        async with self._making:
            try:
                self._spare.append(
                    await self._offload.run(partial(self._files.make, size_bytes, is_needed=is_needed))
                )
            except OSError as error:
                _log.warning(
                    "Cannot allocate a journal file in %s: %s; partitions are synced individually",
                    self._directory,
                    error.strerror,
                )
                self._refusal = error
                return False
        return True

    async def _checkpoint_oldest(self) -> bool:
        """Sync the segments of all logs in the oldest file, so that it can be reused. Returns True if it can be."""
        async with self._making:
            if len(self._live) - bool(self._position) < 1:
                return False
            oldest = self._live[0]
            if oldest.partitions or self._is_evidence:
                return False  # kept: its records were not all recovered, or it is evidence of lost records
            unsynced = [log for log, end_offset in oldest.logs.items() if not _is_needless(log, end_offset)]
            await sync_segments([log for log in unsynced if log.failure is None], self._offload)
            if not all(_is_needless(log, end_offset) for log, end_offset in oldest.logs.items()):
                return False  # it may hold the only copy
            # It stays among the live ones until its header is durable: a truncation of a log in it needs an entry.
            self._voiding = oldest
            try:
                await self._offload.run(partial(self._files.begin_use, oldest))
            except OSError as error:
                self._fail_writing(error)
                return False
            self._live.popleft()
            self._voiding = None
            oldest.logs = {}
            if self._size_bytes:
                self._spare.append(oldest)
            else:
                oldest.close()
        return True

    async def close(self, *, is_clean: bool) -> None:
        """After a clean stop its content is obsolete: the records are in the segments, and synced."""
        self._is_closed = True
        if self._task is not None:
            await asyncio.wait([self._task])
        while self.is_busy:
            await self._round_ended()
        files = [*self._spare, *self._live]
        if is_clean and self.failure is None and files:
            try:
                await self._offload.run(partial(self._files.make_void, files[-1], self._round))
            except OSError as error:
                _log.warning("Cannot close the journal in %s: %s", self._directory, error.strerror)
        for each in files:
            each.close()


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
    """Whether recovery needs nothing below `end_offset` that a journal file holds for this log."""
    is_durable = log.segments_durable_offset >= min(end_offset, log.log_end_offset)
    return log.is_closed or (log.failure is None and is_durable)
