"""Producer state, case by case."""

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.control import EndTxnMarker
from penstock.storage.producers.state import (
    Duplicate,
    ProducerEntry,
    ProducerStates,
    StoredBatch,
)
from penstock.storage.segment.transaction_index import CompletedTransaction
from tests.storage.producer_batches import ABORT, COMMIT, PRODUCER, SEQUENCE_MAX, append, batch, code_of

# Sequences and duplicates.


def test_consecutive_sequences_are_accepted() -> None:
    states = ProducerStates()
    append(states, batch(0, 3), at=10)
    append(states, batch(3, 1), at=13)
    append(states, batch(4, 6), at=14)
    assert states.end_offset == 20
    entry = states.get(PRODUCER)
    assert entry is not None
    assert (entry.last_sequence, entry.last_offset, entry.last_offset_delta) == (9, 19, 5)


@pytest.mark.parametrize("sequence", [0, 2, 4, 1000])
def test_a_gap_or_a_step_back_is_out_of_order(sequence: int) -> None:
    states = ProducerStates()
    append(states, batch(0, 3), at=0)
    assert code_of(states.check(batch(sequence, 2))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_retry_of_any_of_the_last_five_batches_is_answered_with_its_offsets() -> None:
    states = ProducerStates()
    for n in range(6):
        append(states, batch(2 * n, 2, timestamp=1000 + n), at=100 + 2 * n)
    for n in range(1, 6):
        assert states.check(batch(2 * n, 2)) == Duplicate(100 + 2 * n, 101 + 2 * n, 1000 + n)
    assert code_of(states.check(batch(0, 2))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_retry_with_other_boundaries_is_no_duplicate() -> None:
    states = ProducerStates()
    append(states, batch(0, 4), at=0)
    assert code_of(states.check(batch(0, 3))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of(states.check(batch(1, 3))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_unknown_producer_may_start_at_any_sequence() -> None:
    states = ProducerStates()
    append(states, batch(77, 3, epoch=4), at=0)
    append(states, batch(80, 1, epoch=4), at=3)


def test_sequences_wrap_to_zero_between_batches() -> None:
    states = ProducerStates()
    append(states, batch(SEQUENCE_MAX - 1, 2), at=0)
    assert code_of(states.check(batch(1, 1))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(states, batch(0, 1), at=2)
    append(states, batch(1, 1), at=3)


def test_sequences_wrap_to_zero_within_a_batch_and_its_retry_is_found() -> None:
    states = ProducerStates()
    append(states, batch(SEQUENCE_MAX - 2, 10), at=0)
    assert states.check(batch(SEQUENCE_MAX - 2, 10)) == Duplicate(0, 9, 1000)
    append(states, batch(7, 1), at=10)


def test_producers_are_independent_of_each_other() -> None:
    states = ProducerStates()
    append(states, batch(0, 5, producer_id=1), at=0)
    append(states, batch(0, 5, producer_id=2), at=5)
    append(states, batch(5, 5, producer_id=1), at=10)
    assert len(states) == 2
    assert {entry.producer_id for entry in states} == {1, 2}


def test_a_coordinator_appends_without_sequences() -> None:
    states = ProducerStates()
    append(states, batch(-1, 2, is_transactional=True), at=0, is_from_client=False)
    append(states, batch(-1, 1, is_transactional=True), at=2, is_from_client=False)
    fenced = batch(-1, 1, epoch=-1, is_transactional=True)
    assert code_of(states.check(fenced, is_from_client=False)) is ErrorCode.INVALID_PRODUCER_EPOCH


# Epochs.


def test_an_older_epoch_is_fenced() -> None:
    states = ProducerStates()
    append(states, batch(0, epoch=5), at=0)
    assert code_of(states.check(batch(1, epoch=4))) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert code_of(states.check(batch(0, epoch=4))) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_new_epoch_starts_at_zero() -> None:
    states = ProducerStates()
    append(states, batch(0, 3, epoch=0), at=0)
    assert code_of(states.check(batch(3, epoch=1))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(states, batch(0, 3, epoch=1), at=3)
    append(states, batch(3, epoch=1), at=6)


def test_batches_of_an_older_epoch_are_forgotten_with_it() -> None:
    states = ProducerStates()
    append(states, batch(0, 3, epoch=0), at=0)
    append(states, batch(0, 3, epoch=1), at=3)
    assert states.check(batch(0, 3, epoch=1)) == Duplicate(3, 5, 1000)
    entry = states.get(PRODUCER)
    assert entry is not None
    assert len(entry.batches) == 1


def test_after_a_marker_that_bumped_the_epoch_the_producer_starts_at_zero() -> None:
    states = ProducerStates()
    append(states, batch(0, 3, is_transactional=True), at=0)
    states.end_transaction(PRODUCER, 1, ABORT, offset=3, timestamp=1000)
    assert code_of(states.check(batch(3, epoch=0))) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert code_of(states.check(batch(3, epoch=1))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(states, batch(0, epoch=1), at=4)


def test_after_a_marker_of_the_same_epoch_sequences_continue() -> None:
    states = ProducerStates()
    append(states, batch(0, 3, is_transactional=True), at=0)
    states.end_transaction(PRODUCER, 0, COMMIT, offset=3, timestamp=1000)
    assert states.check(batch(0, 3, is_transactional=True)) == Duplicate(0, 2, 1000)
    append(states, batch(3, is_transactional=True), at=4)


# Transactions.


def test_a_transaction_starts_with_its_first_batch_and_ends_with_its_marker() -> None:
    states = ProducerStates()
    append(states, batch(0, 2, is_transactional=True), at=10)
    append(states, batch(2, 2, is_transactional=True), at=12)
    assert states.has_open_transaction(PRODUCER, 0)
    assert not states.has_open_transaction(PRODUCER, 1)
    assert not states.has_open_transaction(1, 0)
    assert states.first_unstable_offset == 10
    assert states.end_transaction(PRODUCER, 0, ABORT, offset=14, timestamp=1100) == CompletedTransaction(
        producer_id=PRODUCER, first_offset=10, last_offset=14, is_aborted=True, last_stable_offset=15
    )
    assert states.end_offset == 15
    assert not states.has_open_transaction(PRODUCER, 0)


def test_a_marker_without_data_completes_nothing_but_is_remembered() -> None:
    states = ProducerStates()
    marker = EndTxnMarker(is_commit=True, coordinator_epoch=7)
    assert states.end_transaction(PRODUCER, 3, marker, offset=0, timestamp=50) is None
    assert states.first_unstable_offset is None
    assert code_of(states.check_marker(PRODUCER, 2, 7)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert code_of(states.check_marker(PRODUCER, 3, 6)) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert states.check_marker(PRODUCER, 3, 7) is None
    assert states.check_marker(PRODUCER, 4, 8) is None
    assert states.check_marker(PRODUCER + 1, 0, 0) is None


def test_a_batch_outside_of_the_open_transaction_is_refused() -> None:
    states = ProducerStates()
    append(states, batch(0, is_transactional=True), at=0)
    assert code_of(states.check(batch(1))) is ErrorCode.INVALID_TXN_STATE


def test_the_first_unstable_offset_waits_for_the_oldest_transaction_and_for_its_marker_to_be_replicated() -> (
    None
):
    states = ProducerStates()
    append(states, batch(0, producer_id=1, is_transactional=True), at=10)
    append(states, batch(0, producer_id=2, is_transactional=True), at=11)
    append(states, batch(0, producer_id=3, is_transactional=True), at=12)
    assert states.first_unstable_offset == 10
    completed = states.end_transaction(2, 0, COMMIT, offset=13, timestamp=0)
    assert completed is not None
    assert completed.last_stable_offset == 10
    assert states.first_unstable_offset == 10
    completed = states.end_transaction(1, 0, COMMIT, offset=14, timestamp=0)
    assert completed is not None
    assert completed.last_stable_offset == 12
    assert states.first_unstable_offset == 10
    states.advance_high_watermark(14)
    assert states.first_unstable_offset == 10  # the marker at 14 is not below the high watermark yet
    states.advance_high_watermark(15)
    assert states.first_unstable_offset == 12
    states.end_transaction(3, 0, ABORT, offset=15, timestamp=0)
    states.advance_high_watermark(16)
    assert states.first_unstable_offset is None


def test_a_marker_out_of_order_leaves_the_older_one_unstable() -> None:
    states = ProducerStates()
    append(states, batch(0, producer_id=1, is_transactional=True), at=10)
    append(states, batch(0, producer_id=2, is_transactional=True), at=11)
    states.end_transaction(2, 0, COMMIT, offset=12, timestamp=0)
    states.end_transaction(1, 0, COMMIT, offset=13, timestamp=0)
    assert states.first_unstable_offset == 10
    states.advance_high_watermark(13)
    assert states.first_unstable_offset == 10


# Forgetting.


def test_an_idle_producer_expires_and_one_in_a_transaction_never() -> None:
    states = ProducerStates(expiration_ms=1000)
    append(states, batch(0, producer_id=1, timestamp=5000), at=0)
    append(states, batch(0, producer_id=2, timestamp=5001), at=1)
    append(states, batch(0, producer_id=3, timestamp=5000, is_transactional=True), at=2)
    assert states.expire(5999) == 0
    assert states.expire(6000) == 1
    assert states.get(1) is None
    assert states.expire(10**9) == 1
    assert [entry.producer_id for entry in states] == [3]
    append(states, batch(50, producer_id=1), at=3)  # forgotten: any sequence is accepted


def test_a_removed_producer_leaves_no_transaction_behind() -> None:
    states = ProducerStates()
    append(states, batch(0, is_transactional=True), at=0)
    states.remove(PRODUCER)
    states.remove(PRODUCER)
    assert states.first_unstable_offset is None
    assert len(states) == 0


def test_deleting_the_start_of_the_log_keeps_producers_and_completes_old_transactions() -> None:
    states = ProducerStates()
    append(states, batch(0, is_transactional=True), at=0)
    states.end_transaction(PRODUCER, 0, COMMIT, offset=1, timestamp=0)
    states.advance_log_start(50)
    assert states.first_unstable_offset is None
    assert states.end_offset == 50
    assert states.get(PRODUCER) is not None


# Replay and snapshots.


def test_replay_checks_nothing_and_ends_in_the_same_state() -> None:
    states = ProducerStates()
    states.replay(batch(5, 2, epoch=3, base_offset=0, is_transactional=True))
    states.replay(batch(-1, 4, producer_id=-1, base_offset=2))
    assert states.end_offset == 6
    states.replay(batch(90, 1, epoch=3, base_offset=6, is_transactional=True))  # a gap
    states.replay(batch(0, 1, epoch=2, base_offset=7, is_transactional=True))  # an older epoch
    marker = batch(-1, epoch=2, base_offset=8, timestamp=7, is_transactional=True, is_control=True)
    assert states.replay(marker, ABORT) == CompletedTransaction(
        producer_id=PRODUCER, first_offset=0, last_offset=8, is_aborted=True, last_stable_offset=9
    )
    assert states.end_offset == 9
    entry = states.get(PRODUCER)
    assert entry is not None
    assert (entry.producer_epoch, entry.last_sequence, entry.last_timestamp) == (2, 0, 7)


def test_a_control_batch_without_marker_changes_only_the_end() -> None:
    states = ProducerStates()
    states.replay(batch(-1, base_offset=4, is_control=True))
    assert len(states) == 0
    assert states.end_offset == 5


def test_a_snapshot_is_not_changed_by_later_appends() -> None:
    states = ProducerStates()
    append(states, batch(0), at=0)
    snapshot = states.snapshot()
    append(states, batch(1), at=1)
    assert snapshot[0].last_offset == 0
    states.end_offset = 10
    assert states.end_offset == 10


def test_restoring_replaces_the_state_and_drops_expired_producers() -> None:
    states = ProducerStates(expiration_ms=1000)
    append(states, batch(0, producer_id=9, is_transactional=True), at=0)
    entries = [
        ProducerEntry(1, 0, last_timestamp=100, batches=[StoredBatch(3, 30, 0, 100)]),
        ProducerEntry(2, 0, last_timestamp=5000, batches=[StoredBatch(4, 31, 0, 5000)]),
        ProducerEntry(3, 0, last_timestamp=100, transaction_first_offset=28),
        ProducerEntry(4, 0, last_timestamp=100, transaction_first_offset=22),
    ]
    states.restore(entries, end_offset=40, now_ms=5500)
    assert {entry.producer_id for entry in states} == {2, 3, 4}
    assert states.first_unstable_offset == 22
    assert states.end_offset == 40
    append(states, batch(5, producer_id=2), at=40)
    assert entries[1].last_sequence == 4


def test_clearing_forgets_everything() -> None:
    states = ProducerStates()
    append(states, batch(0, is_transactional=True), at=0)
    states.clear(7)
    assert (len(states), states.first_unstable_offset, states.end_offset) == (0, None, 7)


def test_producers_are_forgotten_below_an_offset_with_their_batches() -> None:
    states = ProducerStates()
    states.replay(batch(0, 1, producer_id=1, base_offset=0))
    states.replay(batch(0, 1, producer_id=2, base_offset=1))
    states.replay(batch(1, 1, producer_id=2, base_offset=2))
    states.forget_below(2)
    assert states.get(1) is None
    entry = states.get(2)
    assert entry is not None
    assert [each.last_offset for each in entry.batches] == [2]
