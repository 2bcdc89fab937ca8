"""The log of one partition: what is in it, what is durable, who wrote it, and in which leader's time.

    log_start_offset <= recovery_point <= durable_offset <= log_end_offset

Everything below `durable_offset` survives a power cut; everything below `recovery_point` need not be looked at
after one. Only the event loop calls a log, and no call waits for the disk longer than a write to the page cache
takes, but for the rare ones that say so. What blocks is handed out as a job (`begin_sync`, `begin_checkpoint`,
`read_cold`) to be run on a thread.
"""

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from penstock.config.topic import TopicConfig
from penstock.observability.offload import InlineOffload, Offload
from penstock.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    LOG_APPEND_TIME_FLAG,
    NO_PRODUCER_ID,
    iter_batches,
)
from penstock.protocol.records.rules import CheckElsewhere, ValidationRules, rules_for
from penstock.storage.append import (
    HERE_BYTES_MAX,
    LEADER_EPOCH_MAX,
    Append,
    Checked,
    PreparedAppend,
    assign_offsets,
    check_produced,
    prepare_own,
    prepare_produced,
    prepare_replicated,
)
from penstock.storage.files import Buffer
from penstock.storage.journal.entries import Kind
from penstock.storage.journal.journal import Journal
from penstock.storage.journal.reading import Piece
from penstock.storage.log_errors import (
    AppendRejected,
    LogClosed,
    LogError,
    OffsetOutOfRange,
    StorageError,
    StorageFailure,
)
from penstock.storage.log_producers import check_producers, note_stored
from penstock.storage.log_sync import CheckpointJob
from penstock.storage.log_values import Appended, Cold, LoadedLog, LogSlice, Origin
from penstock.storage.mendable_log import MendableLog
from penstock.storage.producer_state import Duplicate
from penstock.storage.segment_chain import Discard, SegmentChain
from penstock.storage.storable_batch import StorableBatch
from penstock.storage.transaction_index import AbortedTransaction
from penstock.storage.transaction_permit import TransactionPermit

__all__ = ["Appended", "Cold", "Log", "LogSlice", "Origin"]

NO_TOPIC_ID = bytes(16)


class Log(MendableLog):
    __slots__ = ("_rules", "_rules_here")

    def __init__(
        self,
        topic: str,
        partition: int,
        directory: str,
        config: TopicConfig,
        *,
        loaded: LoadedLog,
        offload: Offload | None = None,
        discard: Discard | None = None,
        is_new: bool = False,
        topic_id: bytes = NO_TOPIC_ID,
        journal: Journal | None = None,
    ) -> None:
        """`offload` is where reads from the disk wait; without one they wait where they are.

        `discard` gets the files of deleted segments, already renamed, to remove them where it may take its time.
        """
        chain = SegmentChain(
            directory,
            config,
            loaded.cache,
            loaded.segments,
            end_offset=loaded.log_end_offset,
            discard=discard or self._remove_at_once,
        )
        super().__init__(
            topic,
            partition,
            chain,
            config,
            loaded=loaded,
            offload=offload or InlineOffload(),
            is_new=is_new,
            topic_id=topic_id,
            journal=journal,
        )
        self._rules: ValidationRules | None = None
        self._rules_here: ValidationRules | None = None

    def configure(self, config: TopicConfig) -> None:
        """Take new settings; they apply from the next append on."""
        self._config = config
        self._rules = self._rules_here = None
        self.chain.configure(config)

    def _rules_now(self) -> ValidationRules:
        rules = self._rules
        if rules is None:
            rules = self._rules = rules_for(self._config)
        return rules

    # -- appending ------------------------------------------------------------------------------------

    def append(
        self,
        records: Buffer,
        *,
        leader_epoch: int,
        now_ms: int,
        origin: Origin = Origin.CLIENT,
        permit: TransactionPermit | None = None,
    ) -> Appended:
        """Store batches as the leader: all of them or, with an exception, none. Transactional ones need a permit.

        They are visible to `read` at once, and durable when `durable_offset` has passed them. Writes the offsets
        into `records` when it is writable. Raises `AppendRejected`, `StorageError` or `StorageFailure`. A client's
        batch that takes long to check raises `CheckElsewhere`: run `checking` on a thread, and `prepare` with what it
        gives.
        """
        if self.failure is not None:
            raise self.failure.with_traceback(None)
        is_from_client = origin is Origin.CLIENT
        batches = self.prepare(records, now_ms, is_from_client=is_from_client)
        append = PreparedAppend(batches, is_from_client, permit)
        self.append_each([append], leader_epoch=leader_epoch, now_ms=now_ms)
        if append.refusal is not None:
            raise append.refusal
        assert append.appended is not None
        return append.appended

    def _known(self, duplicate: Duplicate, leader_epoch: int) -> Appended:
        return Appended(
            base_offset=duplicate.first_offset,
            last_offset=duplicate.last_offset,
            leader_epoch=leader_epoch,
            log_append_time_ms=duplicate.timestamp if self._rules_now().is_log_append_time else -1,
            log_start_offset=self.log_start_offset,
            duplicate=True,
        )

    def prepare(
        self, records: Buffer, now_ms: int, *, is_from_client: bool = True, checked: Checked | None = None
    ) -> list[StorableBatch]:
        """Check records, for `append_each`: one batch of a client. Raises what `append` raises for them.

        `checked` is what `checking` gave for them.
        """
        rules = self._rules if self._rules is not None else self._rules_now()
        if checked is not None:
            if checked.rules is not rules:  # the topic's settings changed meanwhile
                raise CheckElsewhere
            return checked.batches
        if not is_from_client:
            return prepare_own(records, rules, now_ms)
        here = self._rules_here
        if here is None:
            here = msgspec.structs.replace(rules, elsewhere_above_bytes=HERE_BYTES_MAX)
            self._rules_here = here
        return [prepare_produced(records, here, now_ms)]

    def append_each(self, appends: Sequence[Append], *, leader_epoch: int, now_ms: int) -> None:
        """Store prepared appends, with one write where that can be. Each gets its own outcome."""
        producer_ids: set[int] = set()
        begin = 0
        for number, append in enumerate(appends):
            producer_id = append.batches[0].header.producer_id
            if producer_id == NO_PRODUCER_ID:
                continue
            if producer_id in producer_ids:  # it is judged by what it wrote before
                self._store_each(appends[begin:number], leader_epoch, now_ms)
                begin = number
                producer_ids.clear()
            self._judge(append, leader_epoch)
            producer_ids.add(producer_id)
        self._store_each(appends[begin:], leader_epoch, now_ms)

    def _judge(self, append: Append, leader_epoch: int) -> None:
        """Give an append of a producer its outcome if it is not to be stored: it is refused, or a retry."""
        if self.failure is not None:  # `_store_each` gives it
            return
        try:
            duplicate = check_producers(
                self.producers, append.batches, is_from_client=append.is_from_client, permit=append.permit
            )
        except AppendRejected as rejected:
            append.refusal = rejected
            return
        if duplicate is not None:
            append.appended = self._known(duplicate, leader_epoch)

    def _store_each(self, appends: Sequence[Append], leader_epoch: int, now_ms: int) -> None:
        """Store those that have no outcome yet."""
        appends = [each for each in appends if each.appended is None and each.refusal is None]
        if not appends:
            return
        if self.failure is not None:  # before them, or by those that came before in the same group
            _refuse(appends, self.failure.with_traceback(None))
            return
        batches = appends[0].batches
        if len(appends) > 1:
            batches = [batch for append in appends for batch in append.batches]
            if not self.chain.has_room_for(batches, now_ms):
                for append in appends:
                    self._store_each([append], leader_epoch, now_ms)
                return
        base_offset, log_start_offset = self.chain.end_offset, self.log_start_offset
        assign_offsets(batches, base_offset, leader_epoch)
        try:
            self._store(batches, now_ms)
        except LogError as error:
            _refuse(appends, error)
            return
        if leader_epoch != self.epochs.latest_epoch and leader_epoch >= 0:
            self._assign_epoch(leader_epoch, base_offset)
        for append in appends:
            first = append.batches[0]
            is_log_append_time = first.data[ATTRIBUTES_POSITION + 1] & LOG_APPEND_TIME_FLAG
            append.appended = Appended(
                base_offset=first.base_offset,
                last_offset=append.batches[-1].last_offset,
                leader_epoch=leader_epoch,
                log_append_time_ms=first.max_timestamp if is_log_append_time else -1,
                log_start_offset=log_start_offset,
            )

    def checking(self, records: Buffer, now_ms: int) -> Callable[[], Checked]:
        """What checks a client's batch however large it is; to be called where it may take its time."""
        return partial(check_produced, records, self._rules_now(), now_ms)

    def append_replicated(
        self, records: Buffer, *, now_ms: int, leader_epoch: int = LEADER_EPOCH_MAX
    ) -> Appended | None:
        """Store batches from the leader of an epoch, with the offsets they have; None when there is no whole one."""
        if self.failure is not None:
            raise self.failure.with_traceback(None)
        batches = prepare_replicated(records, self.chain.end_offset, leader_epoch)
        if not batches:
            return None
        self._store(batches, now_ms)
        for batch in batches:
            epoch = batch.header.leader_epoch
            if epoch != self.epochs.latest_epoch and epoch >= 0:
                self._assign_epoch(epoch, batch.base_offset)
        return Appended(
            base_offset=batches[0].base_offset,
            last_offset=batches[-1].last_offset,
            leader_epoch=batches[-1].header.leader_epoch,
            log_append_time_ms=-1,
            log_start_offset=self.log_start_offset,
        )

    def _store(self, batches: list[StorableBatch], now_ms: int) -> None:
        self.idle_sweeps = 0
        try:
            self.chain.write(batches, now_ms)
        except StorageFailure as failure:
            self.fail(failure)
            raise
        except StorageError:
            self._distrust_length()
            raise
        self._add_pending(batches)
        for completed in note_stored(self.producers, batches):
            if completed.is_aborted:
                segment = self.chain.segments[self.chain.number_of(completed.last_offset)]
                segment.note_aborted(AbortedTransaction.of(completed))

    def begin_epoch(self, epoch: int) -> None:
        """From here on the leader of this epoch writes; known before its first record, as Kafka has it."""
        self._assign_epoch(epoch, self.chain.end_offset)

    def _assign_epoch(self, epoch: int, start_offset: int) -> None:
        if self.epochs.assign(epoch, start_offset):
            self._epochs_are_saved = False

    def replay(self, pieces: Sequence[Piece], *, now_ms: int, is_intact: bool) -> bool:
        """Append what the journal has and the segments have lost in a crash. Raises `LogError`.

        False when the journal has records behind the end of the log and lacks those in between: it stops there.

        `is_intact`: recovery has cut nothing off. Else the segments must be synced before the journal is relied on:
        what was cut could come back, and stand behind other records.
        """
        durable_offset = max(
            self.durable_offset, *(each.end_offset for each in pieces if not each.records), 0
        )
        for piece in pieces:
            if not piece.records:
                continue
            if piece.base_offset <= durable_offset:
                durable_offset = max(durable_offset, piece.end_offset)
            if piece.end_offset <= self.chain.end_offset:
                continue
            if piece.leader_epoch < (self.epochs.latest_epoch or 0):
                break  # another leader has written since, and truncated these
            if piece.base_offset > self.chain.end_offset:
                return False
            records = _between(piece.records, self.chain.end_offset, piece.end_offset)
            if records:
                self.append_replicated(records, now_ms=now_ms)
        has_truncation = any(each.is_truncation for each in pieces)
        if is_intact and pieces and durable_offset >= self.chain.end_offset and not has_truncation:
            self._found_durable()
        elif self.chain.names_unsynced or self.durable_offset < self.chain.end_offset:  # after a crash
            self._distrust_length()
        return True

    # -- dropping -------------------------------------------------------------------------------------

    def truncate_to(self, offset: int, *, now_ms: int) -> int:
        """Drop the records from `offset` on, as a follower must after a change of leaders; gives the new end.

        Batches are dropped whole. Waits for the disk, and longer when producers must be read from the log again.
        Await `LogStore.allow_truncation` first, which lowers the recovery point on disk. Raises `StorageFailure`.
        """
        if offset >= self.chain.end_offset:
            # A leader that wrote nothing has an epoch here that nobody else knows of.
            self._end_at(self.chain.end_offset)
            return self.chain.end_offset
        self._generation += 1
        self._layout += 1
        first_doubtful = self.producers.doubtful_from
        try:
            end_offset = self.chain.truncate_to(max(offset, self.log_start_offset))
        except StorageFailure as failure:
            self.fail(failure)
            raise
        self._end_at(end_offset)
        self._note_truncated(end_offset)
        self.clean_offset = min(self.clean_offset or 0, end_offset)
        self._snapshots.remove_above(end_offset)
        self._snapshots.restore(
            self.producers,
            self.chain.segments,
            log_start_offset=self.log_start_offset,
            end_offset=end_offset,
            now_ms=now_ms,
        )
        if first_doubtful is not None and first_doubtful < end_offset:
            # It may be mended, but only `settle_doubt` tells who aborted.
            self.producers.doubt(first_doubtful)
        if self.producers.doubtful_from is not None:
            self.on_suspicion()
        return end_offset

    def lower_recovery_point(self, offset: int) -> None:
        """Let recovery look again at the segment that holds `offset`, or will hold it, and all after it."""
        base_offset = self.chain.segments[self.chain.number_of(offset)].base_offset
        self.recovery_point = min(self.recovery_point, base_offset, offset)
        self._generation += 1  # a checkpoint that is being written no longer counts

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop all records and go on at `offset`, as a follower must that has fallen behind the leader's start.

        Where that may be below the recovery point, await `LogStore.allow_truncation` first. Raises `StorageFailure`.
        """
        self._generation += 1
        self._layout += 1
        try:
            self.chain.restart_at(offset)
        except StorageFailure as failure:
            self.fail(failure)
            raise
        self.damaged.clear()
        self.log_start_offset = offset
        self.durable_offset = offset
        self._pending = None
        self.segments_durable_offset = 0
        if self._journal is not None:
            self._journal.note(Kind.RESET, self.partition_id)
        self.clean_offset = 0
        self._end_at(offset)
        self.epochs.clear()
        self.producers.clear(offset)
        self._snapshots.clear()
        self.on_checkpoint_due()  # the start that was written down may be above what is appended from here on

    def _end_at(self, end_offset: int) -> None:
        self.durable_offset = min(self.durable_offset, end_offset)
        if self.recovery_point > end_offset:
            # Written down soon: after a crash, records appended from here on must not pass for checked ones.
            self.recovery_point = end_offset
            self.on_checkpoint_due()
        if self.epochs.truncate_from_end(end_offset):
            self._epochs_are_saved = False
        self.damaged.truncate_to(end_offset)

    def advance_log_start(self, offset: int) -> None:
        """Forget the records below `offset`; segments that lie wholly below are deleted, now or when it is safe."""
        if offset > self.chain.end_offset:
            raise OffsetOutOfRange(offset, self.log_start_offset, self.chain.end_offset)
        if offset > self.log_start_offset:
            self._start_at(offset)
        self._delete_below_start()

    def _start_at(self, offset: int) -> None:
        self.log_start_offset = offset
        self.damaged.start_at(offset)
        if self.epochs.truncate_from_start(offset):
            self._epochs_are_saved = False
        self.producers.advance_log_start(offset)
        self.on_checkpoint_due()

    def delete_oldest(self, count: int, *, now_ms: int) -> None:
        """Delete the `count` oldest segments; when that is all of them, the log rolls first."""
        if count >= len(self.chain.segments):
            self.chain.roll(now_ms)
            count = len(self.chain.segments) - 1
        self.advance_log_start(self.chain.segments[count].base_offset)

    def roll(self, *, now_ms: int) -> None:
        """Begin a new segment, unless the active one is empty."""
        if self.failure is not None:
            raise self.failure.with_traceback(None)
        self.chain.roll(now_ms)

    def replace_segments(self, base_offset: int, size_bytes: int, replaced: Sequence[int]) -> None:
        """Take in that a compacted segment stands in the place of those with the base offsets `replaced`.

        Its files have their final names (`compaction_swap`). What was replaced lies below the recovery point:
        recovery takes gaps between the segments above it for losses.
        """
        self._layout += 1
        self.chain.replace(base_offset, size_bytes, replaced)

    # -- the end --------------------------------------------------------------------------------------

    def release(self) -> None:
        """Hold no open file and little memory until the log is used again."""
        self.chain.release()

    def close(self) -> None:
        """Write and sync everything, so that the next opening need not recover. Waits for the disk.

        The caller then writes `recovery_point` down. A log that has failed stays as it is.
        """
        job = self.begin_close()
        if job is not None:
            try:
                job.run()
            except OSError as error:
                self.finish_close(job, error)
                return
        self.finish_close(job)

    def begin_close(self) -> CheckpointJob | None:
        """The part of `close` that blocks, to be run on a thread and given to `finish_close`; None for none."""
        if self.failure is not None:
            return None
        try:
            self.chain.seal()
            job = self.begin_checkpoint()
            if job is None and self.chain.unsynced and self.chain.end_offset > 0:
                job = CheckpointJob(self._cache.files, self.begin_sync(), (), {})
        except OSError as error:
            self.fail(StorageFailure(f"cannot close {self.directory}: {error.strerror}"))
            return None
        return job

    def finish_close(self, job: CheckpointJob | None, error: OSError | None = None) -> None:
        if job is not None:
            self.finish_checkpoint(job, error)
        self.abandon("it was closed")

    def abandon(self, reason: str) -> None:
        """Close all files as they are. Reads and writes raise `LogClosed` from now on: they would act on the files of
        another log, if a topic is made that has the name of this one.
        """
        self._generation += 1
        self._layout += 1
        closed = LogClosed(f"{self.directory} is closed: {reason}")
        if self.failure is None:
            self.failure = closed
        self.chain.close()
        self._cache.end(closed)

    def _remove_at_once(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._cache.files.remove(path)


def _between(records: Buffer, begin_offset: int, end_offset: int) -> memoryview:
    """The batches that lie between these offsets."""
    view = memoryview(records)
    begin = end = 0
    for position, header in iter_batches(view):
        if header.base_offset >= end_offset:
            break
        end = position + header.size_bytes
        if header.base_offset < begin_offset:
            begin = end
    return view[begin:end]


def _refuse(appends: Sequence[Append], error: LogError) -> None:
    for append in appends:
        append.refusal = error
