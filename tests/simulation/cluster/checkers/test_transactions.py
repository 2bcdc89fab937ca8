"""The checker of transactions: no record of an aborted one is read, and all or none of the others."""

import pytest

from penstock_simulation.cluster.checkers.coordinators import CoordinatorTerms
from penstock_simulation.cluster.checkers.transactions import Outcome, TransactionChecker
from penstock_simulation.violation import ViolationLog

P, Q = ("ledger", 0), ("ledger", 1)
OLD, NEW = "node-1", "node-2"


class Case:
    def __init__(self) -> None:
        self.violations = ViolationLog()
        self.coordinators = CoordinatorTerms()
        self.checker = TransactionChecker(self.violations, self.coordinators)

    @property
    def invariant(self) -> str | None:
        return None if self.violations.first is None else self.violations.first.invariant


@pytest.fixture
def case() -> Case:
    """A transaction of two records, in two partitions."""
    case = Case()
    case.checker.on_send(b"t", P, b"t/p")
    case.checker.on_send(b"t", Q, b"t/q")
    case.checker.on_stored(P, b"t/p", 4)
    return case


def test_a_committed_transaction_is_read_as_a_whole(case: Case) -> None:
    case.checker.on_outcome(b"t", Outcome.ENDING)
    case.checker.on_read(P, 4, b"t/p")
    case.checker.on_outcome(b"t", Outcome.COMMITTED)
    case.checker.check_logs({P: [(4, b"t/p")], Q: [(0, b"t/q")]}, {})
    case.violations.check()
    assert case.checker.committed_count() == 1


def test_committed_records_are_known_by_their_offsets(case: Case) -> None:
    assert case.checker.committed_offsets(P) == []
    case.checker.on_outcome(b"t", Outcome.COMMITTED)
    assert (case.checker.committed_offsets(P), case.checker.committed_offsets(Q)) == ([4], [])


def test_an_aborted_transaction_is_not_read(case: Case) -> None:
    case.checker.on_outcome(b"t", Outcome.ABORTED)
    case.checker.check_logs({P: [], Q: []}, {})
    case.violations.check()
    assert case.checker.aborted_count() == 1


@pytest.mark.parametrize("outcome", [Outcome.OPEN, Outcome.ABORTED])
def test_a_record_of_a_transaction_that_is_open_or_aborted_is_noticed(case: Case, outcome: Outcome) -> None:
    case.checker.on_outcome(b"t", outcome)
    case.checker.on_read(P, 4, b"t/p")
    assert case.invariant == "no aborted read"


def test_a_record_that_no_producer_sent_is_noticed(case: Case) -> None:
    case.checker.on_read(P, 4, b"x")
    assert case.invariant == "no aborted read"


def test_a_record_at_another_offset_is_noticed(case: Case) -> None:
    case.checker.on_outcome(b"t", Outcome.COMMITTED)
    case.checker.on_read(P, 5, b"t/p")
    assert case.invariant == "read"


def test_a_committed_transaction_that_lacks_a_record_is_noticed(case: Case) -> None:
    case.checker.on_outcome(b"t", Outcome.COMMITTED)
    case.checker.check_logs({P: [(4, b"t/p")], Q: []}, {})
    assert case.invariant == "committed transaction"


def test_half_of_a_transaction_whose_outcome_is_unknown_is_noticed(case: Case) -> None:
    case.checker.on_outcome(b"t", Outcome.ENDING)
    case.checker.check_logs({P: [], Q: []}, {})
    case.violations.check()
    case.checker.check_logs({P: [(4, b"t/p")], Q: []}, {})
    assert case.invariant == "atomic"


def test_a_record_that_is_stored_twice_is_noticed(case: Case) -> None:
    case.checker.on_outcome(b"t", Outcome.COMMITTED)
    case.checker.check_logs({P: [(4, b"t/p"), (5, b"t/p")], Q: [(0, b"t/q")]}, {})
    assert case.invariant == "duplicates"


def test_a_record_of_a_committed_transaction_that_is_not_read_is_noticed_at_once(case: Case) -> None:
    case.checker.on_outcome(b"t", Outcome.COMMITTED)
    case.checker.on_range_read(P, 0, 5, [])
    assert case.invariant == "committed transaction"


def test_a_record_that_was_not_read_before_its_transaction_was_committed_is_noticed(case: Case) -> None:
    case.checker.on_range_read(P, 0, 5, [])
    case.violations.check()
    case.checker.on_outcome(b"t", Outcome.COMMITTED)
    assert case.invariant == "committed transaction"


def test_a_record_that_is_acknowledged_after_readers_have_passed_its_offset_counts_as_not_read(
    case: Case,
) -> None:
    case.checker.on_outcome(b"t", Outcome.COMMITTED)
    case.checker.on_range_read(Q, 0, 5, [])
    case.violations.check()
    case.checker.on_stored(Q, b"t/q", 3)
    assert case.invariant == "committed transaction"


def test_a_transaction_that_is_committed_in_one_partition_and_aborted_in_another_is_noticed(
    case: Case,
) -> None:
    case.checker.on_outcome(b"t", Outcome.ENDING)
    case.checker.on_range_read(P, 0, 5, [])
    case.violations.check()
    case.checker.on_read(Q, 0, b"t/q")
    assert case.invariant == "atomic"


def test_a_transaction_is_judged_by_the_records_that_are_not_deleted(case: Case) -> None:
    case.checker.on_outcome(b"t", Outcome.COMMITTED)
    case.checker.on_delete_sent(P, 5)
    case.checker.check_logs({P: [], Q: [(0, b"t/q")]}, {P: 5})
    case.violations.check()
    case.checker.check_logs({P: [], Q: []}, {P: 5})
    assert case.invariant == "committed transaction"


def test_a_deletion_without_a_request_is_noticed(case: Case) -> None:
    case.checker.on_delete_sent(P, 3)
    case.checker.check_logs({P: []}, {P: 5})
    assert case.invariant == "log start"


@pytest.mark.parametrize(("start", "stable", "high_watermark"), [(5, 0, 9), (0, 9, 5)])
def test_a_last_stable_offset_outside_of_the_readable_range_is_noticed(
    case: Case, start: int, stable: int, high_watermark: int
) -> None:
    case.checker.on_bounds(P, 0, 0, 0)
    case.checker.on_bounds(P, 2, 5, 9)
    case.violations.check()
    case.checker.on_bounds(P, start, stable, high_watermark)
    assert case.invariant == "last stable offset"


class TestOffsets:
    """Two transactions of one group, each for two partitions."""

    @pytest.fixture(autouse=True)
    def _commit(self, case: Case) -> None:
        case.coordinators.on_loaded(OLD, 1, 10)
        for name, number in ((b"a", 1), (b"b", 2)):
            case.checker.on_begin(name)
            case.checker.on_offsets_sent(name, "g", number)
            case.checker.on_offsets_stored(name, OLD)
        case.checker.on_outcome(b"a", Outcome.COMMITTED)

    def test_those_of_the_last_committed_transaction_are_found(self, case: Case) -> None:
        case.checker.on_outcome(b"b", Outcome.ABORTED)
        case.checker.on_offsets_fetched("g", {P: 1, Q: 1}, 11, OLD)
        case.violations.check()
        assert case.checker.offset_commit_count() == 1

    def test_a_commit_of_which_only_a_part_is_found_is_noticed(self, case: Case) -> None:
        case.checker.on_outcome(b"b", Outcome.COMMITTED)
        case.checker.on_offsets_fetched("g", {P: 1, Q: 2}, 11, OLD)
        assert case.invariant == "partial offsets"

    def test_a_commit_of_an_aborted_transaction_that_is_found_is_noticed(self, case: Case) -> None:
        case.checker.on_outcome(b"b", Outcome.ABORTED)
        case.checker.on_offsets_fetched("g", {P: 2, Q: 2}, 11, OLD)
        assert case.invariant == "no aborted read"

    def test_a_commit_that_is_not_found_is_noticed(self, case: Case) -> None:
        case.checker.on_outcome(b"b", Outcome.COMMITTED)
        case.checker.on_offsets_fetched("g", {P: 1, Q: 1}, 11, OLD)
        assert case.invariant == "committed transaction"

    def test_offsets_and_records_share_the_outcome_of_their_transaction(self, case: Case) -> None:
        case.checker.on_send(b"b", P, b"b/p")
        case.checker.on_outcome(b"b", Outcome.ENDING)
        case.checker.on_offsets_fetched("g", {P: 1, Q: 1}, 11, OLD)
        case.violations.check()
        case.checker.on_read(P, 9, b"b/p")
        assert case.invariant == "atomic"

    def test_a_replaced_coordinator_need_not_know_those_that_the_new_one_has_stored(self, case: Case) -> None:
        case.coordinators.on_loaded(NEW, 2, 11)
        case.checker.on_offsets_stored(b"b", NEW)
        case.checker.on_outcome(b"b", Outcome.COMMITTED)
        case.checker.on_offsets_fetched("g", {P: 1, Q: 1}, 12, OLD)
        case.violations.check()
        case.checker.on_offsets_fetched("g", {P: 1, Q: 1}, 12, NEW)
        assert case.invariant == "committed transaction"
