import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cluster.controller.partition_change import (
    RECOVERED,
    RECOVERING,
    Election,
    RequestedChange,
    Rules,
    change_partition,
)
from penstock.cluster.metadata.state import NO_LEADER, Partition

ID = b"t" * 16


def partition(
    replicas: tuple[int, ...] = (1, 2, 3),
    isr: tuple[int, ...] = (1, 2, 3),
    leader: int = 1,
    **more: tuple[int, ...],
) -> Partition:
    directories = tuple(bytes([each] * 16) for each in replicas)
    base = Partition(
        replicas=replicas, isr=isr, leader=leader, leader_epoch=5, partition_epoch=9, directories=directories
    )
    return msgspec.structs.replace(base, **more)


def rules(
    alive: tuple[int, ...] = (1, 2, 3, 4), *, min_isr: int = 2, election: Election = Election.ONLINE
) -> Rules:
    return Rules(
        may_lead=alive.__contains__,
        min_isr=min_isr,
        election=election,
        directory_of=lambda each: bytes([each] * 16),
    )


def changed(before: Partition, wish: RequestedChange, given_rules: Rules) -> Partition:
    record = change_partition(ID, 0, before, wish, given_rules)
    return before if record is None else before.changed(record)


def test_nothing_changes_without_a_reason() -> None:
    assert change_partition(ID, 0, partition(), RequestedChange(), rules()) is None


def test_the_next_in_sync_replica_leads_when_the_leader_dies() -> None:
    after = changed(partition(), RequestedChange(isr=(2, 3)), rules((2, 3)))
    assert (after.leader, after.isr, after.leader_epoch, after.elr) == (2, (2, 3), 6, ())


def test_a_follower_that_leaves_the_in_sync_set_starts_no_leader_epoch() -> None:
    after = changed(partition(), RequestedChange(isr=(1, 3)), rules((1, 3)))
    assert (after.leader, after.leader_epoch, after.partition_epoch) == (1, 5, 10)


def test_a_replica_that_leaves_an_in_sync_set_too_small_to_commit_stays_eligible() -> None:
    before = partition(isr=(1, 2))
    one_left = changed(before, RequestedChange(isr=(1,)), rules((1,)))
    assert (one_left.isr, one_left.elr) == ((1,), (2,))
    none_left = changed(one_left, RequestedChange(isr=()), rules(()))
    assert (none_left.isr, none_left.elr, none_left.leader) == ((), (1, 2), NO_LEADER)
    back = changed(none_left, RequestedChange(), rules((2,)))
    assert (back.leader, back.isr, back.elr) == (2, (2,), (1,))


def test_a_replica_that_leaves_an_in_sync_set_able_to_commit_is_not_eligible() -> None:
    before = partition(isr=(1, 2))  # 3 left while two others stayed
    dead = changed(before, RequestedChange(isr=()), rules((3,)))
    assert (dead.leader, dead.elr) == (NO_LEADER, (1, 2))
    assert changed(dead, RequestedChange(), rules((3,))).leader == NO_LEADER


def test_a_broker_that_may_have_lost_data_is_not_eligible() -> None:
    after = changed(
        partition(isr=(1,), elr=(2,)), RequestedChange(isr=(), lost_data=frozenset({2})), rules(())
    )
    assert (after.elr, after.last_known_elr) == ((1,), (2,))


def test_eligible_replicas_are_cleared_when_enough_are_in_sync_again() -> None:
    after = changed(partition(isr=(1,), elr=(2,)), RequestedChange(isr=(1, 3)), rules())
    assert (after.isr, after.elr) == ((1, 3), ())


def test_eligible_replicas_are_cleared_when_the_elected_one_can_commit_alone() -> None:
    leaderless = partition(isr=(), leader=NO_LEADER, elr=(1, 2))
    after = changed(leaderless, RequestedChange(), rules((2,), min_isr=1))
    assert (after.leader, after.isr, after.elr, after.last_known_elr) == (2, (2,), (), ())


def test_a_replica_that_leaves_a_full_set_stays_eligible_when_min_isr_exceeds_the_replicas() -> None:
    both = partition(replicas=(1, 2), isr=(1, 2))
    assert changed(both, RequestedChange(isr=(1,)), rules((1,), min_isr=3)).elr == (2,)


def test_no_replica_is_eligible_when_all_are_in_sync_even_if_min_isr_exceeds_the_replicas() -> None:
    one_left = partition(replicas=(1, 2), isr=(1,), elr=(2,))
    assert changed(one_left, RequestedChange(isr=(1, 2)), rules(min_isr=3)).elr == ()


def test_an_unclean_election_picks_any_live_replica_and_is_marked_as_unclean() -> None:
    before = partition(isr=(), leader=NO_LEADER, elr=(1, 2))
    after = changed(before, RequestedChange(), rules((3,), election=Election.UNCLEAN))
    assert (after.leader, after.isr, after.elr, after.leader_recovery_state) == (3, (3,), (), RECOVERING)
    recovered = changed(after, RequestedChange(isr=(3,), is_recovered=True), rules((3,)))
    assert recovered.leader_recovery_state == RECOVERED


def test_a_clean_leader_is_preferred_even_if_unclean_elections_are_allowed() -> None:
    after = changed(
        partition(isr=(1, 3)), RequestedChange(isr=(3,)), rules((2, 3), election=Election.UNCLEAN)
    )
    assert (after.leader, after.leader_recovery_state) == (3, RECOVERED)


def test_without_eligible_replicas_the_last_in_sync_one_stays_in_the_set() -> None:
    given_rules = msgspec.structs.replace(rules(()), has_elr=False)
    after = changed(partition(isr=(1,)), RequestedChange(isr=()), given_rules)
    assert (after.leader, after.isr, after.elr) == (NO_LEADER, (1,), ())


def test_the_preferred_leader_leads_again() -> None:
    before = partition(leader=2)
    after = changed(before, RequestedChange(), rules(election=Election.PREFERRED))
    assert (after.leader, after.leader_epoch) == (1, 6)
    assert changed(before, RequestedChange(), rules((2, 3), election=Election.PREFERRED)) == before


def test_a_reassignment_completes_when_all_remaining_replicas_are_in_sync() -> None:
    moving = changed(partition(), RequestedChange(replicas=(4, 2, 3, 1), adding=(4,), removing=(1,)), rules())
    assert (moving.replicas, moving.adding_replicas, moving.leader) == ((4, 2, 3, 1), (4,), 1)
    assert moving.directories[0] == bytes([4] * 16)
    behind = changed(moving, RequestedChange(isr=(1, 4, 2)), rules())
    assert behind.adding_replicas == (4,)
    done = changed(behind, RequestedChange(isr=(1, 4, 2, 3)), rules())
    assert (done.replicas, done.isr, done.adding_replicas) == ((4, 2, 3), (4, 2, 3), ())
    assert (done.removing_replicas, done.leader, len(done.directories)) == ((), 4, 3)


def test_the_remaining_leader_starts_a_new_epoch_when_a_replica_is_removed() -> None:
    moving = partition(replicas=(1, 4, 3), isr=(1, 3), adding_replicas=(4,), removing_replicas=(3,))
    done = changed(moving, RequestedChange(isr=(1, 4)), rules())
    assert (done.replicas, done.leader, done.leader_epoch) == ((1, 4), 1, 6)


@pytest.mark.parametrize("election", list(Election))
@given(
    isr=st.sets(st.integers(1, 3)),
    elr=st.sets(st.integers(1, 3)),
    alive=st.sets(st.integers(1, 4)),
    wanted=st.sets(st.integers(1, 3)),
)
def test_a_leader_is_always_alive_and_in_sync_with_itself(
    election: Election, isr: set[int], elr: set[int], alive: set[int], wanted: set[int]
) -> None:
    leader = min(isr) if isr else NO_LEADER
    before = partition(isr=tuple(sorted(isr)), leader=leader, elr=tuple(sorted(elr - isr)))
    after = changed(
        before, RequestedChange(isr=tuple(sorted(wanted & isr))), rules(tuple(alive), election=election)
    )
    if after.leader != NO_LEADER:
        assert after.leader in alive
        assert after.leader in after.isr
    if election is not Election.UNCLEAN and after.leader != NO_LEADER:
        assert after.leader in isr | elr
    assert not set(after.isr) & set(after.elr)
