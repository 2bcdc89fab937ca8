"""Transcripts: the responses for a transactional id, request by request."""

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.transactions import state
from penstock.transactions.state import (
    EPOCH_MAX,
    Decision,
    Producer,
    TopicPartition,
    Transaction,
    fence,
    is_expired,
    is_timed_out,
)
from penstock.transactions.states import State

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
V1, V2 = 0, 2


class Script:
    """One transactional id, asked one thing after the other; every decision is stored at once."""

    def __init__(self) -> None:
        self.now: Transaction | None = None
        self.now_ms = 1000
        self.ids = iter(range(100, 200))

    @property
    def held(self) -> Transaction:
        assert self.now is not None
        return self.now

    @property
    def producer(self) -> Producer:
        return Producer(self.held.producer_id, self.held.producer_epoch)

    def _take(self, decision: Decision) -> ErrorCode:
        if decision.after is not None:
            self.now = decision.after
        return decision.error

    def init(self, expected: Producer | None = None, timeout_ms: int = 60_000) -> ErrorCode:
        self.now_ms += 1
        new_id: int | None = None
        while True:
            decision = state.init_producer(
                self.now,
                "app",
                timeout_ms=timeout_ms,
                expected=expected,
                now_ms=self.now_ms,
                new_producer_id=new_id,
            )
            if not decision.needs_producer_id:
                return self._take(decision)
            new_id = next(self.ids)

    def add(self, *partitions: TopicPartition, by: Producer | None = None) -> ErrorCode:
        self.now_ms += 1
        return self._take(state.add_partitions(self.now, by or self.producer, partitions, now_ms=self.now_ms))

    def end(self, *, commit: bool, version: int = V1, by: Producer | None = None) -> ErrorCode:
        self.now_ms += 1
        producer, new_id = by or self.producer, None
        while True:
            decision = state.end(
                self.now,
                producer,
                commit=commit,
                client_version=version,
                now_ms=self.now_ms,
                new_producer_id=new_id,
            )
            if not decision.needs_producer_id:
                return self._take(decision)
            new_id = next(self.ids)

    def mark(self) -> None:
        self.now_ms += 1
        self.now = state.complete(self.held, now_ms=self.now_ms)

    def at_epoch(self, epoch: int) -> "Script":
        self.now = msgspec.structs.replace(self.held, producer_epoch=epoch)
        return self


def begun() -> Script:
    script = Script()
    assert script.init() is ErrorCode.NONE
    return script


def ongoing() -> Script:
    script = begun()
    assert script.add(P0) is ErrorCode.NONE
    return script


# -- a producer begins


def test_the_first_producer_of_an_id_gets_a_fresh_id_and_epoch_0() -> None:
    script = begun()
    assert script.producer == (100, 0)
    assert (script.held.state, script.held.timeout_ms) == (State.EMPTY, 60_000)


def test_the_next_producer_of_an_id_gets_the_next_epoch_and_its_own_timeout() -> None:
    script = begun()
    assert script.init(timeout_ms=5) is ErrorCode.NONE
    assert script.producer == (100, 1)
    assert script.held.timeout_ms == 5


def test_a_new_producer_waits_until_the_transaction_of_the_old_one_is_aborted() -> None:
    script = ongoing()
    old = script.producer
    assert script.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert script.held.state is State.PREPARE_ABORT
    assert script.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    script.mark()
    assert script.init() is ErrorCode.NONE
    assert script.producer.epoch == old.epoch + 2  # one for the fence, one for the new producer
    assert script.add(P0, by=old) is ErrorCode.PRODUCER_FENCED
    assert script.end(commit=True, by=old) is ErrorCode.PRODUCER_FENCED


def test_a_fenced_producer_cannot_end_an_aborted_transaction_in_either_version() -> None:
    for version in (V1, V2):
        script = ongoing()
        old = script.producer
        script.init()
        assert script.end(commit=True, by=old, version=version) is ErrorCode.PRODUCER_FENCED
        script.mark()
        assert script.end(commit=True, by=old, version=version) is ErrorCode.PRODUCER_FENCED
        assert script.end(commit=False, by=old, version=version) is ErrorCode.PRODUCER_FENCED


def test_an_id_with_exhausted_epochs_gets_a_new_producer_id() -> None:
    script = begun().at_epoch(EPOCH_MAX)
    assert script.init() is ErrorCode.NONE
    assert script.producer == (101, 0)
    assert script.held.previous_producer_id == 100


def test_the_last_epoch_of_a_producer_can_still_be_fenced() -> None:
    script = ongoing().at_epoch(EPOCH_MAX)
    assert script.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert script.held.producer_epoch == EPOCH_MAX + 1 == 2**15 - 1
    script.mark()
    assert script.init() is ErrorCode.NONE
    assert script.producer == (101, 0)


# -- KIP-360: a producer goes on after an error


def test_a_producer_that_continues_gets_the_next_epoch() -> None:
    script = begun()
    assert script.init(expected=Producer(100, 0)) is ErrorCode.NONE
    assert script.producer == (100, 1)


def test_a_retried_initialization_gets_the_same_epoch() -> None:
    script = begun()
    script.init(expected=Producer(100, 0))
    assert script.init(expected=Producer(100, 0)) is ErrorCode.NONE
    assert script.producer == (100, 1)


def test_a_replaced_producer_cannot_continue() -> None:
    script = begun()
    script.init()
    assert script.init(expected=Producer(100, 0)) is ErrorCode.PRODUCER_FENCED
    assert script.init(expected=Producer(99, 1)) is ErrorCode.PRODUCER_FENCED
    assert script.producer == (100, 1)


def test_a_producer_that_continues_at_its_last_epoch_gets_a_new_id_also_on_a_retry() -> None:
    script = begun().at_epoch(EPOCH_MAX)
    assert script.init(expected=Producer(100, EPOCH_MAX)) is ErrorCode.NONE
    assert script.producer == (101, 0)
    assert script.init(expected=Producer(100, EPOCH_MAX)) is ErrorCode.NONE
    assert script.producer == (101, 0)


def test_a_producer_continues_with_an_expired_id() -> None:
    script = Script()
    assert script.init(expected=Producer(7, 3)) is ErrorCode.NONE
    assert script.producer == (100, 0)


# -- a transaction grows


def test_the_first_partition_begins_a_transaction_and_more_join_it() -> None:
    script = begun()
    script.add(P0)
    began_ms = script.held.started_ms
    script.add(P1)
    assert script.held.state is State.ONGOING
    assert script.held.partitions == {P0, P1}
    assert script.held.started_ms == began_ms == 1002


def test_adding_a_partition_again_changes_nothing() -> None:
    script = ongoing()
    before = script.now
    assert script.add(P0) is ErrorCode.NONE
    assert script.now is before


def test_the_next_transaction_starts_with_no_partitions_and_a_time_of_its_own() -> None:
    script = ongoing()
    script.end(commit=True)
    script.mark()
    script.add(P1)
    assert script.held.partitions == {P1}
    assert script.held.started_ms == script.now_ms


def test_only_the_producer_of_an_id_may_add_partitions() -> None:
    script = ongoing()
    assert script.add(P1, by=Producer(99, 0)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert script.add(P1, by=Producer(100, 1)) is ErrorCode.PRODUCER_FENCED
    assert Script().add(P1, by=Producer(100, 0)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_no_partition_can_be_added_to_an_ending_transaction() -> None:
    script = ongoing()
    script.end(commit=True)
    assert script.add(P1) is ErrorCode.CONCURRENT_TRANSACTIONS


def test_verification_returns_the_partitions_of_the_transaction() -> None:
    script = ongoing()
    assert state.verify(script.now, script.producer, [P0, P1]) == {
        P0: ErrorCode.NONE,
        P1: ErrorCode.TRANSACTION_ABORTABLE,
    }
    assert state.verify(script.now, Producer(100, 9), [P0]) == {P0: ErrorCode.PRODUCER_FENCED}
    script.end(commit=True)
    assert state.verify(script.now, script.producer, [P0]) == {P0: ErrorCode.CONCURRENT_TRANSACTIONS}
    script.mark()
    assert state.verify(script.now, script.producer, [P0]) == {P0: ErrorCode.TRANSACTION_ABORTABLE}


# -- a transaction ends, version 1


def test_a_commit_is_prepared_and_then_complete_in_the_same_epoch() -> None:
    script = ongoing()
    assert script.end(commit=True) is ErrorCode.NONE
    assert (script.held.state, script.held.partitions) == (State.PREPARE_COMMIT, frozenset({P0}))
    script.mark()
    assert (script.held.state, script.held.partitions) == (State.COMPLETE_COMMIT, frozenset())
    assert script.producer == (100, 0)


def test_a_repeated_end_is_answered_again_and_never_reversed() -> None:
    for commit in (True, False):
        script = ongoing()
        script.end(commit=commit)
        assert script.end(commit=commit) is ErrorCode.CONCURRENT_TRANSACTIONS
        assert script.end(commit=not commit) is ErrorCode.INVALID_TXN_STATE
        script.mark()
        assert script.end(commit=commit) is ErrorCode.NONE
        assert script.end(commit=not commit) is ErrorCode.INVALID_TXN_STATE


def test_in_version_1_a_transaction_that_has_not_begun_cannot_be_ended() -> None:
    script = begun()
    assert script.end(commit=True) is ErrorCode.INVALID_TXN_STATE
    assert script.end(commit=False) is ErrorCode.INVALID_TXN_STATE


def test_only_its_producer_can_end_a_transaction() -> None:
    script = ongoing()
    assert script.end(commit=True, by=Producer(99, 0)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert script.end(commit=True, by=Producer(100, 1)) is ErrorCode.PRODUCER_FENCED
    assert Script().end(commit=True, by=Producer(100, 0)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


# -- a transaction ends, version 2


def test_in_version_2_every_end_raises_the_epoch_and_the_markers_carry_the_new_one() -> None:
    script = ongoing()
    for epoch in (1, 2, 3):
        assert script.end(commit=epoch % 2 == 0, version=V2) is ErrorCode.NONE
        assert script.producer == (100, epoch)
        assert state.producer_after_end(script.held) == (100, epoch)
        script.mark()
        assert script.producer == (100, epoch)
        script.add(P0)


def test_in_version_2_a_repeated_end_is_answered_again_and_never_reversed() -> None:
    for commit in (True, False):
        script = ongoing()
        asked_as = script.producer
        script.end(commit=commit, version=V2)
        assert script.end(commit=commit, version=V2, by=asked_as) is ErrorCode.CONCURRENT_TRANSACTIONS
        assert script.end(commit=not commit, version=V2, by=asked_as) is ErrorCode.INVALID_TXN_STATE
        script.mark()
        assert script.end(commit=commit, version=V2, by=asked_as) is ErrorCode.NONE
        assert script.end(commit=not commit, version=V2, by=asked_as) is ErrorCode.INVALID_TXN_STATE
        assert script.producer == (100, 1)
        script.add(P0)
        assert script.end(commit=commit, version=V2, by=asked_as) is ErrorCode.PRODUCER_FENCED


def test_in_version_2_an_end_with_the_new_epoch_waits_for_the_previous_one() -> None:
    script = ongoing()
    script.end(commit=True, version=V2)
    assert script.end(commit=False, version=V2) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert script.add(P1) is ErrorCode.CONCURRENT_TRANSACTIONS


def test_in_version_2_an_abort_of_nothing_raises_the_epoch_too() -> None:
    script = begun()
    assert script.end(commit=False, version=V2) is ErrorCode.NONE
    assert script.producer == (100, 1)
    assert script.held.partitions == frozenset()
    script.mark()
    assert script.end(commit=False, version=V2) is ErrorCode.NONE
    script.mark()
    assert script.producer == (100, 2)
    assert script.end(commit=True, version=V2) is ErrorCode.INVALID_TXN_STATE


def test_in_version_2_the_last_epoch_ends_in_a_new_producer_id() -> None:
    script = ongoing().at_epoch(EPOCH_MAX)
    asked_as = script.producer
    assert script.end(commit=True, version=V2) is ErrorCode.NONE
    assert (script.held.producer_id, script.held.producer_epoch) == (100, EPOCH_MAX + 1)  # for the markers
    assert state.producer_after_end(script.held) == (101, 0)
    assert script.add(P0, by=Producer(101, 0)) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert script.end(commit=False, version=V2, by=Producer(101, 0)) is ErrorCode.CONCURRENT_TRANSACTIONS
    script.mark()
    assert script.producer == (101, 0)
    assert script.end(commit=True, version=V2, by=asked_as) is ErrorCode.NONE
    assert state.producer_after_end(script.held) == (101, 0)
    assert script.add(P0) is ErrorCode.NONE


# -- time passes


def test_only_an_ongoing_transaction_times_out_and_only_after_its_timeout() -> None:
    script = ongoing()
    began_ms = script.held.started_ms
    assert not is_timed_out(script.held, began_ms + 60_000)
    assert is_timed_out(script.held, began_ms + 60_001)
    script.end(commit=True)
    assert not is_timed_out(script.held, began_ms + 60_001)
    assert not is_timed_out(begun().held, 2**40)


def test_a_transaction_that_timed_out_is_aborted_and_its_producer_fenced() -> None:
    script = ongoing()
    late = script.producer
    script.now = fence(script.held, now_ms=99_999)
    assert (script.held.state, script.held.partitions) == (State.PREPARE_ABORT, frozenset({P0}))
    assert script.end(commit=True, by=late) is ErrorCode.PRODUCER_FENCED
    script.mark()
    assert script.add(P0, by=late) is ErrorCode.PRODUCER_FENCED


def test_only_an_id_without_a_transaction_expires() -> None:
    script = begun()
    assert not is_expired(script.held, script.held.updated_ms + 9, 10)
    assert is_expired(script.held, script.held.updated_ms + 10, 10)
    script.add(P0)
    assert not is_expired(script.held, 2**40, 10)
    script.end(commit=True)
    assert not is_expired(script.held, 2**40, 10)
    script.mark()
    assert is_expired(script.held, 2**40, 10)
