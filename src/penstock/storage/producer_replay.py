"""Reading a segment again for what it says of producers, as far as it is sound."""

from collections.abc import Callable

from penstock.config.topic import LONG_MAX
from penstock.storage.damage import next_sound_batch
from penstock.storage.log_producers import marker_or_none
from penstock.storage.producer_state import CompletedTransaction, ProducerStates
from penstock.storage.segment import Segment
from penstock.storage.segment_scan import SegmentScan

OnCompleted = Callable[[CompletedTransaction], None]


def ignore(_completed: CompletedTransaction) -> None:
    pass


def replay(
    producers: ProducerStates, segment: Segment, end_offset: int, on_completed: OnCompleted = ignore
) -> None:
    """Take in the batches of a segment below `end_offset` that `producers` do not know yet. Waits for the disk.

    What has rotted is passed over, and leaves the producers in doubt.
    """
    read, size_bytes = segment.file().read, segment.size_bytes
    position = segment.indexes().offsets.position_before(producers.end_offset)
    next_offset = segment.base_offset
    while True:
        scan = SegmentScan(read, position, size_bytes, next_offset, check_crc=True)
        for _, header in scan:
            if header.base_offset >= end_offset:
                return
            if header.base_offset >= producers.end_offset:
                marker = marker_or_none(header, scan.batch(header)) if header.is_control else None
                completed = producers.replay(header, marker)
                if completed is not None:
                    on_completed(completed)
        if scan.reason is None or scan.next_offset >= end_offset:
            return
        sound = next_sound_batch(
            read, scan.position, size_bytes, scan.next_offset, LONG_MAX, bad_header=scan.bad_header
        )
        if sound is None or sound[1] > producers.end_offset:
            producers.doubt(max(scan.next_offset, producers.end_offset))
        if sound is None:
            return
        position, next_offset = sound
