"""Reading a segment again for what it says of producers, as far as it is sound."""

from collections.abc import Callable

from penstock.storage.confirmed_scan import sound_batches
from penstock.storage.log_producers import marker_or_none
from penstock.storage.producer_state import CompletedTransaction, ProducerStates
from penstock.storage.segment import Segment

OnCompleted = Callable[[CompletedTransaction], None]


def ignore(_completed: CompletedTransaction) -> None:
    pass


def replay(
    producers: ProducerStates, segment: Segment, end_offset: int, on_completed: OnCompleted = ignore
) -> None:
    """Take in the batches of a segment below `end_offset` that `producers` do not know yet. Waits for the disk.

    What has rotted is passed over, and leaves the producers in doubt.
    """

    def doubt(offset: int, next_offset: int) -> None:
        if offset < end_offset and next_offset > producers.end_offset:
            producers.doubt(max(offset, producers.end_offset))

    position = segment.indexes().offsets.position_before(producers.end_offset)
    for batch in sound_batches(segment.file().read, position, segment.size_bytes, segment.base_offset, doubt):
        header = batch.header
        if header.base_offset >= end_offset:
            return
        if header.base_offset >= producers.end_offset:
            marker = marker_or_none(header, batch.content) if header.is_control else None
            completed = producers.replay(header, marker)
            if completed is not None:
                on_completed(completed)
