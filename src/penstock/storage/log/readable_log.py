"""The part of a log that changes nothing: reading records, and looking up offsets, times, epochs and aborts."""

from collections.abc import Callable, Sequence
from functools import partial

from penstock.config.topic import TopicConfig
from penstock.observability.offload import Offload
from penstock.storage.damaged_ranges import DamagedRanges
from penstock.storage.files import FileSystem
from penstock.storage.leader_epochs import EpochEntry
from penstock.storage.log.cold_read import ColdRead
from penstock.storage.log.errors import LogCorrupt, OffsetOutOfRange, StorageFailure
from penstock.storage.log.values import COLD, Cold, LoadedLog, LogSlice, TimestampOffset
from penstock.storage.segment import Segment
from penstock.storage.segment_chain import SegmentChain
from penstock.storage.segment_read import NotCached
from penstock.storage.timestamp_search import TimestampSearch
from penstock.storage.transaction_index import AbortedTransaction


def _ignore() -> None:
    pass


class ReadableLog:
    """Only the event loop calls it. What may wait for the disk is awaited, and waits on a thread."""

    __slots__ = (
        "_cache",
        "_config",
        "_generation",
        "_layout",
        "_offload",
        "chain",
        "clean_offset",
        "damage",
        "damaged",
        "directory",
        "durable_offset",
        "epochs",
        "failure",
        "idle_sweeps",
        "log_start_offset",
        "losses",
        "on_suspicion",
        "partition",
        "producers",
        "recovery_point",
        "topic",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        chain: SegmentChain,
        config: TopicConfig,
        *,
        loaded: LoadedLog,
        offload: Offload,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.chain = chain
        self.directory = chain.directory
        self.log_start_offset = loaded.log_start_offset
        self.durable_offset = loaded.durable_offset
        self.recovery_point = loaded.recovery_point
        self.producers = loaded.producers
        self.epochs = loaded.epochs
        self.clean_offset = loaded.clean_offset
        """Where the last compaction ended: the next begins there. None until the cleaner has looked it up."""
        self.damage = loaded.damage
        self.damaged = DamagedRanges(loaded.damaged)
        self.losses = loaded.losses
        """What was missing when the log was opened."""
        self.on_suspicion: Callable[[], None] = _ignore
        """Called when a read has found bytes that are not what was written."""
        self.failure: StorageFailure | None = None
        self.idle_sweeps = 0
        """How often `LogStore.release_idle` has come by since the log was last read or written."""
        self._cache = loaded.cache
        self._config = config
        self._offload = offload
        self._generation = 0
        """Changes when records at the end are dropped: a sync that began before says nothing about those after."""
        self._layout = 0
        """Changes when segments are dropped or replaced: a read that was planned before looks again."""

    def __repr__(self) -> str:
        return f"Log({self.topic}-{self.partition}, {self.log_start_offset} to {self.log_end_offset})"

    @property
    def config(self) -> TopicConfig:
        return self._config

    @property
    def log_end_offset(self) -> int:
        return self.chain.end_offset

    @property
    def committed_offset(self) -> int:
        """All below may be acknowledged and shown: what is durable, unless the topic waives that."""
        return self.durable_offset if self._config.flush_messages == 1 else self.chain.end_offset

    @property
    def segments(self) -> Sequence[Segment]:
        """Ascending; the last is active."""
        return self.chain.segments

    @property
    def size_bytes(self) -> int:
        return self.chain.size_bytes

    @property
    def files(self) -> FileSystem:
        """The file system, for paths of this log. Raises `LogClosed` once the log is closed."""
        return self._cache.files

    @property
    def first_missing_offset(self) -> int | None:
        """The first record that was missing when the log was opened, and still is."""
        missing = (loss.damage.base_offset for loss in self.losses if loss.damage in self.damaged)
        return next(missing, None)

    @property
    def generation(self) -> int:
        """Changes when records at the end are dropped: other records may have their offsets by now."""
        return self._generation

    @property
    def is_closed(self) -> bool:
        """Whether it was closed or deleted: then it cannot even be read. After a failure of the disk it can be."""
        return self._cache.refusal is not None

    def require_open(self) -> None:
        """Raises `LogClosed`."""
        refusal = self._cache.refusal
        if refusal is not None:
            raise refusal.with_traceback(None)

    # -- reading --------------------------------------------------------------------------------------

    def read(
        self,
        offset: int,
        size_bytes_max: int,
        *,
        offset_limit: int,
        at_least_one: bool = True,
        check_crc: bool = False,
    ) -> LogSlice | Cold:
        """Whole batches of one segment, from the one that contains `offset`, all below `offset_limit`.

        Never waits: gives `COLD` when the records are not in memory. Empty when nothing lies below the limit, or
        the first batch is larger than `size_bytes_max` and `at_least_one` is off. Raises `OffsetOutOfRange`, and
        `LogCorrupt` for what is known to be damaged or, with `check_crc`, found to be.
        """
        limit = self._check_range(offset, offset_limit)
        if offset >= limit:
            return LogSlice(b"", offset)
        try:
            cut = self.chain.read(
                offset,
                limit,
                size_bytes_max,
                at_least_one=at_least_one,
                check_crc=check_crc,
                begin=self._end_of_damage(offset) if self.damaged else 0,
                end=self._begin_of_damage(offset) if self.damaged else None,
            )
        except NotCached:
            return COLD
        except LogCorrupt:
            self.on_suspicion()
            raise
        return LogSlice(b"", offset) if cut is None else LogSlice(cut.data, cut.next_offset)

    async def read_cold(
        self,
        offset: int,
        size_bytes_max: int,
        *,
        offset_limit: int,
        at_least_one: bool = True,
    ) -> LogSlice:
        """Like `read`, but off the loop: for records that must come from the disk, whose checksums are checked."""
        while True:
            limit = self._check_range(offset, offset_limit)
            if offset >= limit:
                return LogSlice(b"", offset)
            layout = self._layout
            cut = None
            begin, end = self._end_of_damage(offset), self._begin_of_damage(offset)
            for number in range(self.chain.number_of(offset), len(self.chain.segments)):
                segment = self.chain.segments[number]
                if segment.base_offset >= limit:
                    break
                cold = ColdRead(
                    self._cache,
                    segment,
                    offset=offset,
                    offset_limit=limit,
                    size_bytes_max=size_bytes_max,
                    at_least_one=at_least_one,
                    end_offset=self.chain.end_of(number),
                    begin=begin,
                    end=end,
                )
                begin, end = 0, None
                try:
                    cut = await self._offload.run(cold.run)
                except LogCorrupt:
                    if layout == self._layout:
                        self.on_suspicion()
                        raise
                finally:
                    cold.end(is_current=layout == self._layout)
                if cut is not None or layout != self._layout:
                    break
            if layout == self._layout:  # else segments were dropped or replaced meanwhile: look again
                return LogSlice(b"", offset) if cut is None else LogSlice(cut.data, cut.next_offset)

    def _check_range(self, offset: int, offset_limit: int) -> int:
        """The limit for reads, which after a failed sync is what is known to be durable."""
        end_offset = self.chain.end_offset
        if not self.log_start_offset <= offset <= end_offset:
            raise OffsetOutOfRange(offset, self.log_start_offset, end_offset)
        self.idle_sweeps = 0
        if self.failure is not None:
            self.require_open()
            end_offset = self.durable_offset
        limit = min(offset_limit, end_offset)
        return self._before_damage(offset, limit) if self.damaged else limit

    def _before_damage(self, offset: int, limit: int) -> int:
        for damage in self.damaged:
            if damage.base_offset > offset:
                return min(limit, damage.base_offset)
            if offset < damage.next_offset:
                raise LogCorrupt(f"{self.directory} is damaged: {damage}")
        return limit

    def _end_of_damage(self, offset: int) -> int:
        """Where batches go on behind the last damage before `offset` in the segment that this lies in."""
        segment = self.chain.segments[self.chain.number_of(offset)].base_offset
        ends = [
            each.position + each.size_bytes
            for each in self.damaged
            if each.segment == segment and each.next_offset <= offset
        ]
        return max(ends, default=0)

    def _begin_of_damage(self, offset: int) -> int | None:
        """Where the first damage behind `offset` begins in the segment that this lies in: the file may end there."""
        segment = self.chain.segments[self.chain.number_of(offset)].base_offset
        begins = [
            each.position for each in self.damaged if each.segment == segment and each.base_offset > offset
        ]
        return min(begins, default=None)

    # -- looking up -----------------------------------------------------------------------------------

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest transaction begins that is open, or whose end is not committed yet.

        Never below the log start: records there are deleted, and nobody can be sent to read them.
        """
        unstable = self.producers.first_unstable_offset
        return None if unstable is None else max(unstable, self.log_start_offset)

    def epoch_of(self, offset: int) -> int:
        """The leader epoch in which the record at `offset` was written, -1 when it is not known."""
        epoch = self.epochs.epoch_for(offset)
        return -1 if epoch is None else epoch

    def epoch_end_offset(self, epoch: int) -> EpochEntry:
        """The greatest known epoch at or below `epoch` and where it ends; (-1, -1) when there is none (KIP-101)."""
        return self.epochs.end_offset_for(epoch, self.chain.end_offset)

    def aborted_transactions(self, begin: int, end: int) -> list[AbortedTransaction]:
        """Transactions with records in [begin, end) that were aborted. May wait for a small file."""
        aborted: list[AbortedTransaction] = []
        for segment in self.chain.segments[self.chain.number_of(begin) :]:
            found, is_complete = segment.indexes().transactions.overlapping(begin, end)
            aborted += found
            if is_complete:
                break
        return aborted

    async def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record whose timestamp is `timestamp` or later."""
        return await self._search(lambda search: search.first_at_or_after(timestamp))

    async def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """The first record that has the greatest timestamp of all."""
        return await self._search(lambda search: search.first_with_greatest())

    async def _search(
        self, find: Callable[[TimestampSearch], TimestampOffset | None]
    ) -> TimestampOffset | None:
        while True:
            self.require_open()
            self.idle_sweeps = 0
            layout = self._layout
            search = TimestampSearch(self.chain.segments, self.log_start_offset)
            try:
                found = await self._offload.run(partial(find, search))
            except FileNotFoundError:
                if layout == self._layout:
                    raise
                continue  # a segment was deleted meanwhile
            if layout == self._layout:
                return found
