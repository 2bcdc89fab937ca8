import pytest

from penstock.share.state.values import RecordState
from tests.share.partition.partitions import (
    ACCEPT,
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    LOCK_MS,
    RELEASE,
    acknowledge,
    ask,
    fetch,
    new,
)


def test_a_new_share_partition_starts_at_its_groups_start_offset() -> None:
    partition = new()
    assert (partition.start_offset, partition.end_offset, partition.next_fetch_offset) == (0, 0, 0)
    assert partition.can_acquire


def test_a_share_partition_continues_with_the_state_of_the_previous_leader() -> None:
    partition = new((10, 14, ACKNOWLEDGED, 1), (15, 19, AVAILABLE, 3), (20, 24, ARCHIVED, 2), start=10)
    assert (partition.start_offset, partition.end_offset) == (15, 24)
    assert (partition.next_fetch_offset, partition.delivery_complete_count) == (15, 5)


def test_the_start_offset_passes_loaded_state_that_is_complete() -> None:
    partition = new((10, 14, ACKNOWLEDGED, 1), (15, 19, ARCHIVED, 3), start=10)
    assert (partition.start_offset, partition.next_fetch_offset, partition.in_flight_count) == (20, 20, 0)


@pytest.mark.parametrize(
    "batches",
    [[(4, 9, AVAILABLE, 1)], [(9, 8, AVAILABLE, 1)], [(5, 9, AVAILABLE, 1), (9, 12, AVAILABLE, 1)]],
)
def test_inconsistent_state_is_refused(batches: list[tuple[int, int, RecordState, int]]) -> None:
    with pytest.raises(ValueError, match="the state has records"):
        new(*batches, start=5)


def test_the_start_offset_does_not_pass_a_gap_in_the_loaded_state() -> None:
    partition = new((0, 4, ACKNOWLEDGED, 1), (10, 14, ACKNOWLEDGED, 1), start=0)
    assert (partition.start_offset, partition.next_fetch_offset) == (5, 5)
    fetch(partition, "a", (5, 9), (10, 14))
    assert (partition.start_offset, partition.delivery_complete_count) == (5, 5)
    acknowledge(partition, "a", 5, 9, ACCEPT)
    assert partition.start_offset == 15


def test_released_records_before_a_gap_are_read_first_and_the_gap_later() -> None:
    partition = new((0, 4, AVAILABLE, 1), (10, 14, ACKNOWLEDGED, 1), start=0)
    assert fetch(partition, "a", (0, 4), records_max=5) == [(0, 4, 2)]
    assert partition.next_fetch_offset == 5
    acknowledge(partition, "a", 0, 4, RELEASE)
    assert fetch(partition, "a", (0, 4), (5, 9)) == [(0, 4, 3), (5, 9, 1)]


def test_a_gap_that_was_deleted_from_the_log_is_no_longer_searched() -> None:
    partition = new((0, 4, ACKNOWLEDGED, 1), (10, 14, AVAILABLE, 1), start=0)
    partition.log_start_moved(12)
    assert (partition.start_offset, partition.next_fetch_offset) == (12, 12)


def test_deleted_available_records_are_archived_and_acquired_ones_stay_acquired() -> None:
    partition = new()
    fetch(partition, "a", (0, 4), (5, 9), (10, 14), batch_size=5)
    acknowledge(partition, "a", 5, 9, RELEASE)
    partition.log_start_moved(12)
    assert partition.start_offset == 12
    assert partition.records() == [(0, 4, ACQUIRED, 1), (5, 9, ARCHIVED, 1), (10, 14, ACQUIRED, 1)]
    assert (partition.delivery_complete_count, partition.next_fetch_offset) == (0, 15)


def test_deleted_records_that_are_released_are_archived() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    partition.log_start_moved(4)
    assert partition.release("a").batches == ((0, 3, ARCHIVED, 1), (4, 9, AVAILABLE, 1))


def test_deleted_records_whose_lock_expires_are_archived() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    partition.log_start_moved(4)
    change = partition.expire(LOCK_MS)
    assert change.batches == ((0, 3, ARCHIVED, 1), (4, 9, AVAILABLE, 1))
    assert (change.start_offset, change.delivery_complete_count) == (4, 0)


def test_a_log_start_after_all_records_in_flight_removes_them() -> None:
    partition = new((0, 9, AVAILABLE, 1), start=0)
    partition.log_start_moved(50)
    assert (partition.start_offset, partition.end_offset, partition.next_fetch_offset) == (50, 50, 50)
    assert (partition.records(), partition.can_acquire) == ([], True)


def test_a_log_start_before_the_start_offset_changes_nothing() -> None:
    partition = new((5, 9, AVAILABLE, 1), start=5)
    partition.log_start_moved(5)
    assert (partition.start_offset, partition.records()) == (5, [(5, 9, AVAILABLE, 1)])


def test_records_deleted_during_a_pending_release_stay_archived_whether_it_fails_or_not() -> None:
    for is_written in (True, False):
        partition = new()
        fetch(partition, "a", (0, 9))
        change = ask(partition, "a", 0, 9, RELEASE)
        partition.log_start_moved(5)
        assert partition.records() == [(0, 4, ARCHIVED, 1), (5, 9, AVAILABLE, 1)]
        if is_written:
            change.commit()
            assert partition.records()[-1] == (5, 9, AVAILABLE, 1)
        else:
            change.roll_back()
            assert partition.records()[-1] == (5, 9, ACQUIRED, 1)
        assert partition.records()[0] == (0, 4, ARCHIVED, 1)


def test_the_start_offset_is_never_below_the_log_start_even_if_earlier_records_complete_later() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    partition.log_start_moved(50)
    assert (partition.start_offset, partition.next_fetch_offset) == (50, 50)
    partition.release("a").commit()
    assert (partition.start_offset, partition.next_fetch_offset) == (50, 50)


def test_offsets_missing_from_the_log_between_two_batches_are_skipped() -> None:
    partition = new()
    fetch(partition, "a", (0, 4))
    fetch(partition, "a", (8, 9))
    acknowledge(partition, "a", 0, 4, ACCEPT)
    assert partition.start_offset == 8
