"""Finds damage in a log, repairs it with valid batches, and rebuilds the state that the damage made unverifiable."""

from collections.abc import Awaitable, Callable

from penstock.protocol.records.batch import MAGIC_POSITION, iter_batches_strict
from penstock.storage.damage.damage import Damage, SegmentCheck, repairs
from penstock.storage.files import Buffer
from penstock.storage.leader_epochs import LeaderEpochs
from penstock.storage.log.log import Log
from penstock.storage.producers.replay import AbortedSince, SegmentReplay, replay
from penstock.storage.producers.state import ProducerStates
from penstock.storage.segment.segment import Segment

_ROUNDS_ON_A_THREAD = 2


class LogRepair:
    """A client of one log, without separate state. Only the event loop calls it."""

    __slots__ = ("_log",)

    def __init__(self, log: Log) -> None:
        self._log = log

    async def check(
        self, segment: Segment, rest: Callable[[], Awaitable[None]], *, by_epochs: bool = True
    ) -> None:
        """Look for damage in a segment, on a thread; `Log.damaged` then includes the result. Raises `OSError`.

        `rest` is awaited after each slice: it takes a millisecond or two of the interpreter. `by_epochs`: a batch of
        another leader epoch than the saved one is damaged, too.
        """
        log, chain = self._log, self._log.chain
        layout = chain.layout
        end_offset = chain.end_of(chain.segments.index(segment))
        handle = log.cache.pin(segment.log_path)
        check = SegmentCheck(
            handle.file.read,
            segment.base_offset,
            segment.size_bytes,
            end_offset,
            LeaderEpochs(log.epochs.entries if by_epochs else ()),
        )
        try:
            while not check.is_complete and layout == chain.layout:
                await log.offload.run(check.run)
                await rest()
        finally:
            log.cache.unpin(handle)
        if layout == chain.layout:  # otherwise it is checked again later
            # A check does not find missing bytes whose number is not known.
            missing = [
                each
                for each in log.damaged
                if each.segment == segment.base_offset and not each.has_known_size
            ]
            log.damaged.set_found(segment.base_offset, [*check.found, *missing])

    def is_sound(self, damage: Damage) -> bool:
        """Whether a damaged range is valid now: an operator may have restored the file. Waits for the disk."""
        segment = self._segment_of(damage)
        end = damage.position + damage.size_bytes if damage.has_known_size else segment.size_bytes
        if segment.base_offset != damage.segment or not damage.position < end <= segment.size_bytes:
            return False
        try:
            check = SegmentCheck(
                segment.file().read,
                segment.base_offset,
                end,
                damage.next_offset,
                self._log.epochs,
                begin=(damage.position, damage.base_offset),
            )
            while not check.is_complete and not check.found:
                check.run()
        except OSError:
            return False
        is_all = damage.has_known_size or check.next_offset == damage.next_offset
        return is_all and not check.found

    def repair(self, damage: Damage, batches: Buffer) -> bool:
        """Overwrite damaged batches with batches of another replica, if they are the same batches.

        In place: nothing is ever truncated. Durable with the next sync. Raises `OSError`, `StorageError`.
        """
        log = self._log
        if damage not in log.damaged or not repairs(damage, batches, log.epochs):
            return False
        segment = self._segment_of(damage)
        head_bytes = MAGIC_POSITION + 1
        is_hiding = segment.file().read(head_bytes, damage.position) != bytes(batches[:head_bytes])
        if damage.has_known_size:
            log.chain.overwrite(segment, batches, damage.position)
        else:
            log.chain.complete(segment, batches, damage.position)
        log.require_segment_sync()
        if is_hiding:  # the end of a batch could not be read, so indexes may end there
            segment.install_indexes(segment.rebuilt_indexes(), replace=True)
        for _, header in iter_batches_strict(batches):
            # Recovery may have skipped the batches with which an epoch begins.
            if header.leader_epoch >= 0:
                log.epochs.learn(header.leader_epoch, header.base_offset)
        log.damaged.remove(damage)
        return True

    def _segment_of(self, damage: Damage) -> Segment:
        chain = self._log.chain
        return chain.segments[chain.number_of(damage.base_offset)]

    async def rebuild_producer_state(self, *, now_ms: int) -> bool:
        """Rebuild producers and aborted transactions, if they were unverified and everything needed for it is repaired.

        Returns True if it did. This takes as long as a recovery from the last checkpoint, on a thread, and then as long
        as a recovery of the records appended meanwhile; only the few appended during the last round are read here.
        """
        log, chain = self._log, self._log.chain
        is_again = False
        while not log.is_closed:
            if log.producers.unverified_from is None:
                return is_again  # the unverified part was truncated
            snapshots = log.snapshots
            # No snapshot is written while anything is unverified. The recovery point may have moved on.
            begin = max(snapshots.newest_until(log.recovery_point) or 0, log.log_start_offset)
            if any(each.next_offset > begin for each in log.damaged):
                return False
            layout, generation = chain.layout, log.generation
            aborted = AbortedSince(begin)
            producers = ProducerStates(expiration_ms=log.producers.expiration_ms)
            snapshots.restore_newest(
                producers, chain.segments, begin, log_start_offset=log.log_start_offset, now_ms=now_ms
            )
            for _ in range(_ROUNDS_ON_A_THREAD):
                await self._replay(producers, aborted, layout, generation)
            if layout == chain.layout and generation == log.generation:
                break
            is_again = True
        else:
            return False
        replay(producers, chain.segments, chain.end_offset, aborted.note)
        for segment in chain.segments[chain.number_of(begin) :]:
            segment.indexes().forget_transactions(begin)
        for each in aborted.found:
            chain.segments[chain.number_of(each.last_offset)].note_aborted(each)
        log.producers = producers
        return producers.unverified_from is None

    async def _replay(
        self, producers: ProducerStates, aborted: AbortedSince, layout: int, generation: int
    ) -> None:
        """On a thread, up to the current end or until the log has changed."""
        log, chain = self._log, self._log.chain
        end_offset = chain.end_offset
        for segment in chain.segments[chain.number_of(producers.end_offset) :]:
            if producers.end_offset >= end_offset or layout != chain.layout or generation != log.generation:
                return
            indexes = segment.indexes_if_cached()
            position = 0 if indexes is None else indexes.offsets.position_before(producers.end_offset)
            handle = log.cache.pin(segment.log_path)
            part = SegmentReplay(
                producers,
                segment,
                handle.file.read,
                position,
                end_offset=end_offset,
                on_completed=aborted.note,
            )
            try:
                while not part.is_complete and layout == chain.layout and generation == log.generation:
                    await log.offload.run(part.run)
            finally:
                log.cache.unpin(handle)
