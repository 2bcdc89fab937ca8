"""The checker of a share group: what was acknowledged is done with, and nothing is left out."""

import pytest

from penstock.testing.simulation.cluster.checkers.shares import IsLeader, ShareChecker, any_may_lead
from penstock.testing.simulation.cluster.checkers.verdict import Verdict
from penstock.testing.simulation.raft.checker import Violation

P = ("orders", 0)


class Case:
    """Record 5 was given, and its acknowledgement answered, while somebody else was waiting for records."""

    def __init__(self, is_leader: IsLeader = any_may_lead) -> None:
        self.verdict = Verdict()
        self.checker = ShareChecker(self.verdict, is_leader)
        self.checker.is_given(P, 5, self.checker.asks(), "node-1")
        self.asked_before = self.checker.asks()
        self.checker.is_done(P, 5)


def test_a_record_that_was_acknowledged_must_not_be_given_again() -> None:
    case = Case()
    case.checker.is_given(P, 5, case.checker.asks(), "node-1")
    with pytest.raises(Violation, match="done once"):
        case.verdict.check()


def test_an_answer_that_took_long_may_have_it() -> None:
    case = Case()
    case.checker.is_given(P, 5, case.asked_before, "node-1")
    case.verdict.check()
    assert case.checker.again_count == 1


def test_a_node_that_leads_no_more_may_give_it() -> None:
    case = Case(lambda partition, host: (partition, host) == (P, "node-2"))
    case.checker.is_given(P, 5, case.checker.asks(), "node-1")
    case.verdict.check()

    case.checker.is_given(P, 5, case.checker.asks(), "node-2")
    with pytest.raises(Violation, match="done once"):
        case.verdict.check()


def test_a_record_that_was_not_acknowledged_may_be_given_again() -> None:
    case = Case()
    for _ in range(2):
        case.checker.is_given(P, 6, case.checker.asks(), "node-1")
    case.verdict.check()
    assert case.checker.done_count == 1


def test_what_nobody_was_given_is_left_out() -> None:
    assert Case().checker.left_out(P, [4, 5, 6]) == [4, 6]


def test_a_record_that_is_announced_must_come_along() -> None:
    case = Case()
    case.checker.misses(P, 7)
    with pytest.raises(Violation, match="delivery"):
        case.verdict.check()
