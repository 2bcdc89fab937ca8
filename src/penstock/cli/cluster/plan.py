"""Plan the placement of replicas: to drain a broker, or to spread them evenly. Pure.

Both plans keep every partition's replication factor, never put two of its replicas on one broker, spread them over
racks if there are any, and even out first the replicas and then the preferred leaders of brokers.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations

import msgspec

from penstock.cli.cluster.state import BrokerState, PartitionState


class CannotPlan(Exception):
    """No broker can take a replica; the message says of which partition, and what to do."""


class Move(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The replicas of a partition before and after, the preferred leader first."""

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]


class _Layout:
    """The replicas of each broker while a plan is made."""

    def __init__(self, brokers: Iterable[BrokerState], partitions: Iterable[PartitionState]) -> None:
        self.racks = {each.id: each.rack for each in brokers}
        self.before = {(each.topic, each.partition): each.staying for each in partitions}
        self.replicas = dict(self.before)
        self.held: Counter[int] = Counter()
        self.led: Counter[int] = Counter()
        for replicas in self.replicas.values():
            self.held.update(replicas)
            self.led.update(replicas[:1])

    def put(self, key: tuple[str, int], replicas: tuple[int, ...]) -> None:
        old = self.replicas[key]
        self.held.subtract(old)
        self.led.subtract(old[:1])
        self.held.update(replicas)
        self.led.update(replicas[:1])
        self.replicas[key] = replicas

    def rack_count(self, replicas: Iterable[int]) -> int:
        """Count the racks of replicas; a broker without one counts as a rack."""
        return len({self.racks.get(each) or f"broker {each}" for each in replicas})

    def moves(self) -> list[Move]:
        return [
            Move(topic=topic, partition=partition, before=self.before[topic, partition], after=after)
            for (topic, partition), after in sorted(self.replicas.items())
            if after != self.before[topic, partition]
        ]


def plan_drain(
    brokers: Sequence[BrokerState], partitions: Sequence[PartitionState], leaving: int
) -> list[Move]:
    """Plan moves that leave no replica on a broker. Raises `CannotPlan` when the others are too few."""
    layout = _Layout(brokers, partitions)
    usable = [each.id for each in brokers if each.id != leaving and not each.is_fenced]
    for key in sorted(layout.replicas):
        replicas = layout.replicas[key]
        if leaving not in replicas:
            continue
        staying = [each for each in replicas if each != leaving]
        candidates = [each for each in usable if each not in staying]
        if not candidates:
            raise CannotPlan(
                f"{key[0]}-{key[1]} has {len(replicas)} replica(s) and only {len(usable)} other broker(s) run: add a "
                "broker, or lower the replication factor"
            )
        target = min(
            candidates, key=lambda each: (-layout.rack_count([*staying, each]), layout.held[each], each)
        )
        layout.put(key, _replace(layout, replicas, leaving, target))
    return layout.moves()


def _replace(layout: _Layout, replicas: tuple[int, ...], leaving: int, target: int) -> tuple[int, ...]:
    """Put the target in the place of the leaving broker; a replica that leads fewer partitions comes first."""
    after = tuple(target if each == leaving else each for each in replicas)
    if replicas[0] != leaving:
        return after
    first = min(after, key=lambda each: (layout.led[each], each == target))
    return (first, *(each for each in after if each != first))


def plan_spread(brokers: Sequence[BrokerState], partitions: Sequence[PartitionState]) -> list[Move]:
    """Plan moves after which replicas and preferred leaders of running brokers differ by at most one, if possible.

    Partitions that are being reassigned, or have a replica on a broker that does not run, stay.
    """
    layout = _Layout(brokers, partitions)
    usable = [each.id for each in brokers if not each.is_fenced]
    free = [
        (each.topic, each.partition)
        for each in partitions
        if not each.is_moving and set(each.replicas) <= set(usable)
    ]
    while _move_one(layout, usable, free):
        pass
    while _hand_over_one(layout, usable, free):
        pass
    return layout.moves()


def _uneven(counts: Mapping[int, int], usable: Sequence[int]) -> list[tuple[int, int]]:
    """List pairs of brokers of which the first has at least two more, the most uneven first."""
    pairs = [(high, low) for high, low in permutations(usable, 2) if counts[high] - counts[low] >= 2]
    return sorted(pairs, key=lambda pair: (counts[pair[1]] - counts[pair[0]], pair))


def _move_one(layout: _Layout, usable: Sequence[int], free: Sequence[tuple[str, int]]) -> bool:
    """Every move makes the sum of squares smaller, so repeating this terminates."""
    for high, low in _uneven(layout.held, usable):
        for key in free:
            replicas = layout.replicas[key]
            if high not in replicas or low in replicas:
                continue
            after = tuple(low if each == high else each for each in replicas)
            if layout.rack_count(after) >= layout.rack_count(replicas):
                layout.put(key, after)
                return True
    return False


def _hand_over_one(layout: _Layout, usable: Sequence[int], free: Sequence[tuple[str, int]]) -> bool:
    for high, low in _uneven(layout.led, usable):
        for key in free:
            replicas = layout.replicas[key]
            if replicas[0] == high and low in replicas:
                layout.put(key, (low, *(each for each in replicas if each != low)))
                return True
    return False
