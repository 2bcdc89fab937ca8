"""The checker of a group: one owner at a time, and offsets that do not go back."""

import pytest

from penstock.testing.simulation.cluster.checkers.groups import GroupChecker
from penstock.testing.simulation.cluster.checkers.verdict import Verdict

P = ("orders", 0)
SESSION_S = 3.0
REBALANCE_S = 4.0
OLD, NEW = "node-1", "node-2"


class Case:
    def __init__(self) -> None:
        self.verdict = Verdict()
        self.checker = GroupChecker(self.verdict, SESSION_S, REBALANCE_S)

    @property
    def invariant(self) -> str | None:
        return None if self.verdict.violation is None else self.verdict.violation.invariant


@pytest.fixture
def case() -> Case:
    """Member `a` owns the partition and has committed 5; `b` is there too."""
    case = Case()
    case.checker.is_loaded(OLD, 1, 9)
    case.checker.is_member("a", 10, OLD)
    case.checker.takes("a", P, 10.1)
    case.checker.commits(P, 5, 10.2)
    case.checker.committed(P, 5, 10.2)
    case.checker.is_member("b", 11, OLD)
    return case


def test_a_partition_that_its_owner_gave_up_may_be_given_to_another(case: Case) -> None:
    case.checker.gives_up("a", P)
    case.checker.takes("b", P, 11.1)
    case.checker.finds(P, 5, 11.2)
    case.verdict.check()
    assert case.checker.handover_count == 2


def test_a_partition_of_a_member_that_was_silent_for_a_session_may_be_given_to_another(case: Case) -> None:
    case.checker.is_member("b", 13, OLD)
    case.checker.takes("b", P, 13.1)
    case.verdict.check()


def test_a_partition_with_two_owners_is_noticed(case: Case) -> None:
    case.checker.takes("b", P, 12.9)
    assert case.invariant == "single ownership"


def test_a_member_that_has_not_confirmed_what_it_gave_up_may_be_removed_before_its_session_ends(
    case: Case,
) -> None:
    case.checker.is_member("a", 12, OLD)
    case.checker.is_to_give_up("a")
    case.checker.is_member("b", 13, OLD)
    case.checker.takes("b", P, 14.1)
    case.verdict.check()


def test_a_member_that_may_still_confirm_what_it_gave_up_owns_the_rest(case: Case) -> None:
    case.checker.is_member("a", 12, OLD)
    case.checker.is_to_give_up("a")
    case.checker.is_member("b", 13, OLD)
    case.checker.takes("b", P, 13.9)
    assert case.invariant == "single ownership"


def test_a_member_that_has_confirmed_what_it_gave_up_owns_the_rest(case: Case) -> None:
    case.checker.is_member("a", 12, OLD)
    case.checker.is_to_give_up("a")
    case.checker.is_member("a", 13, OLD)
    case.checker.is_member("b", 13, OLD)
    case.checker.takes("b", P, 14.1)
    assert case.invariant == "single ownership"


def test_an_answer_that_took_longer_than_a_session_gives_nothing(case: Case) -> None:
    case.checker.takes("b", P, 14.1)
    case.checker.is_member("a", 14.2, OLD)
    case.verdict.check()
    assert case.checker.handover_count == 1


def test_a_heartbeat_that_a_replaced_coordinator_answered_does_not_bind_the_new_one(case: Case) -> None:
    case.checker.is_loaded(NEW, 2, 10.5)
    case.checker.is_member("a", 11, OLD)  # which has not heard of it yet
    case.checker.is_member("b", 13.6, NEW)
    case.checker.takes("b", P, 13.7)
    case.verdict.check()


def test_a_new_coordinator_gives_members_of_the_old_one_a_whole_session(case: Case) -> None:
    case.checker.is_loaded(NEW, 2, 10.5)
    case.checker.is_member("a", 11, OLD)
    case.checker.is_member("b", 13.3, NEW)
    case.checker.takes("b", P, 13.4)
    assert case.invariant == "single ownership"


def test_a_heartbeat_that_the_new_coordinator_answered_binds_it(case: Case) -> None:
    case.checker.is_loaded(NEW, 2, 10.5)
    case.checker.is_member("a", 11, NEW)
    case.checker.is_member("b", 13.6, NEW)
    case.checker.takes("b", P, 13.7)
    assert case.invariant == "single ownership"


def test_a_coordinator_that_loads_again_in_its_epoch_is_not_replaced(case: Case) -> None:
    case.checker.is_loaded(OLD, 1, 10.5)
    case.checker.is_member("a", 11, OLD)
    case.checker.is_member("b", 13.6, OLD)
    case.checker.takes("b", P, 13.7)
    assert case.invariant == "single ownership"


def test_what_a_replaced_coordinator_gives_away_is_not_owned_longer_than_the_new_one_lets_it(
    case: Case,
) -> None:
    case.checker.is_loaded(NEW, 2, 9.5)
    case.checker.is_member("a", 12, NEW)
    case.checker.takes("b", P, 12.6)  # more than a session after the new coordinator had loaded the group
    case.verdict.check()
    assert case.checker.handover_count == 1


def test_the_time_to_confirm_is_not_counted_from_an_answer_of_a_replaced_coordinator(case: Case) -> None:
    case.checker.is_loaded(NEW, 2, 10.5)
    case.checker.is_member("a", 12, OLD)
    case.checker.is_member("a", 13, NEW)
    case.checker.is_to_give_up("a")
    case.checker.is_member("b", 14, NEW)
    case.checker.takes("b", P, 14.6)
    case.verdict.check()


@pytest.mark.parametrize("found", [-1, 4])
def test_an_offset_that_went_back_or_is_lost_is_noticed(case: Case, found: int) -> None:
    case.checker.finds(P, found, 11)
    assert case.invariant == "committed offsets"


def test_a_question_that_was_asked_before_the_commit_may_be_answered_by_the_offset_before(case: Case) -> None:
    case.checker.finds(P, -1, 10.1)
    case.checker.finds(P, 7, 11)
    case.verdict.check()


def test_a_commit_without_an_answer_may_come_late_but_not_one_that_was_refused(case: Case) -> None:
    case.checker.commits(P, 3, 9)
    case.checker.finds(P, 3, 11)
    case.verdict.check()
    case.checker.committed(P, 6, 12)
    case.checker.commits(P, 4, 12)
    case.checker.refused(P, 4)
    case.checker.finds(P, 4, 13)
    assert case.invariant == "committed offsets"


def test_a_commit_comes_late_only_for_a_while(case: Case) -> None:
    case.checker.commits(P, 3, 5)
    case.checker.finds(P, 3, 11)
    assert case.invariant == "committed offsets"
