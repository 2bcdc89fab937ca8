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
    case.checker.ends_with({P: [(4, b"t/p")], Q: [(0, b"t/q")]})
    case.verdict.check()
    assert case.checker.committed_count() == 1


def test_what_was_committed_is_known_by_its_offsets(case: Case) -> None:
    assert case.checker.committed(P) == []
    case.checker.becomes(b"t", Outcome.COMMITTED)
    assert (case.checker.committed(P), case.checker.committed(Q)) == ([4], [])


def test_an_aborted_transaction_is_not_read(case: Case) -> None:
    case.checker.becomes(b"t", Outcome.ABORTED)
    case.checker.ends_with({P: [], Q: []})
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
    case.checker.ends_with({P: [(4, b"t/p")], Q: []})
    assert case.invariant == "committed transaction"


def test_half_of_a_transaction_whose_end_is_not_known_is_noticed(case: Case) -> None:
    case.checker.becomes(b"t", Outcome.ENDING)
    case.checker.ends_with({P: [], Q: []})
    case.verdict.check()
    case.checker.ends_with({P: [(4, b"t/p")], Q: []})
    assert case.invariant == "atomic"


def test_a_record_that_is_there_twice_is_noticed(case: Case) -> None:
    case.checker.becomes(b"t", Outcome.COMMITTED)
    case.checker.ends_with({P: [(4, b"t/p"), (5, b"t/p")], Q: [(0, b"t/q")]})
    assert case.invariant == "doubled"
