import struct

from penstock.storage.segment.time_index import NO_TIMESTAMP, TimeIndex

BASE = 500


def index_of(*pairs: tuple[int, int]) -> TimeIndex:
    index = TimeIndex(BASE)
    for timestamp, offset in pairs:
        index.add(timestamp, offset)
    return index


def test_an_entry_is_a_timestamp_and_a_relative_offset_in_twelve_bytes() -> None:
    assert TimeIndex(BASE).add(1_700_000_000_123, 507) == struct.pack(">qI", 1_700_000_000_123, 7)


def test_an_index_round_trips() -> None:
    index = index_of((10, 501), (1_700_000_000_123, 507), (2**62, 2**31 + BASE))
    loaded = TimeIndex(BASE, index.tail_bytes(0))
    assert loaded.tail_bytes(0) == index.tail_bytes(0)
    assert (loaded.last_timestamp, loaded.last_offset) == (2**62, 2**31 + BASE)


def test_a_timestamp_that_is_not_greater_adds_nothing() -> None:
    index = index_of((10, 501))
    assert index.add(10, 502) == b""
    assert index.add(9, 503) == b""
    assert len(index) == 1


def test_a_lookup_returns_the_last_offset_below_which_all_timestamps_are_smaller() -> None:
    index = index_of((10, 501), (20, 507))
    assert index.offset_before(9) == BASE
    assert index.offset_before(10) == 501
    assert index.offset_before(19) == 501
    assert index.offset_before(99) == 507


def test_an_empty_index_has_no_timestamp() -> None:
    assert TimeIndex(BASE).last_timestamp == NO_TIMESTAMP


def test_truncation_forgets_the_entries_at_and_above_the_offset() -> None:
    index = index_of((10, 501), (20, 507))
    index.truncate_to(507)
    assert (index.last_timestamp, index.last_offset) == (10, 501)


def test_an_index_that_does_not_ascend_is_implausible() -> None:
    swapped = index_of((20, 507)).tail_bytes(0) + index_of((10, 501)).tail_bytes(0)
    assert not TimeIndex(BASE, swapped).is_plausible()
    assert index_of((10, 501), (20, 507)).is_plausible()
