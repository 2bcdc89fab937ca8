"""The assignors of the broker: even, sticky, together."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from penstock.groups.base.assignment import MemberSpec, TargetAssignments
from penstock.groups.consumer.assignors import ASSIGNORS, range_, uniform

A, B, C = b"a" * 16, b"b" * 16, b"c" * 16


def spec(
    name: str, *topics: bytes, current: Mapping[bytes, set[int]] | None = None, instance: str | None = None
) -> MemberSpec:
    return MemberSpec(
        member_id=name,
        instance_id=instance,
        topic_ids=frozenset(topics),
        current={topic: frozenset(each) for topic, each in (current or {}).items()},
    )


def sizes(made: TargetAssignments) -> dict[str, int]:
    return {name: sum(map(len, each.values())) for name, each in made.items()}


def moved(members: list[MemberSpec], made: TargetAssignments) -> int:
    """How many partitions went to somebody who did not have them."""
    before = {(t, p): m.member_id for m in members for t, each in m.current.items() for p in each}
    after = {(t, p): name for name, topics in made.items() for t, each in topics.items() for p in each}
    return sum(1 for place, name in after.items() if before.get(place, name) != name)


def test_uniform_distributes_partitions_evenly() -> None:
    made = uniform.assign([spec("m1", A, B), spec("m2", A, B), spec("m3", A, B)], {A: 5, B: 3})

    assert sorted(sizes(made).values()) == [2, 3, 3]


def test_uniform_assigns_partitions_of_the_same_numbers() -> None:
    made = uniform.assign([spec("m1", A, B), spec("m2", A, B)], {A: 4, B: 4})

    assert made == {"m1": {A: {0, 1}, B: {0, 1}}, "m2": {A: {2, 3}, B: {2, 3}}}


def test_uniform_moves_only_the_share_of_a_new_member() -> None:
    members = [spec("m1", A, current={A: {0, 1, 2}}), spec("m2", A, current={A: {3, 4, 5}}), spec("m3", A)]

    made = uniform.assign(members, {A: 6})

    assert sizes(made) == {"m1": 2, "m2": 2, "m3": 2}
    assert moved(members, made) == 2


def test_uniform_keeps_the_larger_share_with_its_owner() -> None:
    members = [spec("m1", A, current={A: {0}}), spec("m2", A, current={A: {1, 2}})]

    assert moved(members, uniform.assign(members, {A: 3})) == 0


def test_uniform_drops_deleted_and_unsubscribed_partitions() -> None:
    members = [spec("m1", A, current={A: {0, 7}, B: {0}})]

    assert uniform.assign(members, {A: 2}) == {"m1": {A: {0, 1}}}


def test_uniform_assigns_nothing_twice_after_a_partly_written_target() -> None:
    members = [spec("m1", A, current={A: {0, 1}}), spec("m2", A, current={A: {1}})]

    made = uniform.assign(members, {A: 2})

    assert sizes(made) == {"m1": 1, "m2": 1}
    assert {p for each in made.values() for p in each[A]} == {0, 1}


def test_uniform_assigns_only_subscribed_topics() -> None:
    made = uniform.assign([spec("m1", A), spec("m2", A, B), spec("m3", C)], {A: 3, B: 3, C: 1})

    assert made["m1"] == {A: {0, 1, 2}}
    assert made["m2"] == {B: {0, 1, 2}}
    assert made["m3"] == {C: {0}}


def test_range_assigns_adjacent_partitions_and_more_to_the_first_members() -> None:
    made = range_.assign([spec("m2", A, B), spec("m1", A, B)], {A: 3, B: 2})

    assert made == {"m1": {A: {0, 1}, B: {0}}, "m2": {A: {2}, B: {1}}}


def test_range_counts_only_subscribers_of_a_topic() -> None:
    made = range_.assign([spec("m1", A), spec("m2", A, B), spec("m3", B)], {A: 2, B: 2})

    assert made == {"m1": {A: {0}}, "m2": {A: {1}, B: {0}}, "m3": {B: {1}}}


def test_range_puts_static_members_first_by_their_instance() -> None:
    members = [spec("m1", A), spec("m9", A, instance="x"), spec("m2", A, instance="y")]

    assert range_.assign(members, {A: 3}) == {"m9": {A: {0}}, "m2": {A: {1}}, "m1": {A: {2}}}


def test_range_omits_members_without_a_partition() -> None:
    assert range_.assign([spec("m1", A), spec("m2", A)], {A: 1}) == {"m1": {A: {0}}, "m2": {}}


_topics = st.sampled_from([A, B, C])


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[MemberSpec], dict[bytes, int]]:
    counts = {A: draw(st.integers(0, 7)), B: draw(st.integers(1, 5)), C: draw(st.integers(1, 9))}
    names = [f"m{n}" for n in range(draw(st.integers(1, 6)))]
    free = [(t, p) for t, count in counts.items() for p in range(count + 1)]
    current: dict[str, dict[bytes, set[int]]] = {name: {} for name in names}
    for topic, partition in free:
        name = draw(st.sampled_from([*names, ""]))
        if name:
            current[name].setdefault(topic, set()).add(partition)
    return [spec(n, *draw(st.sets(_topics, min_size=1)), current=current[n]) for n in names], counts


@given(group=groups(), assignor=st.sampled_from(sorted(ASSIGNORS)))
def test_every_subscribed_partition_is_assigned_to_one_subscriber(
    group: tuple[list[MemberSpec], dict[bytes, int]], assignor: str
) -> None:
    members, counts = group
    made = ASSIGNORS[assignor](members, counts)

    given_to = [(t, p) for topics in made.values() for t, each in topics.items() for p in each]
    read = {t for m in members for t in m.topic_ids}
    assert sorted(given_to) == sorted((t, p) for t in read for p in range(counts[t]))
    assert all(made[m.member_id].keys() <= m.topic_ids for m in members)
    assert all(each for topics in made.values() for each in topics.values())


@given(group=groups())
def test_uniform_is_even_and_stable(group: tuple[list[MemberSpec], dict[bytes, int]]) -> None:
    members, counts = group
    made = uniform.assign(members, counts)

    loads = sizes(made)
    for giver in members:
        for taker in members:
            shared = made[giver.member_id].keys() & taker.topic_ids
            assert not shared or loads[giver.member_id] - loads[taker.member_id] <= 1
    again = [
        spec(m.member_id, *m.topic_ids, current={t: set(p) for t, p in made[m.member_id].items()})
        for m in members
    ]
    assert uniform.assign(again, counts) == made
