import pytest

from penstock.console.paging import Placed, format_cursor, newest_first, oldest_first, parse_cursor
from penstock.console.refusals import Refused
from penstock.protocol.records.record import Record


def _records(*offsets_and_times: tuple[int, int]) -> list[Record]:
    return [Record(offset, timestamp, None, None) for offset, timestamp in offsets_and_times]


def _places(placed: list[Placed]) -> list[tuple[int, int]]:
    return [(partition, record.offset) for partition, record in placed]


def test_partitions_are_merged_by_time_and_keep_their_own_order() -> None:
    found = {0: _records((0, 10), (1, 40)), 1: _records((7, 20), (8, 5), (9, 50))}
    page = oldest_first(found, {0: 2, 1: 10}, 10)
    assert _places(page.records) == [(0, 0), (1, 7), (1, 8), (0, 1), (1, 9)]
    assert page.cursor == {0: 2, 1: 10}


def test_the_next_page_begins_where_this_one_ended() -> None:
    found = {0: _records((0, 10), (1, 40)), 1: _records((7, 20), (8, 30))}
    page = oldest_first(found, {0: 2, 1: 9}, 3)
    assert _places(page.records) == [(0, 0), (1, 7), (1, 8)]
    assert page.cursor == {0: 1, 1: 9}


def test_the_newest_come_first_and_older_pages_stay_below_them() -> None:
    found = {0: _records((0, 10), (1, 40)), 1: _records((7, 20), (8, 30))}
    page = newest_first(found, {0: 0, 1: 7}, 3)
    assert _places(page.records) == [(0, 1), (1, 8), (1, 7)]
    assert page.cursor == {0: 1, 1: 7}


def test_backward_paging_shows_every_record_once() -> None:
    stored = {0: _records(*((n, n * 3) for n in range(10))), 1: _records(*((n, n * 2) for n in range(7)))}
    before = {0: 10, 1: 7}
    seen: list[tuple[int, int]] = []
    while any(before.values()):
        found = {p: [r for r in records if r.offset < before[p]] for p, records in stored.items()}
        page = newest_first(found, {0: 0, 1: 0}, 4)
        seen += _places(page.records)
        before = page.cursor
    assert sorted(seen) == [(0, n) for n in range(10)] + [(1, n) for n in range(7)]


def test_a_cursor_round_trips() -> None:
    assert parse_cursor(format_cursor({3: 17, 0: 2})) == {0: 2, 3: 17}
    assert parse_cursor("") == {}


@pytest.mark.parametrize("text", ["0", "0:a", "0:1:2", "<script>"])
def test_an_invalid_cursor_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        parse_cursor(text)
