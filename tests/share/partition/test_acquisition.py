from penstock.share.partition.values import AcquireMode
from tests.share.partition.partitions import (
    ACCEPT,
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    REJECT,
    RELEASE,
    acknowledge,
    ask,
    fetch,
    give_back,
    new,
    settings,
)

LIMITED = AcquireMode.RECORD_LIMIT


def test_new_records_are_acquired_with_a_delivery_count_of_one() -> None:
    partition = new()
    assert fetch(partition, "a", (0, 4), (5, 9)) == [(0, 9, 1)]
    assert (partition.start_offset, partition.end_offset, partition.next_fetch_offset) == (0, 9, 10)


def test_nothing_is_acquired_when_nothing_was_read_or_requested() -> None:
    partition = new()
    assert fetch(partition, "a") == []
    assert fetch(partition, "a", (0, 4), records_max=0) == []
    assert partition.records() == []


def test_acquired_batches_have_the_requested_size_and_end_at_record_batches() -> None:
    partition = new()
    acquired = fetch(partition, "a", (0, 4), (5, 9), (10, 14), (15, 19), batch_size=7)
    assert acquired == [(0, 9, 1), (10, 19, 1)]


def test_an_acquired_batch_has_at_least_one_record_whatever_size_is_requested() -> None:
    partition = new()
    assert fetch(partition, "a", (0, 0), (1, 2), batch_size=0) == [(0, 0, 1), (1, 2, 1)]


def test_a_record_batch_is_acquired_whole_even_if_fewer_records_are_requested() -> None:
    partition = new()
    assert fetch(partition, "a", (0, 4), (5, 9), (10, 14), records_max=6) == [(0, 9, 1)]
    assert partition.next_fetch_offset == 10


def test_a_strict_record_limit_leaves_the_rest_of_the_batch_to_the_next_member() -> None:
    partition = new()
    assert fetch(partition, "a", (0, 9), records_max=3, mode=LIMITED) == [(0, 2, 1)]
    assert partition.next_fetch_offset == 3
    assert fetch(partition, "b", (0, 9), records_max=4, mode=LIMITED) == [(3, 6, 1)]
    assert partition.records() == [(0, 6, ACQUIRED, 1), (7, 9, AVAILABLE, 0)]


def test_a_record_limit_counts_redelivered_records() -> None:
    partition = new()
    give_back(partition, "a", (0, 9), times=1)
    assert fetch(partition, "b", (0, 9), records_max=4, mode=LIMITED) == [(0, 3, 2)]
    assert partition.next_fetch_offset == 4


def test_a_record_acquired_by_one_member_is_not_delivered_to_another() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    assert fetch(partition, "b", (0, 9), (10, 14), at=0) == [(10, 14, 1)]


def test_released_records_are_redelivered_before_new_ones_with_a_higher_delivery_count() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    acknowledge(partition, "a", 3, 5, RELEASE)
    assert partition.next_fetch_offset == 3
    assert fetch(partition, "b", (0, 9), (10, 19)) == [(3, 5, 2), (10, 19, 1)]
    assert partition.next_fetch_offset == 20


def test_adjacent_records_are_acquired_as_one_range_only_if_their_delivery_counts_agree() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    acknowledge(partition, "a", 4, 5, RELEASE)
    fetch(partition, "a", (0, 9))
    partition.release("a").commit()
    assert fetch(partition, "a", (0, 9)) == [(0, 3, 2), (4, 5, 3), (6, 9, 2)]


def test_only_the_part_of_a_batch_that_was_read_is_acquired() -> None:
    partition = new()
    give_back(partition, "a", (0, 4), (5, 9), (10, 14), times=1)
    assert fetch(partition, "b", (5, 9), at=5) == [(5, 9, 2)]
    assert partition.records() == [(0, 4, AVAILABLE, 1), (5, 9, ACQUIRED, 2), (10, 14, AVAILABLE, 1)]


def test_records_in_flight_never_exceed_the_lock_limit() -> None:
    partition = new(using=settings(locks_max=10))
    assert fetch(partition, "a", (0, 4), (5, 9), (10, 14)) == [(0, 9, 1)]
    assert not partition.can_acquire
    assert fetch(partition, "b", (10, 14)) == []


def test_records_in_flight_are_redelivered_even_at_the_lock_limit() -> None:
    partition = new(using=settings(locks_max=10))
    fetch(partition, "a", (0, 9))
    acknowledge(partition, "a", 5, 6, RELEASE)
    assert partition.can_acquire
    assert fetch(partition, "b", (0, 9), (10, 14)) == [(5, 6, 2)]
    assert partition.end_offset == 9


def test_complete_records_count_as_in_flight_until_the_start_offset_has_passed_them() -> None:
    partition = new(using=settings(locks_max=10))
    fetch(partition, "a", (0, 9))
    acknowledge(partition, "a", 5, 9, ACCEPT)
    assert not partition.can_acquire
    acknowledge(partition, "a", 0, 4, ACCEPT)
    assert partition.can_acquire


def test_records_with_a_pending_state_write_are_not_delivered() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    change = ask(partition, "a", 0, 4, RELEASE)
    assert partition.next_fetch_offset == 10
    assert fetch(partition, "b", (0, 9), at=0) == []
    change.commit()
    assert fetch(partition, "b", (0, 9)) == [(0, 4, 2)]


def test_available_records_that_the_log_no_longer_has_are_archived() -> None:
    partition = new()
    give_back(partition, "a", (0, 4), (5, 9), times=1)
    assert fetch(partition, "b", (5, 9), at=0) == [(5, 9, 2)]
    assert (partition.start_offset, partition.records()) == (5, [(0, 4, ARCHIVED, 1), (5, 9, ACQUIRED, 2)])
    assert partition.delivery_complete_count == 0


def test_the_start_offset_follows_the_first_record_that_the_log_has() -> None:
    partition = new()
    assert fetch(partition, "a", (7, 9)) == [(7, 9, 1)]
    assert partition.start_offset == 7


def test_a_record_batch_that_begins_before_the_start_offset_is_acquired_from_there() -> None:
    partition = new(start=5)
    assert fetch(partition, "a", (0, 9)) == [(5, 9, 1)]


def test_aborted_records_are_archived_and_the_others_acquired() -> None:
    partition = new()
    acquired = fetch(partition, "a", (0, 4), (5, 9), (10, 10), (11, 14), aborted=[(5, 9)])
    assert acquired == [(0, 4, 1), (10, 14, 1)]
    assert partition.records() == [(0, 4, ACQUIRED, 1), (5, 9, ARCHIVED, 1), (10, 14, ACQUIRED, 1)]
    assert partition.delivery_complete_count == 5


def test_aborted_records_before_the_start_offset_are_not_counted() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    partition.log_start_moved(5)
    assert fetch(partition, "b", (0, 9), (10, 14), aborted=[(0, 9)], at=5) == [(10, 14, 1)]
    assert (partition.start_offset, partition.delivery_complete_count) == (10, 0)


def test_a_fetch_that_finds_only_aborted_records_continues_after_them() -> None:
    partition = new(using=settings(locks_max=10))
    assert fetch(partition, "a", (0, 9), aborted=[(0, 9)]) == []
    assert (partition.start_offset, partition.can_acquire) == (10, True)


def test_the_batch_size_is_halved_with_each_further_delivery() -> None:
    """KIP-1240: from half of the limit on; here 3 of 6."""
    partition = new(using=settings(limit=6))
    give_back(partition, "a", (0, 15), times=2)
    assert fetch(partition, "a", (0, 15)) == [(0, 15, 3)]
    partition.release("a").commit()
    assert fetch(partition, "a", (0, 15)) == [(0, 7, 4)]
    partition.release("a").commit()
    assert fetch(partition, "a", (0, 15)) == [(0, 3, 5)]


def test_the_last_delivery_of_a_record_contains_only_that_record() -> None:
    partition = new((0, 9, AVAILABLE, 4), start=0)
    assert fetch(partition, "a", (0, 9), (10, 19)) == [(0, 0, 5)]
    assert fetch(partition, "a", (0, 9), (10, 19)) == [(1, 1, 5)]


def test_records_before_one_in_its_last_delivery_are_acquired_without_it() -> None:
    partition = new((0, 4, AVAILABLE, 1), (5, 9, AVAILABLE, 4), start=0)
    assert fetch(partition, "a", (0, 9)) == [(0, 4, 2)]
    assert fetch(partition, "a", (0, 9)) == [(5, 5, 5)]


def test_records_before_one_in_its_last_delivery_are_acquired_without_it_even_in_one_batch() -> None:
    partition = new(using=settings(limit=3))
    give_back(partition, "a", (0, 4), (5, 9), times=1)
    give_back(partition, "a", (5, 9), times=1)
    assert fetch(partition, "a", (0, 4), (5, 9)) == [(0, 4, 2)]


def test_at_least_one_record_is_acquired_however_often_it_was_delivered() -> None:
    partition = new((0, 2, AVAILABLE, 7), start=0, using=settings(limit=10))
    assert fetch(partition, "a", (0, 2)) == [(0, 0, 8)]


def test_offsets_missing_from_the_log_are_not_redelivered_with_their_neighbours() -> None:
    partition = new()
    fetch(partition, "a", (0, 4))
    fetch(partition, "a", (8, 9))
    partition.release("a").commit()
    assert fetch(partition, "a", (0, 4), (8, 9)) == [(0, 4, 2), (8, 9, 2)]


def test_with_a_limit_of_two_deliveries_the_last_one_may_contain_several_records() -> None:
    partition = new(using=settings(limit=2))
    give_back(partition, "a", (0, 9), times=1)
    assert fetch(partition, "a", (0, 9)) == [(0, 9, 2)]


def test_gaps_in_the_loaded_state_are_filled_in_order() -> None:
    partition = new((5, 9, ACKNOWLEDGED, 1), (15, 19, AVAILABLE, 2), start=0)
    assert partition.next_fetch_offset == 0
    assert fetch(partition, "a", (0, 9), (10, 19), (20, 24)) == [
        (0, 4, 1),
        (10, 14, 1),
        (15, 19, 3),
        (20, 24, 1),
    ]
    assert partition.next_fetch_offset == 25


def test_a_gap_is_filled_up_to_the_requested_number_of_records() -> None:
    partition = new((10, 19, ACKNOWLEDGED, 1), start=0)
    assert fetch(partition, "a", (0, 4), (5, 14), (15, 19), records_max=3) == [(0, 4, 1)]
    assert partition.next_fetch_offset == 5
    assert fetch(partition, "a", (5, 14), (15, 19), records_max=3) == [(5, 9, 1)]
    assert partition.next_fetch_offset == 20


def test_a_gap_that_was_filled_exactly_no_longer_blocks_the_start_offset() -> None:
    partition = new((10, 14, ACKNOWLEDGED, 1), start=0)
    assert fetch(partition, "a", (0, 9), records_max=10) == [(0, 9, 1)]
    acknowledge(partition, "a", 0, 9, ACCEPT)
    assert partition.start_offset == 10


def test_a_filled_gap_is_not_searched_again_when_earlier_records_are_redelivered() -> None:
    partition = new((0, 4, AVAILABLE, 1), (10, 14, ACKNOWLEDGED, 1), start=0)
    fetch(partition, "a", (0, 9), records_max=10)
    acknowledge(partition, "a", 0, 4, RELEASE)
    fetch(partition, "a", (0, 9), records_max=5)
    acknowledge(partition, "a", 0, 9, ACCEPT)
    assert partition.start_offset == 10


def test_a_gap_that_is_not_in_the_log_does_not_block_the_start_offset() -> None:
    partition = new((10, 19, ACKNOWLEDGED, 1), start=0)
    assert fetch(partition, "a", (10, 19)) == []
    assert (partition.start_offset, partition.next_fetch_offset) == (20, 20)


def test_rejected_and_accepted_records_are_never_redelivered() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    acknowledge(partition, "a", 1, 2, ACCEPT)
    acknowledge(partition, "a", 3, 4, REJECT)
    partition.release("a").commit()
    assert fetch(partition, "a", (0, 9)) == [(0, 0, 2), (5, 9, 2)]
