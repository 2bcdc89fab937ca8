"""The part of a log that looks for what has rotted, and puts right what that has left in doubt."""

from collections.abc import Awaitable, Callable

from penstock.protocol.records.batch import MAGIC_POSITION, iter_batches_strict
from penstock.storage.damage import Damage, SegmentCheck, mends
from penstock.storage.files import Buffer
from penstock.storage.leader_epochs import LeaderEpochs
from penstock.storage.log.durable_log import DurableLog
from penstock.storage.producer_replay import AbortedSince, SegmentReplay, replay
from penstock.storage.producer_state import ProducerStates
from penstock.storage.segment import Segment

_ROUNDS_ON_A_THREAD = 2


class MendableLog(DurableLog):
    __slots__ = ()

    async def check(
        self, segment: Segment, rest: Callable[[], Awaitable[None]], *, by_epochs: bool = True
    ) -> None:
        """Look for damage in a segment, on a thread; `damaged` then has what was found. Raises `OSError`.

        `rest` is awaited after each slice: it takes a millisecond or two of the interpreter. `by_epochs`: a batch of
        another leader epoch than the saved one is damaged, too.
        """
        layout = self._layout
        end_offset = self.chain.end_of(self.chain.segments.index(segment))
        handle = self._cache.pin(segment.log_path)
        check = SegmentCheck(
            handle.file.read,
            segment.base_offset,
            segment.size_bytes,
            end_offset,
            LeaderEpochs(self.epochs.entries if by_epochs else ()),
        )
        try:
            while not check.is_complete and layout == self._layout:
                await self._offload.run(check.run)
                await rest()
        finally:
            self._cache.unpin(handle)
        if layout == self._layout:  # else it is looked at again another time
            # A check does not meet missing bytes of which the number is not known.
            missing = [
                each
                for each in self.damaged
                if each.segment == segment.base_offset and not each.has_known_size
            ]
            self.damaged.set_found(segment.base_offset, [*check.found, *missing])

    def is_whole(self, damage: Damage) -> bool:
        """Whether what was damaged is sound now, since somebody has restored the file. Waits for the disk."""
        segment = self.chain.segments[self.chain.number_of(damage.base_offset)]
        end = damage.position + damage.size_bytes if damage.has_known_size else segment.size_bytes
        if segment.base_offset != damage.segment or not damage.position < end <= segment.size_bytes:
            return False
        try:
            check = SegmentCheck(
                segment.file().read,
                segment.base_offset,
                end,
                damage.next_offset,
                self.epochs,
                begin=(damage.position, damage.base_offset),
            )
            while not check.is_complete and not check.found:
                check.run()
        except OSError:
            return False
        is_all = damage.has_known_size or check.next_offset == damage.next_offset
        return is_all and not check.found

    def mend(self, damage: Damage, batches: Buffer) -> bool:
        """Put the batches of another replica where damaged ones stand, if they are the same that stood there.

        In place: nothing is ever cut for it. Durable with the next sync. Raises `OSError`, `StorageError`.
        """
        if damage not in self.damaged or not mends(damage, batches, self.epochs):
            return False
        segment = self.chain.segments[self.chain.number_of(damage.base_offset)]
        head_bytes = MAGIC_POSITION + 1
        is_hiding = segment.file().read(head_bytes, damage.position) != bytes(batches[:head_bytes])
        if damage.has_known_size:
            self.chain.overwrite(segment, batches, damage.position)
        else:
            self.chain.complete(segment, batches, damage.position)
        self._pending = None  # the sync that comes next is to include it
        if is_hiding:  # where a batch ends could not be told, so indexes may end there
            segment.install_indexes(segment.rebuilt_indexes(), replace=True)
        self._learn_epochs(batches)
        self.damaged.remove(damage)
        return True

    def _learn_epochs(self, batches: Buffer) -> None:
        """Recovery may have passed over the batches with which an epoch begins."""
        for _, header in iter_batches_strict(batches):
            if header.leader_epoch >= 0 and self.epochs.learn(header.leader_epoch, header.base_offset):
                self._epochs_are_saved = False

    async def settle_doubt(self, *, now_ms: int) -> bool:
        """Tell the producers and aborted transactions anew, if they were in doubt and all that is needed is mended.

        Whether it was so. That takes as long as a recovery of all that was appended since the last checkpoint, on a
        thread, and then of what was appended meanwhile; only the little that came during the last is read here.
        """
        is_again = False
        while not self.is_closed:
            first_doubtful = self.producers.doubtful_from
            if first_doubtful is None:
                return is_again  # what was in doubt was cut off
            # What ended below the recovery point was told when nothing was in doubt.
            recovery_point = self.recovery_point
            begin = max(self._snapshots.newest_until(recovery_point) or 0, self.log_start_offset)
            if any(each.next_offset > begin for each in self.damaged):
                return False
            layout, generation = self._layout, self._generation
            aborted = AbortedSince(recovery_point)
            producers = ProducerStates(expiration_ms=self.producers.expiration_ms)
            self._snapshots.restore_newest(
                producers, recovery_point, log_start_offset=self.log_start_offset, now_ms=now_ms
            )
            for _ in range(_ROUNDS_ON_A_THREAD):
                await self._replay(producers, aborted, layout, generation)
            if layout == self._layout and generation == self._generation:
                break
            is_again = True
        else:
            return False
        replay(producers, self.chain.segments, self.chain.end_offset, aborted.note)
        for segment in self.chain.segments[self.chain.number_of(recovery_point) :]:
            segment.indexes().forget_transactions(recovery_point)
        for each in aborted.found:
            self.chain.segments[self.chain.number_of(each.last_offset)].note_aborted(each)
        self.producers = producers
        return producers.doubtful_from is None

    async def _replay(
        self, producers: ProducerStates, aborted: AbortedSince, layout: int, generation: int
    ) -> None:
        """On a thread, up to the present end or until the log is no longer what it was."""
        end_offset = self.chain.end_offset
        for segment in self.chain.segments[self.chain.number_of(producers.end_offset) :]:
            if producers.end_offset >= end_offset or layout != self._layout or generation != self._generation:
                return
            indexes = segment.indexes_if_cached()
            position = 0 if indexes is None else indexes.offsets.position_before(producers.end_offset)
            handle = self._cache.pin(segment.log_path)
            part = SegmentReplay(
                producers,
                segment,
                handle.file.read,
                position,
                end_offset=end_offset,
                on_completed=aborted.note,
            )
            try:
                while not part.is_complete and layout == self._layout and generation == self._generation:
                    await self._offload.run(part.run)
            finally:
                self._cache.unpin(handle)
