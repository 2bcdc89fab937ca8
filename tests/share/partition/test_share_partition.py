import pytest

from penstock.protocol.errors import ErrorCode
from penstock.share.partition.share_partition import SharePartition
from penstock.share.partition.values import Acknowledgement, AcquireMode, Refusal
from penstock.share.state.values import StateBatch
from tests.share.partition.partitions import (
    ACCEPT,
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    GAP,
    LOCK_MS,
    REJECT,
    RELEASE,
    RENEW,
    acknowledge,
    ask,
    fetch,
    give_back,
    new,
    settings,
)


def refusal(
    partition: SharePartition, member_id: str, *acknowledgements: tuple[int, int, list[int]]
) -> ErrorCode:
    refused = partition.acknowledge(member_id, [Acknowledgement(*each) for each in acknowledgements], 0)
    assert isinstance(refused, Refusal)
    return refused.code


@pytest.mark.parametrize(
    ("type_", "state"),
    [(GAP, ARCHIVED), (ACCEPT, ACKNOWLEDGED), (RELEASE, AVAILABLE), (REJECT, ARCHIVED)],
)
def test_an_acknowledgement_writes_the_state_of_its_type(type_: int, state: int) -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    assert ask(partition, "a", 0, 9, type_).batches == ((0, 9, state, 1),)


def test_each_offset_may_have_its_own_type() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    change = ask(partition, "a", 2, 6, ACCEPT, ACCEPT, REJECT, GAP, RELEASE)
    assert change.batches == (
        StateBatch(2, 3, ACKNOWLEDGED, 1),
        StateBatch(4, 5, ARCHIVED, 1),
        StateBatch(6, 6, AVAILABLE, 1),
    )
    change.commit()
    assert partition.delivery_complete_count == 4


def test_one_acknowledgement_may_span_several_batches() -> None:
    partition = new()
    fetch(partition, "a", (0, 4), (5, 9), batch_size=5)
    fetch(partition, "a", (10, 14))
    acknowledge(partition, "a", 0, 12, ACCEPT)
    assert (partition.start_offset, partition.records()) == (
        13,
        [(10, 12, ACKNOWLEDGED, 1), (13, 14, ACQUIRED, 1)],
    )


def test_a_write_contains_the_start_offset_and_complete_count_from_before_it() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    change = ask(partition, "a", 0, 3, ACCEPT)
    assert (change.start_offset, change.delivery_complete_count) == (0, 4)
    assert change.commit()
    assert (partition.start_offset, partition.delivery_complete_count) == (4, 0)


def test_the_start_offset_waits_for_the_records_before() -> None:
    partition = new()
    fetch(partition, "a", (0, 4), (5, 9), batch_size=5)
    acknowledge(partition, "a", 5, 9, ACCEPT)
    assert (partition.start_offset, partition.delivery_complete_count) == (0, 5)
    acknowledge(partition, "a", 0, 4, ACCEPT)
    assert (partition.start_offset, partition.end_offset, partition.next_fetch_offset) == (10, 10, 10)
    assert (partition.in_flight_count, partition.delivery_complete_count) == (0, 0)


def test_the_start_offset_waits_for_a_write_in_progress() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    first, second = ask(partition, "a", 0, 4, ACCEPT), ask(partition, "a", 5, 9, ACCEPT)
    second.commit()
    assert partition.start_offset == 0
    first.commit()
    assert partition.start_offset == 10


def test_a_write_that_failed_leaves_the_records_with_their_member() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    ask(partition, "a", 0, 4, ACCEPT).roll_back()
    assert partition.records() == [(0, 9, ACQUIRED, 1)]
    assert partition.delivery_complete_count == 0
    acknowledge(partition, "a", 0, 9, ACCEPT)
    assert partition.start_offset == 10


def test_a_lock_that_expired_during_a_failed_write_is_released_at_the_next_expiry() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    change = ask(partition, "a", 0, 9, ACCEPT)
    assert partition.expire(LOCK_MS).batches == ()
    while_in_doubt = partition.next_expiry_ms
    assert while_in_doubt is None
    change.roll_back()
    assert partition.next_expiry_ms == LOCK_MS
    assert partition.expire(LOCK_MS).batches == ((0, 9, AVAILABLE, 1),)


def test_acknowledged_records_cannot_be_acknowledged_again_during_or_after_the_write() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    change = ask(partition, "a", 5, 9, ACCEPT)
    assert refusal(partition, "a", (5, 9, [ACCEPT])) is ErrorCode.INVALID_RECORD_STATE
    change.commit()
    assert refusal(partition, "a", (5, 9, [ACCEPT])) is ErrorCode.INVALID_RECORD_STATE


def test_records_of_another_member_cannot_be_acknowledged() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    assert refusal(partition, "b", (0, 9, [ACCEPT])) is ErrorCode.INVALID_RECORD_STATE
    assert partition.records() == [(0, 9, ACQUIRED, 1)]


def test_offsets_that_were_never_in_flight_cannot_be_acknowledged() -> None:
    partition = new(start=5)
    assert refusal(partition, "a", (5, 5, [ACCEPT])) is ErrorCode.INVALID_RECORD_STATE
    fetch(partition, "a", (5, 9))
    assert refusal(partition, "a", (5, 10, [ACCEPT])) is ErrorCode.INVALID_REQUEST
    assert refusal(partition, "a", (10, 12, [ACCEPT])) is ErrorCode.INVALID_REQUEST


def test_an_unknown_type_is_an_invalid_request() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    assert refusal(partition, "a", (0, 1, [ACCEPT, 5])) is ErrorCode.INVALID_REQUEST
    assert refusal(partition, "a", (0, 1, [-1])) is ErrorCode.INVALID_REQUEST


def test_acknowledgements_are_applied_all_or_none() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    fetch(partition, "b", (10, 19))
    code = refusal(partition, "a", (0, 4, [ACCEPT]), (5, 9, [RELEASE]), (10, 19, [ACCEPT]))
    assert code is ErrorCode.INVALID_RECORD_STATE
    assert partition.records() == [(0, 19, ACQUIRED, 1)]
    assert partition.delivery_complete_count == 0


def test_acknowledgements_before_the_start_offset_have_no_effect() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    partition.log_start_moved(5)
    assert ask(partition, "a", 0, 4, ACCEPT).batches == ()
    assert ask(partition, "a", 0, 9, ACCEPT).batches == ((5, 9, ACKNOWLEDGED, 1),)


def test_batches_before_the_start_offset_do_not_prevent_an_acknowledgement() -> None:
    partition = new()
    fetch(partition, "b", (0, 4))
    fetch(partition, "a", (5, 9))
    partition.log_start_moved(7)
    assert ask(partition, "a", 3, 9, ACCEPT).batches == ((7, 9, ACKNOWLEDGED, 1),)


def test_a_record_released_after_its_last_delivery_is_archived() -> None:
    partition = new(using=settings(limit=2))
    give_back(partition, "a", (0, 4), times=1)
    fetch(partition, "a", (0, 4))
    change = ask(partition, "a", 0, 4, RELEASE)
    assert change.batches == ((0, 4, ARCHIVED, 2),)
    change.commit()
    assert partition.start_offset == 5


def test_a_renewed_lock_lasts_from_the_renewal_and_nothing_is_written() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    assert ask(partition, "a", 0, 4, RENEW, now_ms=10).batches == ()
    assert partition.expire(LOCK_MS).batches == ((5, 9, AVAILABLE, 1),)
    assert partition.next_expiry_ms == LOCK_MS + 10


def test_a_renewed_lock_is_not_merged_with_its_neighbours() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    ask(partition, "a", 0, 4, RENEW, now_ms=10)
    acknowledge(partition, "a", 9, 9, ACCEPT)
    assert partition.expire(LOCK_MS).batches == ((5, 8, AVAILABLE, 1),)


def test_members_that_share_a_batch_each_hold_their_own_records() -> None:
    partition = new()
    fetch(partition, "a", (0, 9), records_max=5, mode=AcquireMode.RECORD_LIMIT)
    fetch(partition, "b", (0, 9), records_max=5, mode=AcquireMode.RECORD_LIMIT)
    assert refusal(partition, "a", (0, 9, [ACCEPT])) is ErrorCode.INVALID_RECORD_STATE
    assert partition.release("b").batches == ((5, 9, AVAILABLE, 1),)


def test_a_pending_release_is_not_merged_with_a_written_one() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    written, in_doubt = ask(partition, "a", 0, 4, RELEASE), ask(partition, "a", 5, 9, RELEASE)
    written.commit()
    assert fetch(partition, "b", (0, 9)) == [(0, 4, 2)]
    in_doubt.roll_back()
    assert partition.release("a").batches == ((5, 9, AVAILABLE, 1),)


def test_two_pending_changes_are_not_merged() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    written, failed, other = (ask(partition, "a", first, first + 2, RELEASE) for first in (0, 3, 6))
    other.commit()
    written.commit()
    failed.roll_back()
    assert partition.records() == [
        (0, 2, AVAILABLE, 1),
        (3, 5, ACQUIRED, 1),
        (6, 8, AVAILABLE, 1),
        (9, 9, ACQUIRED, 1),
    ]


def test_a_renewal_is_refused_where_the_group_does_not_allow_it() -> None:
    partition = new(using=settings(allows_renewal=False))
    fetch(partition, "a", (0, 9))
    assert refusal(partition, "a", (0, 1, [ACCEPT, RENEW])) is ErrorCode.INVALID_RECORD_STATE
    assert partition.records() == [(0, 9, ACQUIRED, 1)]


def test_a_leaving_member_releases_its_own_records_only() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    fetch(partition, "b", (10, 19))
    acknowledge(partition, "a", 3, 4, ACCEPT)
    change = partition.release("a")
    assert change.batches == ((0, 2, AVAILABLE, 1), (5, 9, AVAILABLE, 1))
    assert change.commit()
    assert fetch(partition, "c", (0, 9), (10, 19)) == [(0, 2, 2), (5, 9, 2)]


def test_the_release_of_a_member_without_records_writes_nothing() -> None:
    partition = new()
    fetch(partition, "a", (0, 9))
    assert partition.release("b").batches == ()


def test_a_lock_expires_when_its_time_is_over_and_the_records_are_available_at_once() -> None:
    partition = new()
    fetch(partition, "a", (0, 9), now_ms=5)
    assert partition.next_expiry_ms == LOCK_MS + 5
    assert partition.expire(LOCK_MS + 4).batches == ()
    change = partition.expire(LOCK_MS + 5)
    assert change.batches == ((0, 9, AVAILABLE, 1),)
    assert fetch(partition, "b", (0, 9)) == [(0, 9, 2)]
    change.roll_back()
    assert partition.records() == [(0, 9, ACQUIRED, 2)]


def test_records_whose_last_lock_expires_are_archived_and_the_start_offset_moves_when_that_is_written() -> (
    None
):
    partition = new((0, 4, AVAILABLE, 1), start=0, using=settings(limit=2))
    fetch(partition, "a", (0, 4))
    change = partition.expire(LOCK_MS)
    assert change.batches == ((0, 4, ARCHIVED, 2),)
    assert (change.delivery_complete_count, partition.start_offset) == (5, 0)
    change.commit()
    assert partition.start_offset == 5


def test_the_next_expiry_is_that_of_the_oldest_lock_left() -> None:
    partition = new()
    fetch(partition, "a", (0, 4), now_ms=0)
    fetch(partition, "b", (5, 9), now_ms=7)
    partition.expire(LOCK_MS)
    assert partition.next_expiry_ms == LOCK_MS + 7


def test_changed_settings_apply_to_the_next_call() -> None:
    partition = new()
    fetch(partition, "a", (0, 4))
    partition.settings = settings(limit=1, locks_max=5)
    assert not partition.can_acquire
    assert ask(partition, "a", 0, 4, RELEASE).batches == ((0, 4, ARCHIVED, 1),)
