"""One step of a member towards its target."""

import msgspec
import pytest

from penstock.groups.consumer.member import Member
from penstock.groups.consumer.reconcile import TargetAssignment, reconcile
from penstock.groups.consumer.states import TRANSITIONS, MemberState, ReconcileOutcome

T = b"t" * 16
STABLE = Member(member_id="m", epoch=3, previous_epoch=2, assigned={T: {0: 1, 1: 3}})


def target(*partitions: int, epoch: int = 5) -> TargetAssignment:
    return TargetAssignment(epoch, {T: frozenset(partitions)} if partitions else {})


def free(*_place: object) -> bool:
    return True


def taken(*_place: object) -> bool:
    return False


def test_a_reconciled_member_is_unchanged() -> None:
    assert reconcile(STABLE, target(0, 1, epoch=3), None, taken) is STABLE


def test_new_partitions_have_the_epoch_of_their_assignment() -> None:
    moved = reconcile(STABLE, target(0, 1, 2), None, free)

    assert (moved.state, moved.epoch, moved.previous_epoch) == (MemberState.STABLE, 5, 3)
    assert moved.assigned == {T: {0: 1, 1: 3, 2: 5}}


def test_partitions_that_others_hold_are_waited_for_in_the_new_epoch() -> None:
    moved = reconcile(STABLE, target(0, 1, 2), None, taken)

    assert (moved.state, moved.epoch) == (MemberState.UNRELEASED_PARTITIONS, 5)
    assert moved.assigned == STABLE.assigned
    assert reconcile(moved, target(0, 1, 2), None, taken) is moved
    assert reconcile(moved, target(0, 1, 2), None, free).assigned == {T: {0: 1, 1: 3, 2: 5}}


def test_partitions_are_revoked_in_the_old_epoch_before_new_ones_are_assigned() -> None:
    moved = reconcile(STABLE, target(0, 2), {T: frozenset({0, 1})}, free)

    assert (moved.state, moved.epoch) == (MemberState.UNREVOKED_PARTITIONS, 3)
    assert (moved.assigned, moved.revoking) == ({T: {0: 1}}, {T: {1: 3}})


@pytest.mark.parametrize("reported", [None, {T: frozenset({1})}])
def test_a_member_that_may_own_a_revoked_partition_does_not_advance(
    reported: dict[bytes, frozenset[int]] | None,
) -> None:
    revoking = reconcile(STABLE, target(0, 2), None, free)

    assert reconcile(revoking, target(0, 2), reported, free) is revoking


def test_a_member_that_revoked_its_partitions_gets_the_rest() -> None:
    revoking = reconcile(STABLE, target(0, 2), None, free)

    moved = reconcile(revoking, target(0, 2), {T: frozenset({0})}, free)

    assert (moved.state, moved.epoch, moved.revoking) == (MemberState.STABLE, 5, {})
    assert moved.assigned == {T: {0: 1, 2: 5}}


def test_a_target_that_changed_meanwhile_is_followed_one_epoch_at_a_time() -> None:
    revoking = reconcile(STABLE, target(0, 2, epoch=5), None, free)

    moved = reconcile(revoking, target(2, epoch=7), {T: frozenset({0})}, free)

    assert (moved.state, moved.epoch) == (MemberState.UNREVOKED_PARTITIONS, 4)
    assert (moved.assigned, moved.revoking) == ({}, {T: {0: 1}})


def test_a_member_that_owns_nothing_need_not_revoke() -> None:
    moved = reconcile(STABLE, target(), {}, free)

    assert (moved.state, moved.epoch, moved.assigned) == (MemberState.STABLE, 5, {})


def test_an_unsubscribed_partition_is_revoked_though_the_target_is_unchanged() -> None:
    moved = reconcile(STABLE, target(epoch=3), None, free)

    assert (moved.state, moved.revoking) == (MemberState.UNREVOKED_PARTITIONS, STABLE.assigned)


def test_every_state_has_a_transition_for_every_outcome() -> None:
    assert all(TRANSITIONS[state].keys() == set(ReconcileOutcome) for state in MemberState)


def test_an_unknown_state_is_computed_again() -> None:
    stored = msgspec.structs.replace(STABLE.progress(), state=9)

    assert Member(member_id="m").with_progress(stored).state is MemberState.UNRELEASED_PARTITIONS


def test_older_records_without_epochs_of_partitions_are_read() -> None:
    stored = STABLE.progress()
    older = msgspec.structs.replace(
        stored,
        assigned_partitions=[
            msgspec.structs.replace(each, assignment_epochs=None) for each in stored.assigned_partitions
        ],
    )

    assert Member(member_id="m").with_progress(older).assigned == {T: {0: 3, 1: 3}}
