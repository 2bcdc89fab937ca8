"""The checker of a consumer group: one owner at a time, and offsets that do not go back."""

import pytest

from penstock_simulation.cluster.checkers.coordinators import CoordinatorTerms
from penstock_simulation.cluster.checkers.groups import GroupChecker
from penstock_simulation.violation import ViolationLog

P = ("orders", 0)
SESSION_S = 3.0
REBALANCE_S = 4.0
OLD, NEW = "node-1", "node-2"


class Case:
    def __init__(self) -> None:
        self.violations = ViolationLog()
        self.coordinators = CoordinatorTerms()
        self.checker = GroupChecker(self.violations, self.coordinators, SESSION_S, REBALANCE_S)

    @property
    def invariant(self) -> str | None:
        return None if self.violations.first is None else self.violations.first.invariant


@pytest.fixture
def case() -> Case:
    """Member `a` owns the partition and has committed 5; `b` is there too."""
    case = Case()
    case.coordinators.on_loaded(OLD, 1, 9)
    case.checker.on_heartbeat("a", 10, OLD)
    case.checker.on_assigned("a", P, 10.1)
    case.checker.on_commit_sent(P, 5, 10.2)
    case.checker.on_committed(P, 5, 10.2, OLD)
    case.checker.on_heartbeat("b", 11, OLD)
    return case


def test_a_partition_that_its_owner_released_may_be_assigned_to_another(case: Case) -> None:
    case.checker.on_released("a", P)
    case.checker.on_assigned("b", P, 11.1)
    case.checker.on_fetched(P, 5, 11.2, OLD)
    case.violations.check()
    assert case.checker.assignment_count == 2


def test_a_partition_of_a_member_that_was_silent_for_a_session_may_be_assigned_to_another(case: Case) -> None:
    case.checker.on_heartbeat("b", 13, OLD)
    case.checker.on_assigned("b", P, 13.1)
    case.violations.check()


def test_a_partition_with_two_owners_is_noticed(case: Case) -> None:
    case.checker.on_assigned("b", P, 12.9)
    assert case.invariant == "single ownership"


def test_a_member_that_has_not_confirmed_a_release_may_be_removed_before_its_session_ends(
    case: Case,
) -> None:
    case.checker.on_heartbeat("a", 12, OLD)
    case.checker.on_revoked("a")
    case.checker.on_heartbeat("b", 13, OLD)
    case.checker.on_assigned("b", P, 14.1)
    case.violations.check()


def test_a_member_that_may_still_confirm_a_release_owns_the_rest(case: Case) -> None:
    case.checker.on_heartbeat("a", 12, OLD)
    case.checker.on_revoked("a")
    case.checker.on_heartbeat("b", 13, OLD)
    case.checker.on_assigned("b", P, 13.9)
    assert case.invariant == "single ownership"


def test_a_member_that_has_confirmed_a_release_owns_the_rest(case: Case) -> None:
    case.checker.on_heartbeat("a", 12, OLD)
    case.checker.on_revoked("a")
    case.checker.on_heartbeat("a", 13, OLD)
    case.checker.on_heartbeat("b", 13, OLD)
    case.checker.on_assigned("b", P, 14.1)
    assert case.invariant == "single ownership"


def test_an_answer_that_took_longer_than_a_session_assigns_nothing(case: Case) -> None:
    case.checker.on_assigned("b", P, 14.1)
    case.checker.on_heartbeat("a", 14.2, OLD)
    case.violations.check()
    assert case.checker.assignment_count == 1


def test_a_heartbeat_that_a_replaced_coordinator_answered_does_not_bind_the_new_one(case: Case) -> None:
    case.coordinators.on_loaded(NEW, 2, 10.5)
    case.checker.on_heartbeat("a", 11, OLD)  # which does not know of it yet
    case.checker.on_heartbeat("b", 13.6, NEW)
    case.checker.on_assigned("b", P, 13.7)
    case.violations.check()


def test_a_new_coordinator_gives_members_of_the_old_one_a_whole_session(case: Case) -> None:
    case.coordinators.on_loaded(NEW, 2, 10.5)
    case.checker.on_heartbeat("a", 11, OLD)
    case.checker.on_heartbeat("b", 13.3, NEW)
    case.checker.on_assigned("b", P, 13.4)
    assert case.invariant == "single ownership"


def test_a_heartbeat_that_the_new_coordinator_answered_binds_it(case: Case) -> None:
    case.coordinators.on_loaded(NEW, 2, 10.5)
    case.checker.on_heartbeat("a", 11, NEW)
    case.checker.on_heartbeat("b", 13.6, NEW)
    case.checker.on_assigned("b", P, 13.7)
    assert case.invariant == "single ownership"


def test_a_coordinator_that_loads_again_in_its_epoch_is_not_replaced(case: Case) -> None:
    case.coordinators.on_loaded(OLD, 1, 10.5)
    case.checker.on_heartbeat("a", 11, OLD)
    case.checker.on_heartbeat("b", 13.6, OLD)
    case.checker.on_assigned("b", P, 13.7)
    assert case.invariant == "single ownership"


def test_a_partition_that_a_replaced_coordinator_assigned_is_owned_no_longer_than_the_new_one_allows(
    case: Case,
) -> None:
    case.coordinators.on_loaded(NEW, 2, 9.5)
    case.checker.on_heartbeat("a", 12, NEW)
    case.checker.on_assigned(
        "b", P, 12.6
    )  # more than a session after the new coordinator had loaded the group
    case.violations.check()
    assert case.checker.assignment_count == 1


def test_the_time_to_confirm_is_not_counted_from_an_answer_of_a_replaced_coordinator(case: Case) -> None:
    case.coordinators.on_loaded(NEW, 2, 10.5)
    case.checker.on_heartbeat("a", 12, OLD)
    case.checker.on_heartbeat("a", 13, NEW)
    case.checker.on_revoked("a")
    case.checker.on_heartbeat("b", 14, NEW)
    case.checker.on_assigned("b", P, 14.6)
    case.violations.check()


@pytest.mark.parametrize("found", [-1, 4])
def test_an_offset_that_went_back_or_is_lost_is_noticed(case: Case, found: int) -> None:
    case.checker.on_fetched(P, found, 11, OLD)
    assert case.invariant == "committed offsets"


def test_a_fetch_from_before_the_commit_may_return_the_offset_before(case: Case) -> None:
    case.checker.on_fetched(P, -1, 10.1, OLD)
    case.checker.on_fetched(P, 7, 11, OLD)
    case.violations.check()


def test_a_commit_without_an_answer_may_come_late_but_not_a_rejected_one(case: Case) -> None:
    case.checker.on_commit_sent(P, 3, 9)
    case.checker.on_fetched(P, 3, 11, OLD)
    case.violations.check()
    case.checker.on_commit_sent(P, 6, 12)
    case.checker.on_committed(P, 6, 12, OLD)
    case.checker.on_commit_sent(P, 4, 12)
    case.checker.on_commit_rejected(P, 4, 12)
    case.checker.on_fetched(P, 4, 13, OLD)
    assert case.invariant == "committed offsets"


def test_a_commit_that_was_answered_does_not_come_late(case: Case) -> None:
    case.checker.on_commit_sent(P, 9, 11)
    case.checker.on_committed(P, 9, 11, OLD)
    case.checker.on_fetched(P, 5, 12, OLD)
    assert case.invariant == "committed offsets"


def test_a_commit_comes_late_only_for_a_while(case: Case) -> None:
    case.checker.on_commit_sent(P, 3, 5)
    case.checker.on_fetched(P, 3, 11, OLD)
    assert case.invariant == "committed offsets"


@pytest.mark.parametrize("is_committed", [True, False])
def test_an_answered_try_leaves_the_earlier_ones_unanswered(case: Case, is_committed: bool) -> None:
    for sent_s in (11, 12):
        case.checker.on_commit_sent(P, 7, sent_s)
    if is_committed:
        case.checker.on_committed(P, 7, 12, OLD)
    else:
        case.checker.on_commit_rejected(P, 7, 12)
    case.checker.on_commit_sent(P, 9, 13)
    case.checker.on_committed(P, 9, 13, OLD)
    case.checker.on_fetched(P, 7, 14, OLD)
    case.violations.check()


class TestReplacedCoordinator:
    """Another one has loaded the group and acknowledged 45, and the old one does not know of it."""

    @pytest.fixture(autouse=True)
    def _replace(self, case: Case) -> None:
        case.coordinators.on_loaded(NEW, 2, 21)
        case.checker.on_commit_sent(P, 45, 22)
        case.checker.on_committed(P, 45, 22, NEW)

    def test_it_need_not_know_commits_that_the_new_one_has_acknowledged(self, case: Case) -> None:
        case.checker.on_fetched(P, 5, 23, OLD)
        case.coordinators.on_loaded(OLD, 1, 24)  # again: too few replicas were in sync for a write
        case.checker.on_fetched(P, 5, 25, OLD)
        case.violations.check()

    @pytest.mark.parametrize("found", [-1, 4])
    def test_it_knows_commits_that_it_has_acknowledged_itself(self, case: Case, found: int) -> None:
        case.checker.on_fetched(P, found, 23, OLD)
        assert case.invariant == "committed offsets"

    def test_it_is_not_excused_once_it_knows_of_the_new_one(self, case: Case) -> None:
        case.coordinators.on_epoch(OLD, 2, 23)
        case.checker.on_fetched(P, 5, 22.9, OLD)  # the answer was on its way
        case.violations.check()
        case.checker.on_fetched(P, 5, 23.1, OLD)
        assert case.invariant == "committed offsets"

    def test_it_knows_everything_when_it_is_elected_again(self, case: Case) -> None:
        case.coordinators.on_loaded(OLD, 3, 23)
        case.checker.on_fetched(P, 5, 23.1, OLD)
        assert case.invariant == "committed offsets"

    def test_the_new_one_knows_commits_that_both_have_acknowledged(self, case: Case) -> None:
        case.checker.on_fetched(P, 45, 23, NEW)
        case.violations.check()
        case.checker.on_fetched(P, 5, 23, NEW)
        assert case.invariant == "committed offsets"


def test_a_new_coordinator_knows_commits_that_the_old_one_has_acknowledged(case: Case) -> None:
    case.coordinators.on_loaded(NEW, 2, 11)
    case.checker.on_fetched(P, 4, 12, NEW)
    assert case.invariant == "committed offsets"
