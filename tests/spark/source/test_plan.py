"""How much a batch reads and how it is split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.arrow.ranges import OffsetRange
from penstock.client.metadata import TopicPartition
from penstock.spark.source.plan import TASK_RECORDS, limit_records, ranges_between, share_tasks, split

A, B, C = (TopicPartition(topic, 0) for topic in "abc")


def span(start: int, end: int, topic: str = "a") -> OffsetRange:
    return OffsetRange(topic=topic, partition=0, start=start, end=end)


def bounds(ranges: list[OffsetRange]) -> list[tuple[str, int, int]]:
    return [(each.topic, each.start, each.end) for each in ranges]


def test_what_is_new_between_two_offsets_is_read_and_what_stands_still_is_not() -> None:
    ranges, losses = ranges_between({A: 3, B: 5}, {A: 9, B: 5, C: 4}, {C: 0})
    assert bounds(ranges) == [("a", 3, 9), ("c", 0, 4)]
    assert losses == []


def test_a_missing_partition_or_one_that_went_back_or_starts_late_is_a_loss() -> None:
    ranges, losses = ranges_between({A: 3, B: 5}, {B: 2, C: 4}, {C: 1})
    assert bounds(ranges) == [("c", 1, 4)]
    assert losses == [
        "a-0 no longer exists",
        "b-0 now ends at offset 2, but was read up to offset 5 before",
        "c-0 is new but starts at offset 1 instead of 0",
    ]
    assert ranges_between({}, {C: 4}, {}) == ([], ["c-0 no longer exists"])


def test_a_limit_is_shared_in_proportion_to_what_waits() -> None:
    assert limit_records({A: 0, B: 10}, {A: 300, B: 110}, 40) == {A: 30, B: 20}
    assert limit_records({A: 0, B: 10}, {A: 300, B: 110}, 1000) == {A: 300, B: 110}


def test_a_small_partition_does_not_starve_beside_a_large_one() -> None:
    end = limit_records({A: 0, B: 0, C: 7}, {A: 1_000_000, B: 1, C: 7}, 10)
    assert end == {A: 9, B: 1, C: 7}


def test_with_more_partitions_than_records_to_give_the_fullest_come_first() -> None:
    assert limit_records({A: 0, B: 0, C: 0}, {A: 5, B: 9, C: 7}, 2) == {A: 0, B: 1, C: 1}


@given(
    st.dictionaries(st.integers(0, 9), st.integers(0, 10**12), min_size=1),
    st.integers(1, 10**12),
)
def test_a_limited_end_takes_all_that_the_limit_allows_and_never_more(
    sizes: dict[int, int], records_max: int
) -> None:
    start = {TopicPartition("t", number): 100 * number for number in sizes}
    latest = {TopicPartition("t", number): 100 * number + size for number, size in sizes.items()}
    end = limit_records(start, latest, records_max)
    assert all(start[tp] <= end[tp] <= latest[tp] for tp in latest)
    assert sum(end[tp] - start[tp] for tp in end) == min(records_max, sum(sizes.values()))


def test_ranges_are_cut_by_their_share_until_there_are_enough_tasks() -> None:
    ranges = [span(0, 300), span(0, 100, "b")]
    assert bounds(split(ranges, partitions_min=4)) == [
        ("a", 0, 100),
        ("a", 100, 200),
        ("a", 200, 300),
        ("b", 0, 100),
    ]
    assert split(ranges, partitions_min=2) == ranges
    assert split([*ranges, span(5, 5, "c")]) == ranges


def test_no_task_has_more_records_than_allowed() -> None:
    assert bounds(split([span(10, 17)], records_max=3)) == [("a", 10, 12), ("a", 12, 14), ("a", 14, 17)]
    assert len(split([span(0, 10), span(0, 3, "b")], records_max=5, partitions_min=3)) == 3
    assert bounds(split([span(0, 2)], partitions_min=10)) == [("a", 0, 1), ("a", 1, 2)]


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), max_size=6),
    st.none() | st.integers(1, 50),
    st.none() | st.integers(1, 50),
)
def test_split_ranges_cover_exactly_the_same_offsets(
    raw: list[tuple[int, int]], partitions_min: int | None, records_max: int | None
) -> None:
    ranges = [span(start, start + size, str(number)) for number, (start, size) in enumerate(raw)]
    parts = split(ranges, partitions_min=partitions_min, records_max=records_max)
    covered = {(part.topic, offset) for part in parts for offset in range(part.start, part.end)}
    assert covered == {(each.topic, offset) for each in ranges for offset in range(each.start, each.end)}
    assert sum(part.size for part in parts) == len(covered)
    if records_max is not None:
        assert all(part.size <= records_max for part in parts)


def sizes(tasks: list[tuple[OffsetRange, ...]]) -> list[int]:
    return sorted(sum(each.size for each in task) for task in tasks)


def test_a_thousand_small_partitions_share_a_task_for_each_core() -> None:
    small = [span(0, 5, str(number)) for number in range(1000)]
    assert sizes(share_tasks(small, cores=4)) == [1250] * 4
    assert len(share_tasks(small, cores=4, partitions_min=40)) == 40
    assert sizes(share_tasks(small, cores=4, records_max=500)) == [500] * 10


def test_large_partitions_have_a_task_of_their_own() -> None:
    large = [span(0, 10 * TASK_RECORDS, str(number)) for number in range(6)]
    assert share_tasks(large, cores=1) == [(each,) for each in large]
    mixed = [*large, *(span(0, 1, f"s{number}") for number in range(1000))]
    assert sizes(share_tasks(mixed, cores=2))[-6:] == [10 * TASK_RECORDS] * 6


@given(
    st.lists(st.integers(1, 100_000), max_size=30),
    st.integers(1, 8),
    st.none() | st.integers(1, 20),
    st.none() | st.integers(1, 50_000),
)
def test_tasks_read_every_range_once_and_keep_to_the_limits(
    raw: list[int], cores: int, partitions_min: int | None, records_max: int | None
) -> None:
    limits = {"partitions_min": partitions_min, "records_max": records_max}
    ranges = split([span(0, size, str(number)) for number, size in enumerate(raw)], **limits)
    tasks = share_tasks(ranges, cores=cores, **limits)
    assert sorted(bounds([each for task in tasks for each in task])) == sorted(bounds(ranges))
    assert len(tasks) >= min(len(ranges), max(cores, partitions_min or 0))
    assert all(tasks)
    if records_max is not None:
        assert sizes(tasks) == [] or sizes(tasks)[-1] <= records_max


def test_an_empty_range_has_no_size() -> None:
    assert span(5, 3).size == 0
    assert str(span(0, 1).tp) == "a-0"
    with pytest.raises(AttributeError):
        span(0, 1).start = 3  # type: ignore[misc]  # frozen: tasks and drivers share it
