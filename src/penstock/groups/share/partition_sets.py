"""Sets of partitions, by topic id as records and messages have them, or one by one."""

from collections.abc import Iterable

from penstock.groups.consumer.member import Assignment

Place = tuple[bytes, int]
"""A partition: its topic's id and its number."""


def places_of(assignment: Assignment) -> set[Place]:
    return {(topic_id, partition) for topic_id, each in assignment.items() for partition in each}


def assignment_of(places: Iterable[Place]) -> dict[bytes, frozenset[int]]:
    found: dict[bytes, set[int]] = {}
    for topic_id, partition in sorted(places):  # the order of a set differs from process to process
        found.setdefault(topic_id, set()).add(partition)
    return {topic_id: frozenset(partitions) for topic_id, partitions in found.items()}


def united(first: Assignment, second: Assignment) -> dict[bytes, frozenset[int]]:
    return {
        topic_id: first.get(topic_id, frozenset()) | second.get(topic_id, frozenset())
        for topic_id in (*first, *second)
    }


def without(first: Assignment, second: Assignment) -> dict[bytes, frozenset[int]]:
    return {
        topic_id: rest
        for topic_id, partitions in first.items()
        if (rest := partitions - second.get(topic_id, frozenset()))
    }
