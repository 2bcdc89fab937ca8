"""The checker of committed offsets: those that were acknowledged are found, those that were refused are not."""

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.testing.simulation.cluster.checkers.commits import CommitChecker
from penstock.testing.simulation.cluster.checkers.verdict import Verdict

P, Q = ("orders", 0), ("orders", 1)


class Case:
    def __init__(self) -> None:
        self.verdict = Verdict()
        self.checker = CommitChecker(self.verdict)

    @property
    def invariant(self) -> str | None:
        return None if self.verdict.violation is None else self.verdict.violation.invariant


@pytest.fixture
def case() -> Case:
    """A commit that was acknowledged for both partitions."""
    case = Case()
    case.checker.commits(1, 10.0)
    case.checker.answered(1, {P: ErrorCode.NONE, Q: ErrorCode.NONE})
    return case


def test_what_was_acknowledged_is_found(case: Case) -> None:
    case.checker.finds({P: 1, Q: 1}, 11.0)
    case.verdict.check()


def test_a_commit_that_is_not_found_is_noticed(case: Case) -> None:
    case.checker.finds({P: 1, Q: -1}, 11.0)
    assert case.invariant == "committed offsets"


def test_a_refused_commit_that_is_found_is_noticed(case: Case) -> None:
    case.checker.commits(2, 11.0)
    case.checker.answered(2, {P: ErrorCode.NONE, Q: ErrorCode.OFFSET_METADATA_TOO_LARGE})
    case.checker.finds({P: 2, Q: 1}, 12.0)
    case.verdict.check()
    case.checker.finds({P: 2, Q: 2}, 12.0)
    assert case.invariant == "refused offsets"


def test_a_commit_whose_fate_is_not_known_may_be_found_or_not(case: Case) -> None:
    case.checker.commits(2, 11.0)
    case.checker.answered(2, {P: ErrorCode.NOT_COORDINATOR, Q: ErrorCode.NOT_COORDINATOR})
    case.checker.finds({P: 2, Q: 1}, 12.0)
    case.verdict.check()


def test_a_commit_that_was_not_answered_may_take_the_place_of_a_later_one_for_a_while(case: Case) -> None:
    for number, sent_s in ((2, 11.0), (3, 12.0)):
        case.checker.commits(number, sent_s)
    case.checker.answered(3, {P: ErrorCode.NONE, Q: ErrorCode.NONE})
    case.checker.finds({P: 2, Q: 3}, 13.0)
    case.verdict.check()
    case.checker.commits(4, 30.0)
    case.checker.answered(4, {P: ErrorCode.NONE})
    case.checker.finds({P: 2}, 31.0)
    assert case.invariant == "committed offsets"
