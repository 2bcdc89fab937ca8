"""Partitions assigned to members: sets of partitions by topic id, and what an assignor receives and returns."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import msgspec

T = TypeVar("T")

Assignment = Mapping[bytes, frozenset[int]]
"""Partitions by topic id. A topic without partitions is left out."""

NOTHING: Assignment = {}

TopicIdPartition = tuple[bytes, int]


class MemberSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A member as an assignor sees it."""

    member_id: str
    instance_id: str | None
    topic_ids: frozenset[bytes]
    """The existing topics that it subscribes to."""
    current: Assignment
    """Its part of the current target assignment."""


TargetAssignments = dict[str, Assignment]
"""By member id. Contains every member, also those without partitions."""


def topic_messages(assignment: Mapping[bytes, Iterable[int]], message: Callable[..., T]) -> list[T]:
    """Return a message for each topic, in the order of their ids."""
    return [
        message(topic_id=topic_id, partitions=sorted(partitions))
        for topic_id, partitions in sorted(assignment.items())
    ]


def partitions_in(assignment: Assignment) -> set[TopicIdPartition]:
    return {(topic_id, partition) for topic_id, each in assignment.items() for partition in each}


def assignment_of(partitions: Iterable[TopicIdPartition]) -> dict[bytes, frozenset[int]]:
    found: dict[bytes, set[int]] = {}
    for topic_id, partition in sorted(partitions):  # the order of a set differs between processes
        found.setdefault(topic_id, set()).add(partition)
    return {topic_id: frozenset(each) for topic_id, each in found.items()}


def union(first: Assignment, second: Assignment) -> dict[bytes, frozenset[int]]:
    return {
        topic_id: first.get(topic_id, frozenset()) | second.get(topic_id, frozenset())
        for topic_id in (*first, *second)
    }


def difference(first: Assignment, second: Assignment) -> dict[bytes, frozenset[int]]:
    return {
        topic_id: rest
        for topic_id, partitions in first.items()
        if (rest := partitions - second.get(topic_id, frozenset()))
    }
