"""The checker of transactions: nothing of an aborted one is read, and all or nothing of the others."""

import pytest

from penstock.testing.simulation.cluster.checkers.transactions import Outcome, TransactionChecker
from penstock.testing.simulation.cluster.checkers.verdict import Verdict

P, Q = ("ledger", 0), ("ledger", 1)


class Case:
    def __init__(self) -> None:
        self.verdict = Verdict()
        self.checker = TransactionChecker(self.verdict)

    @property
    def invariant(self) -> str | None:
        return None if self.verdict.violation is None else self.verdict.violation.invariant


@pytest.fixture
def case() -> Case:
    """A transaction of two records, in two partitions."""
    case = Case()
    case.checker.writes(b"t", P, b"t/p")
    case.checker.writes(b"t", Q, b"t/q")
    case.checker.written(P, b"t/p", 4)
    return case


def test_a_committed_transaction_is_read_as_a_whole(case: Case) -> None:
    case.checker.becomes(b"t", Outcome.ENDING)
    case.checker.reads(P, 4, b"t/p")
    case.checker.becomes(b"t", Outcome.COMMITTED)
    case.checker.ends_with({P: [(4, b"t/p")], Q: [(0, b"t/q")]}, {})
    case.verdict.check()
    assert case.checker.committed_count() == 1


def test_what_was_committed_is_known_by_its_offsets(case: Case) -> None:
    assert case.checker.committed(P) == []
    case.checker.becomes(b"t", Outcome.COMMITTED)
    assert (case.checker.committed(P), case.checker.committed(Q)) == ([4], [])


def test_an_aborted_transaction_is_not_read(case: Case) -> None:
    case.checker.becomes(b"t", Outcome.ABORTED)
    case.checker.ends_with({P: [], Q: []}, {})
    case.verdict.check()
    assert case.checker.aborted_count() == 1


@pytest.mark.parametrize("outcome", [Outcome.OPEN, Outcome.ABORTED])
def test_a_record_of_a_transaction_that_is_open_or_aborted_is_noticed(case: Case, outcome: Outcome) -> None:
    case.checker.becomes(b"t", outcome)
    case.checker.reads(P, 4, b"t/p")
    assert case.invariant == "no aborted read"


def test_a_record_that_nobody_wrote_is_noticed(case: Case) -> None:
    case.checker.reads(P, 4, b"x")
    assert case.invariant == "no aborted read"


def test_a_record_at_another_offset_is_noticed(case: Case) -> None:
    case.checker.becomes(b"t", Outcome.COMMITTED)
    case.checker.reads(P, 5, b"t/p")
    assert case.invariant == "read"


def test_a_committed_transaction_that_lacks_a_record_is_noticed(case: Case) -> None:
    case.checker.becomes(b"t", Outcome.COMMITTED)
    case.checker.ends_with({P: [(4, b"t/p")], Q: []}, {})
    assert case.invariant == "committed transaction"


def test_half_of_a_transaction_whose_end_is_not_known_is_noticed(case: Case) -> None:
    case.checker.becomes(b"t", Outcome.ENDING)
    case.checker.ends_with({P: [], Q: []}, {})
    case.verdict.check()
    case.checker.ends_with({P: [(4, b"t/p")], Q: []}, {})
    assert case.invariant == "atomic"


def test_a_record_that_is_there_twice_is_noticed(case: Case) -> None:
    case.checker.becomes(b"t", Outcome.COMMITTED)
    case.checker.ends_with({P: [(4, b"t/p"), (5, b"t/p")], Q: [(0, b"t/q")]}, {})
    assert case.invariant == "doubled"


def test_a_record_that_is_left_out_of_a_committed_transaction_is_noticed_at_once(case: Case) -> None:
    case.checker.becomes(b"t", Outcome.COMMITTED)
    case.checker.passes(P, 0, 5, [])
    assert case.invariant == "committed transaction"


def test_a_record_that_was_left_out_before_its_transaction_was_committed_is_noticed(case: Case) -> None:
    case.checker.passes(P, 0, 5, [])
    case.verdict.check()
    case.checker.becomes(b"t", Outcome.COMMITTED)
    assert case.invariant == "committed transaction"


def test_a_record_that_is_acknowledged_behind_readers_which_were_not_given_it_counts_as_left_out(
    case: Case,
) -> None:
    case.checker.becomes(b"t", Outcome.COMMITTED)
    case.checker.passes(Q, 0, 5, [])
    case.verdict.check()
    case.checker.written(Q, b"t/q", 3)
    assert case.invariant == "committed transaction"


def test_a_transaction_that_is_committed_in_one_partition_and_aborted_in_another_is_noticed(
    case: Case,
) -> None:
    case.checker.becomes(b"t", Outcome.ENDING)
    case.checker.passes(P, 0, 5, [])
    case.verdict.check()
    case.checker.reads(Q, 0, b"t/q")
    assert case.invariant == "atomic"


def test_a_transaction_is_judged_by_what_is_left_when_records_are_deleted(case: Case) -> None:
    case.checker.becomes(b"t", Outcome.COMMITTED)
    case.checker.deletes(P, 5)
    case.checker.ends_with({P: [], Q: [(0, b"t/q")]}, {P: 5})
    case.verdict.check()
    case.checker.ends_with({P: [], Q: []}, {P: 5})
    assert case.invariant == "committed transaction"


def test_a_log_that_starts_where_nobody_asked_for_is_noticed(case: Case) -> None:
    case.checker.deletes(P, 3)
    case.checker.ends_with({P: []}, {P: 5})
    assert case.invariant == "deleted"


@pytest.mark.parametrize(("start", "stable", "high_watermark"), [(5, 0, 9), (0, 9, 5)])
def test_a_last_stable_offset_outside_of_what_may_be_read_is_noticed(
    case: Case, start: int, stable: int, high_watermark: int
) -> None:
    case.checker.has_bounds(P, 0, 0, 0)
    case.checker.has_bounds(P, 2, 5, 9)
    case.verdict.check()
    case.checker.has_bounds(P, start, stable, high_watermark)
    assert case.invariant == "last stable offset"


class TestOffsets:
    """Two transactions of one group, each for two partitions."""

    @pytest.fixture(autouse=True)
    def _commit(self, case: Case) -> None:
        for name, number in ((b"a", 1), (b"b", 2)):
            case.checker.begins(name)
            case.checker.commits_offsets(name, "g", number)
            case.checker.offsets_kept(name)
        case.checker.becomes(b"a", Outcome.COMMITTED)

    def test_those_of_the_last_committed_transaction_are_found(self, case: Case) -> None:
        case.checker.becomes(b"b", Outcome.ABORTED)
        case.checker.finds_offsets("g", {P: 1, Q: 1})
        case.verdict.check()
        assert case.checker.offset_commit_count() == 1

    def test_a_commit_of_which_only_a_part_is_found_is_noticed(self, case: Case) -> None:
        case.checker.becomes(b"b", Outcome.COMMITTED)
        case.checker.finds_offsets("g", {P: 1, Q: 2})
        assert case.invariant == "offsets in part"

    def test_a_commit_of_an_aborted_transaction_that_is_found_is_noticed(self, case: Case) -> None:
        case.checker.becomes(b"b", Outcome.ABORTED)
        case.checker.finds_offsets("g", {P: 2, Q: 2})
        assert case.invariant == "no aborted read"

    def test_a_commit_that_is_not_found_is_noticed(self, case: Case) -> None:
        case.checker.becomes(b"b", Outcome.COMMITTED)
        case.checker.finds_offsets("g", {P: 1, Q: 1})
        assert case.invariant == "committed transaction"

    def test_offsets_and_records_share_the_fate_of_their_transaction(self, case: Case) -> None:
        case.checker.writes(b"b", P, b"b/p")
        case.checker.becomes(b"b", Outcome.ENDING)
        case.checker.finds_offsets("g", {P: 1, Q: 1})
        case.verdict.check()
        case.checker.reads(P, 9, b"b/p")
        assert case.invariant == "atomic"
