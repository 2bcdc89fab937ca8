"""Re-reads segments to rebuild producer state, as far as the segments are valid."""

from collections.abc import Callable, Sequence

from penstock.storage.damage.confirmed_scan import sound_batches
from penstock.storage.damage.damage import Read
from penstock.storage.producers.appends import marker_or_none
from penstock.storage.producers.state import ProducerStates
from penstock.storage.segment.segment import Segment
from penstock.storage.segment.transaction_index import AbortedTransaction, CompletedTransaction

_SLICE_BYTES = 1 << 20
_SLICE_BATCHES = 500

OnCompleted = Callable[[CompletedTransaction], None]


def ignore(_completed: CompletedTransaction) -> None:
    pass


class AbortedSince:
    """Collects the aborted transactions that ended at or after an offset."""

    __slots__ = ("_offset", "found")

    def __init__(self, offset: int) -> None:
        self._offset = offset
        self.found: list[AbortedTransaction] = []

    def note(self, completed: CompletedTransaction) -> None:
        if completed.is_aborted and completed.last_offset >= self._offset:
            self.found.append(AbortedTransaction.of(completed))


class SegmentReplay:
    """Replays the batches of a segment below `end_offset` that `producers` do not know yet, slice by slice.

    Corrupt batches are skipped, and leave the producers unverified. May run on a thread, with separate producers.
    """

    __slots__ = ("_batches", "_end_offset", "_on_completed", "_producers", "is_complete")

    def __init__(
        self,
        producers: ProducerStates,
        segment: Segment,
        read: Read,
        position: int,
        *,
        end_offset: int,
        on_completed: OnCompleted,
    ) -> None:
        """`position` is where to begin reading: the position of any batch at or below the first unknown batch."""

        def mark_unverified(offset: int, next_offset: int) -> None:
            if offset < end_offset and next_offset > producers.end_offset:
                producers.mark_unverified(max(offset, producers.end_offset))

        self._producers = producers
        self._end_offset = end_offset
        self._on_completed = on_completed
        self._batches = sound_batches(
            read, position, segment.size_bytes, segment.base_offset, mark_unverified
        )
        self.is_complete = False

    def run(self) -> None:
        """Replay the next slice. Waits for the disk."""
        producers, taken_bytes = self._producers, 0
        for count, batch in enumerate(self._batches, 1):
            header = batch.header
            if header.base_offset >= self._end_offset:
                break
            if header.base_offset >= producers.end_offset:
                marker = marker_or_none(header, batch.content) if header.is_control else None
                completed = producers.replay(header, marker)
                if completed is not None:
                    self._on_completed(completed)
            taken_bytes += header.size_bytes
            if count >= _SLICE_BATCHES or taken_bytes >= _SLICE_BYTES:
                return
        self.is_complete = True


def replay(
    producers: ProducerStates,
    segments: Sequence[Segment],
    end_offset: int,
    on_completed: OnCompleted = ignore,
) -> None:
    """Replay the batches that `producers` do not know yet, up to `end_offset`. Waits for the disk."""
    for number, segment in enumerate(segments):
        if producers.end_offset >= end_offset:
            break
        if number + 1 == len(segments) or segments[number + 1].base_offset > producers.end_offset:
            position = segment.indexes().offsets.position_before(producers.end_offset)
            part = SegmentReplay(
                producers,
                segment,
                segment.file().read,
                position,
                end_offset=end_offset,
                on_completed=on_completed,
            )
            while not part.is_complete:
                part.run()
    producers.end_offset = end_offset
