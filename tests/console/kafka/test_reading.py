from penstock.client.aio import FetchedPartition
from penstock.console.kafka.reading import PartitionRead, append_fetched
from penstock.protocol.records.record import Record


def _fetched(*offsets: int, next_offset: int) -> FetchedPartition:
    return FetchedPartition(records=[Record(o, 0, None, None) for o in offsets], next_offset=next_offset)


def _taken(fetched: FetchedPartition, end: int, count: int) -> tuple[list[int], int]:
    into = PartitionRead(records=[], position=0)
    append_fetched(into, fetched, end, count)
    return [record.offset for record in into.records], into.position


def test_records_are_read_up_to_the_requested_end() -> None:
    assert _taken(_fetched(0, 1, 2, 3, next_offset=4), end=2, count=10) == ([0, 1], 2)


def test_reading_continues_at_the_first_record_over_the_limit() -> None:
    assert _taken(_fetched(0, 4, 9, next_offset=10), end=20, count=2) == ([0, 4], 9)


def test_a_gap_without_records_is_skipped() -> None:
    assert _taken(_fetched(next_offset=7), end=20, count=2) == ([], 7)
