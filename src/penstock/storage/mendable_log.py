"""The part of a log that looks for what has rotted, and puts right what that has left in doubt."""

from collections.abc import Awaitable, Callable

from penstock.protocol.records.batch import MAGIC_POSITION, iter_batches_strict
from penstock.storage.damage import Damage, SegmentCheck, mends
from penstock.storage.durable_log import DurableLog
from penstock.storage.files import Buffer
from penstock.storage.leader_epochs import LeaderEpochs
from penstock.storage.producer_state import CompletedTransaction
from penstock.storage.segment import Segment
from penstock.storage.transaction_index import AbortedTransaction


class MendableLog(DurableLog):
    __slots__ = ()

    async def check(self, segment: Segment, rest: Callable[[], Awaitable[None]]) -> None:
        """Look for damage in a segment, on a thread; `damaged` then has what was found. Raises `OSError`.

        `rest` is awaited after each slice: it takes a millisecond or two of the interpreter.
        """
        layout = self._layout
        end_offset = self.chain.end_of(self.chain.segments.index(segment))
        handle = self._cache.pin(segment.log_path)
        check = SegmentCheck(
            handle.file.read,
            segment.base_offset,
            segment.size_bytes,
            end_offset,
            LeaderEpochs(self.epochs.entries),
        )
        try:
            while not check.is_complete and layout == self._layout:
                await self._offload.run(check.run)
                await rest()
        finally:
            self._cache.unpin(handle)
        if layout == self._layout:  # else it is looked at again another time
            others = [each for each in self.damaged if each.segment != segment.base_offset]
            self.damaged = sorted([*others, *check.found], key=lambda each: each.base_offset)

    def mend(self, damage: Damage, batches: Buffer) -> bool:
        """Put the batches of another replica where damaged ones stand, if they are the same that stood there.

        In place: nothing is ever cut for it. Durable with the next sync. Raises `OSError`.
        """
        if damage not in self.damaged or not mends(damage, batches, self.epochs):
            return False
        segment = self.chain.segments[self.chain.number_of(damage.base_offset)]
        head_bytes = MAGIC_POSITION + 1
        is_hiding = segment.file().read(head_bytes, damage.position) != bytes(batches[:head_bytes])
        self.chain.overwrite(segment, batches, damage.position)
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

    def settle_doubt(self, *, now_ms: int) -> bool:
        """Tell the producers and aborted transactions anew, if they were in doubt and all that is needed is mended.

        Whether it was so. Waits for the disk, as long as a recovery of what was appended since the last checkpoint.
        """
        first_doubtful = self.producers.doubtful_from
        if first_doubtful is None:
            return False
        begin = max(self._snapshots.newest or 0, self.log_start_offset)
        if any(each.next_offset > begin for each in self.damaged):
            return False
        aborted: list[AbortedTransaction] = []

        def note(completed: CompletedTransaction) -> None:
            # What ended below the recovery point was told when nothing was in doubt.
            if completed.is_aborted and completed.last_offset >= self.recovery_point:
                aborted.append(AbortedTransaction.of(completed))

        self._snapshots.restore(
            self.producers,
            self.chain.segments,
            log_start_offset=self.log_start_offset,
            end_offset=self.chain.end_offset,
            now_ms=now_ms,
            on_completed=note,
        )
        for segment in self.chain.segments[self.chain.number_of(self.recovery_point) :]:
            segment.indexes().forget_transactions(self.recovery_point)
        for each in aborted:
            self.chain.segments[self.chain.number_of(each.last_offset)].note_aborted(each)
        return self.producers.doubtful_from is None
