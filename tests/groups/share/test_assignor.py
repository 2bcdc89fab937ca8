"""The simple assignor: no idle member, no unassigned partition, even loads, few moves."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.groups.base.assignment import Assignment, MemberSpec, TargetAssignments, partitions_in
from penstock.groups.share.assignor import assign

A, B = b"a" * 16, b"b" * 16


def spec(member_id: str, *topic_ids: bytes, current: Assignment | None = None) -> MemberSpec:
    return MemberSpec(
        member_id=member_id, instance_id=None, topic_ids=frozenset(topic_ids), current=current or {}
    )


def partitions(count: int) -> frozenset[int]:
    return frozenset(range(count))


def loads(made: TargetAssignments) -> list[int]:
    return sorted(len(partitions_in(each)) for each in made.values())


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 5))
def test_every_partition_has_a_member_and_every_member_a_partition(
    members: int, first_count: int, second_count: int
) -> None:
    assignable = {A: partitions(first_count), B: partitions(second_count)}

    made = assign([spec(f"m{n}", A, B) for n in range(members)], assignable)

    readers = Counter(place for each in made.values() for place in partitions_in(each))
    assert readers.keys() == partitions_in(assignable)
    assert loads(made)[0] >= 1
    assert loads(made)[-1] - loads(made)[0] <= 1
    assert max(readers.values()) - min(readers.values()) <= 1


@settings(deadline=None)
@given(st.lists(st.integers(1, 8), min_size=1, max_size=6), st.integers(1, 12))
def test_the_assignment_stays_complete_and_even_while_members_join_and_leave(
    sizes: list[int], count: int
) -> None:
    assignable = {A: partitions(count)}
    target: TargetAssignments = {}
    for size in sizes:
        target = assign([spec(f"m{n}", A, current=target.get(f"m{n}")) for n in range(size)], assignable)

        readers = Counter(place for each in target.values() for place in partitions_in(each))
        assert readers.keys() == partitions_in(assignable)
        assert loads(target)[0] >= 1
        assert loads(target)[-1] <= -(-max(readers.values()) * count // size)


def test_members_keep_partitions_that_balance_allows() -> None:
    before = assign([spec("m1", A), spec("m2", A)], {A: partitions(6)})

    after = assign([spec(m, A, current=before.get(m)) for m in ("m1", "m2", "m3")], {A: partitions(6)})

    assert loads(after) == [2, 2, 2]
    for member_id in ("m1", "m2"):
        assert after[member_id][A] < before[member_id][A]


def test_nothing_moves_when_nothing_changed() -> None:
    before = assign([spec(f"m{n}", A, B) for n in range(5)], {A: partitions(3), B: partitions(4)})

    again = assign(
        [spec(f"m{n}", A, B, current=before[f"m{n}"]) for n in range(5)], {A: partitions(3), B: partitions(4)}
    )

    assert again == before


def test_members_get_only_subscribed_topics() -> None:
    made = assign([spec("m1", A), spec("m2", A, B), spec("m3", B)], {A: partitions(4), B: partitions(1)})

    assert made == {
        "m1": {A: frozenset({0, 2})},
        "m2": {A: frozenset({1, 3}), B: partitions(1)},
        "m3": {B: partitions(1)},
    }


def test_unsubscribed_partitions_are_removed() -> None:
    made = assign([spec("m1", A, current={B: partitions(2)})], {A: partitions(1), B: partitions(2)})

    assert made == {"m1": {A: partitions(1)}}


def test_partitions_without_initialized_state_are_not_assigned() -> None:
    assert assign([spec("m1", A, B)], {}) == {"m1": {}}
    assert assign([], {A: partitions(1)}) == {}
