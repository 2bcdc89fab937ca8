"""Where replicas should go when a broker is emptied, or when all are to carry the same. Pure.

Both plans keep every partition's replication factor, never put two of its replicas on one broker, spread them over
racks where there are any, and even out first how many replicas and then how many preferred leaders a broker has.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations

import msgspec

from penstock.cli.cluster_facts import BrokerFacts, Placed


class CannotPlan(Exception):
    """There is no place for a replica; the message says of what, and what to do."""


class Move(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A partition's replicas as they are and as they shall be, the preferred leader first."""

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"


class _Layout:
    """Who holds what while a plan is made."""

    def __init__(self, brokers: Iterable[BrokerFacts], partitions: Iterable[Placed]) -> None:
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
        """How many racks replicas are spread over; a broker without one stands for itself."""
        return len({self.racks.get(each) or f"broker {each}" for each in replicas})

    def moves(self) -> list[Move]:
        return [
            Move(topic=topic, partition=partition, before=self.before[topic, partition], after=after)
            for (topic, partition), after in sorted(self.replicas.items())
            if after != self.before[topic, partition]
        ]


def plan_drain(brokers: Sequence[BrokerFacts], partitions: Sequence[Placed], leaving: int) -> list[Move]:
    """Moves that leave nothing on a broker. Raises `CannotPlan` when the others are too few."""
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
        taker = min(
            candidates, key=lambda each: (-layout.rack_count([*staying, each]), layout.held[each], each)
        )
        layout.put(key, _with_taker(layout, replicas, leaving, taker))
    return layout.moves()


def _with_taker(layout: _Layout, replicas: tuple[int, ...], leaving: int, taker: int) -> tuple[int, ...]:
    """The taker stands where the leaving one stood, unless another is to lead more urgently."""
    after = tuple(taker if each == leaving else each for each in replicas)
    if replicas[0] != leaving:
        return after
    first = min(after, key=lambda each: (layout.led[each], each == taker))
    return (first, *(each for each in after if each != first))


def plan_spread(brokers: Sequence[BrokerFacts], partitions: Sequence[Placed]) -> list[Move]:
    """Moves after which no broker that runs has two replicas or preferred leaders more than another, if possible.

    What is on the move already, or has a replica on a broker that does not run, is left as it is.
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
    """Pairs of brokers of which the first has at least two more, the most uneven first."""
    pairs = [(high, low) for high, low in permutations(usable, 2) if counts[high] - counts[low] >= 2]
    return sorted(pairs, key=lambda pair: (counts[pair[1]] - counts[pair[0]], pair))


def _move_one(layout: _Layout, usable: Sequence[int], free: Sequence[tuple[str, int]]) -> bool:
    """Every move makes the sum of squares smaller, so this comes to an end."""
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
