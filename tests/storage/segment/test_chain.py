from pathlib import Path

import pytest

from penstock.protocol.records.rules import rules_for
from penstock.storage.log.append import prepare_own
from penstock.storage.log.log import Log
from penstock.storage.segment.chain import split_by_record_count
from tests.storage.logs import (
    NOW_MS,
    all_values,
    append,
    append_all,
    bases,
    batch_of,
    config_of,
    new_log,
    read,
    values_in,
)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return new_log(str(tmp_path))


@pytest.mark.parametrize(
    ("sizes", "room", "most", "groups"),
    [
        ([1], 5, 5, [[1]]),
        ([3, 2, 1], 5, 5, [[3, 2], [1]]),
        ([2, 2], 1, 3, [[2], [2]]),
        ([1, 9, 1], 1, 3, [[1], [9], [1]]),
        ([9], 0, 3, [[9]]),
    ],
)
def test_batches_are_grouped_so_that_each_segment_holds_no_more_records_than_it_may(
    sizes: list[int], room: int, most: int, groups: list[list[int]]
) -> None:
    records = b"".join(batch_of(*(str(number) for number in range(size))) for size in sizes)
    found = split_by_record_count(prepare_own(records, rules_for(config_of()), NOW_MS), room, most)
    assert [[batch.header.record_count for batch in group] for group in found] == groups


def test_a_segment_rolls_before_it_would_exceed_its_bytes(tmp_path: Path) -> None:
    size = len(batch_of("aaaa"))
    log = new_log(str(tmp_path), segment_bytes=2 * size)
    for value in ("aaaa", "bbbb", "cccc"):
        append(log, value)
    assert bases(log) == [0, 2]
    assert all_values(log) == ["aaaa", "bbbb", "cccc"]


def test_a_segment_holds_no_more_records_than_the_topic_allows(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), segment_records=10)
    for number in range(25):
        append(log, str(number))
    assert bases(log) == [0, 10, 20]


def test_batches_of_one_append_are_spread_over_segments_by_their_records(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), segment_records=3)
    append(log, "0")
    append_all(log, batch_of("1", "2"), batch_of("3", "4"), batch_of("5", "6"), batch_of(*"789a"))
    assert bases(log) == [0, 3, 5, 7]
    assert all_values(log) == list("0123456789a")


def test_a_segment_rolls_when_its_records_span_too_much_time(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), segment_ms=1_000)
    append(log, "a", timestamp=NOW_MS - 2_000)
    append(log, "b", timestamp=NOW_MS - 1_000)
    append(log, "c", timestamp=NOW_MS)
    assert bases(log) == [0, 2]


def test_a_segment_rolls_when_its_index_is_full(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), index_interval_bytes=0, segment_index_bytes=48)
    for number in range(8):
        append(log, str(number), timestamp=NOW_MS - 100 + number)
    assert len(log.segments) > 1
    assert all_values(log) == [str(number) for number in range(8)]


def test_a_replicated_batch_with_a_far_higher_offset_starts_a_new_segment(log: Log) -> None:
    append(log, "a")
    log.append_replicated(batch_of("b", base_offset=2**31 + 5), now_ms=NOW_MS)
    assert bases(log) == [0, 2**31 + 5]
    assert values_in(read(log, 1)) == ["b"]


def test_rolling_an_empty_segment_does_nothing(log: Log) -> None:
    log.roll(now_ms=NOW_MS)
    assert bases(log) == [0]
