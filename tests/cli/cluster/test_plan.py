"""Where replicas should go: nothing lost, nothing doubled, racks kept apart, brokers evenly laden."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.cluster.plan import CannotPlan, Move, plan_drain, plan_spread
from penstock.cli.cluster.state import BrokerState, PartitionState


def brokers(*ids: int, racks: Sequence[str | None] = (), fenced: Sequence[int] = ()) -> list[BrokerState]:
    named = [*racks, *[None] * len(ids)]
    return [
        BrokerState(id=each, address=f"h:{each}", rack=rack, is_fenced=each in fenced)
        for each, rack in zip(ids, named, strict=False)
    ]


def placed(*replicas: tuple[int, ...], topic: str = "t") -> list[PartitionState]:
    return [
        PartitionState(topic=topic, partition=number, leader=each[0], replicas=each, in_sync=each)
        for number, each in enumerate(replicas)
    ]


def after(partitions: Sequence[PartitionState], moves: Sequence[Move]) -> list[tuple[int, ...]]:
    changed = {(each.topic, each.partition): each.after for each in moves}
    return [changed.get((each.topic, each.partition), each.replicas) for each in partitions]


def test_draining_moves_only_the_replicas_of_the_broker() -> None:
    partitions = placed((1, 2), (2, 3), (3, 1))
    moves = plan_drain(brokers(1, 2, 3, 4), partitions, 3)
    assert [(each.partition, each.before, each.after) for each in moves] == [
        (1, (2, 3), (2, 4)),
        (2, (3, 1), (4, 1)),
    ]


def test_drained_replicas_and_leaderships_are_shared_among_the_others() -> None:
    partitions = placed(*[(4,)] * 9)
    moves = plan_drain(brokers(1, 2, 3, 4), partitions, 4)
    assert Counter(each.after[0] for each in moves) == {1: 3, 2: 3, 3: 3}


def test_a_drained_leadership_goes_to_the_replica_that_leads_least() -> None:
    partitions = placed((1, 2), (1, 2), (3, 1), (2, 1))
    moves = plan_drain(brokers(1, 2, 3), partitions, 3)
    assert [each.after for each in moves] == [(2, 1)]


def test_a_replica_goes_to_a_rack_that_has_none_of_its_partition() -> None:
    facts = brokers(1, 2, 3, 4, racks=["a", "b", "a", "b"])
    moves = plan_drain(facts, placed((1, 2)), 2)
    assert [each.after for each in moves] == [(1, 4)]


def test_a_rack_is_used_twice_when_there_is_no_other() -> None:
    moves = plan_drain(brokers(1, 2, 3, racks=["a", "b", "a"]), placed((1, 2)), 2)
    assert [each.after for each in moves] == [(1, 3)]


def test_too_few_running_brokers_are_an_error_with_a_hint() -> None:
    with pytest.raises(
        CannotPlan, match=r"t-0 has 2 replica\(s\) and only 1 other broker\(s\) run: add a broker"
    ):
        plan_drain(brokers(1, 2, 3, fenced=[3]), placed((1, 2)), 2)


def test_partitions_that_leave_a_broker_already_are_not_planned_again() -> None:
    moving = PartitionState(
        topic="t", partition=0, leader=1, replicas=(3, 1, 2), in_sync=(1, 2), removing=(2,), is_moving=True
    )
    assert plan_drain(brokers(1, 2, 3), [moving], 2) == []


def test_a_new_broker_takes_its_share() -> None:
    partitions = placed(*[(1, 2), (2, 1)] * 6)
    moves = plan_spread(brokers(1, 2, 3), partitions)
    layout = after(partitions, moves)
    assert Counter(each for replicas in layout for each in replicas) == {1: 8, 2: 8, 3: 8}
    assert Counter(replicas[0] for replicas in layout) == {1: 4, 2: 4, 3: 4}
    assert len([each for each in moves if set(each.before) != set(each.after)]) == 8


def test_an_even_layout_is_left_alone() -> None:
    assert plan_spread(brokers(1, 2, 3), placed((1, 2), (2, 3), (3, 1))) == []


def test_spreading_never_puts_a_partition_into_fewer_racks() -> None:
    facts = brokers(1, 2, 3, racks=["a", "b", "b"])
    partitions = placed(*[(1, 2)] * 4)
    layout = after(partitions, plan_spread(facts, partitions))
    assert all(1 in replicas for replicas in layout)
    assert Counter(each for replicas in layout for each in replicas) == {1: 4, 2: 2, 3: 2}


def test_partitions_that_move_or_have_a_fenced_replica_are_not_spread() -> None:
    moving = [
        PartitionState(topic="m", partition=each, leader=1, replicas=(1,), in_sync=(1,), is_moving=True)
        for each in range(4)
    ]
    assert plan_spread(brokers(1, 2), moving) == []
    assert plan_spread(brokers(1, 2, 3, fenced=[3]), placed(*[(1, 3)] * 4)) == []


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[BrokerState], list[PartitionState]]:
    ids = draw(st.lists(st.integers(0, 9), min_size=2, max_size=6, unique=True))
    racks = draw(st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=len(ids), max_size=len(ids)))
    sizes = draw(st.lists(st.integers(1, len(ids)), max_size=12))
    return brokers(*ids, racks=racks), placed(*(tuple(draw(st.permutations(ids))[:size]) for size in sizes))


@given(clusters(), st.data())
def test_a_drained_broker_holds_nothing_and_no_partition_changes_its_size(
    cluster: tuple[list[BrokerState], list[PartitionState]], data: st.DataObject
) -> None:
    facts, partitions = cluster
    leaving = data.draw(st.sampled_from([each.id for each in facts]))
    if any(len(each.replicas) == len(facts) and leaving in each.replicas for each in partitions):
        with pytest.raises(CannotPlan):
            plan_drain(facts, partitions, leaving)
        return
    for before, now in zip(
        partitions, after(partitions, plan_drain(facts, partitions, leaving)), strict=True
    ):
        assert leaving not in now
        assert len(set(now)) == len(now) == len(before.replicas)
        assert set(before.replicas) - {leaving} <= set(now)


@given(clusters())
def test_spreading_ends_and_never_makes_brokers_less_even(
    cluster: tuple[list[BrokerState], list[PartitionState]],
) -> None:
    facts, partitions = cluster
    layout = after(partitions, plan_spread(facts, partitions))

    def unevenness(all_replicas: Sequence[tuple[int, ...]]) -> int:
        held = Counter(each for replicas in all_replicas for each in replicas)
        return max(held[each.id] for each in facts) - min(held[each.id] for each in facts)

    assert unevenness(layout) <= unevenness([each.replicas for each in partitions])
    for before, now in zip(partitions, layout, strict=True):
        assert len(set(now)) == len(now) == len(before.replicas)
