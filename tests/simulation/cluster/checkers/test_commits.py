"""The checker of offset commits: acknowledged ones are found, rejected ones are not."""

import pytest

from penstock.protocol.errors import ErrorCode
from penstock_simulation.cluster.checkers.commits import CommitChecker
from penstock_simulation.cluster.checkers.coordinators import CoordinatorTerms
from penstock_simulation.violation import ViolationLog

P, Q = ("orders", 0), ("orders", 1)
OLD, NEW = "node-1", "node-2"


class Case:
    def __init__(self) -> None:
        self.violations = ViolationLog()
        self.coordinators = CoordinatorTerms()
        self.checker = CommitChecker(self.violations, self.coordinators)

    @property
    def invariant(self) -> str | None:
        return None if self.violations.first is None else self.violations.first.invariant


@pytest.fixture
def case() -> Case:
    """A commit that was acknowledged for both partitions."""
    case = Case()
    case.coordinators.on_loaded(OLD, 1, 9.0)
    case.checker.on_send(1, 10.0)
    case.checker.on_answer(1, {P: ErrorCode.NONE, Q: ErrorCode.NONE}, OLD)
    return case


def test_an_acknowledged_commit_is_found(case: Case) -> None:
    case.checker.on_fetched({P: 1, Q: 1}, 11.0, OLD)
    case.violations.check()


def test_a_commit_that_is_not_found_is_noticed(case: Case) -> None:
    case.checker.on_fetched({P: 1, Q: -1}, 11.0, OLD)
    assert case.invariant == "committed offsets"


def test_a_rejected_commit_that_is_found_is_noticed(case: Case) -> None:
    case.checker.on_send(2, 11.0)
    case.checker.on_answer(2, {P: ErrorCode.NONE, Q: ErrorCode.OFFSET_METADATA_TOO_LARGE}, OLD)
    case.checker.on_fetched({P: 2, Q: 1}, 12.0, OLD)
    case.violations.check()
    case.checker.on_fetched({P: 2, Q: 2}, 12.0, OLD)
    assert case.invariant == "rejected offsets"


def test_a_commit_whose_outcome_is_unknown_may_be_found_or_not(case: Case) -> None:
    case.checker.on_send(2, 11.0)
    case.checker.on_answer(2, {P: ErrorCode.NOT_COORDINATOR, Q: ErrorCode.NOT_COORDINATOR}, OLD)
    case.checker.on_fetched({P: 2, Q: 1}, 12.0, OLD)
    case.violations.check()


def test_a_commit_that_was_not_answered_may_replace_a_later_one_for_a_while(case: Case) -> None:
    for number, sent_s in ((2, 11.0), (3, 12.0)):
        case.checker.on_send(number, sent_s)
    case.checker.on_answer(3, {P: ErrorCode.NONE, Q: ErrorCode.NONE}, OLD)
    case.checker.on_fetched({P: 2, Q: 3}, 13.0, OLD)
    case.violations.check()
    case.checker.on_send(4, 30.0)
    case.checker.on_answer(4, {P: ErrorCode.NONE}, OLD)
    case.checker.on_fetched({P: 2}, 31.0, OLD)
    assert case.invariant == "committed offsets"


def test_a_replaced_coordinator_need_not_know_commits_that_the_new_one_has_acknowledged(case: Case) -> None:
    case.coordinators.on_loaded(NEW, 2, 11.0)
    case.checker.on_send(2, 12.0)
    case.checker.on_answer(2, {P: ErrorCode.NONE}, NEW)
    case.checker.on_fetched({P: 1}, 13.0, OLD)
    case.violations.check()
    case.checker.on_fetched({P: 1}, 13.0, NEW)
    assert case.invariant == "committed offsets"


def test_a_replaced_coordinator_knows_commits_that_it_has_acknowledged_itself(case: Case) -> None:
    case.coordinators.on_loaded(NEW, 2, 11.0)
    case.checker.on_fetched({P: -1}, 13.0, OLD)
    assert case.invariant == "committed offsets"
