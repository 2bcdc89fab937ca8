"""The checker of a share group: acknowledged records do not come again, and every record is delivered."""

import pytest

from penstock_simulation.cluster.checkers.shares import IsLeader, ShareChecker
from penstock_simulation.violation import Violation, ViolationLog

P = ("orders", 0)


class Case:
    """Record 5 was delivered, and its acknowledgement answered, while another member waited for records."""

    def __init__(self, is_leader: IsLeader = lambda _partition, _node: True) -> None:
        self.violations = ViolationLog()
        self.checker = ShareChecker(self.violations, is_leader)
        self.checker.on_delivered(P, 5, self.checker.on_fetch_sent(), "node-1")
        self.asked_before = self.checker.on_fetch_sent()
        self.checker.on_acknowledged(P, 5)


def test_an_acknowledged_record_must_not_be_delivered_again() -> None:
    case = Case()
    case.checker.on_delivered(P, 5, case.checker.on_fetch_sent(), "node-1")
    with pytest.raises(Violation, match="delivered after acknowledgement"):
        case.violations.check()


def test_an_answer_to_an_earlier_fetch_may_contain_it() -> None:
    case = Case()
    case.checker.on_delivered(P, 5, case.asked_before, "node-1")
    case.violations.check()
    assert case.checker.redelivered_count == 1


def test_a_replaced_leader_may_deliver_it_again() -> None:
    case = Case(lambda partition, host: (partition, host) == (P, "node-2"))
    case.checker.on_delivered(P, 5, case.checker.on_fetch_sent(), "node-1")
    case.violations.check()

    case.checker.on_delivered(P, 5, case.checker.on_fetch_sent(), "node-2")
    with pytest.raises(Violation, match="delivered after acknowledgement"):
        case.violations.check()


def test_a_record_that_was_not_acknowledged_may_be_delivered_again() -> None:
    case = Case()
    for _ in range(2):
        case.checker.on_delivered(P, 6, case.checker.on_fetch_sent(), "node-1")
    case.violations.check()
    assert case.checker.acknowledged_count == 1


def test_records_that_no_member_received_are_undelivered() -> None:
    assert Case().checker.undelivered(P, [4, 5, 6]) == [4, 6]


def test_an_acquired_record_must_be_in_the_answer() -> None:
    case = Case()
    case.checker.on_record_missing(P, 7)
    with pytest.raises(Violation, match="missing record"):
        case.violations.check()
