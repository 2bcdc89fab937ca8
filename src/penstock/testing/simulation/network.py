"""The network between nodes: how long a message takes, whether it arrives, and how often.

Nodes are known by their names. A cut goes one way: cut both for a full partition. Single messages are lost and doubled.
In a stream a loss is a stall, until the bytes are sent again, or the end of the connection; its user may then say again
what had arrived, which is how a stream doubles.

Where nobody listens a connection is refused. A node without power says nothing at all, and there may be something in
between that refuses for a node that does listen.
"""

from collections.abc import Iterable
from random import Random

import msgspec


class Weather(msgspec.Struct, frozen=True, kw_only=True):
    """How the network behaves where nothing is cut."""

    delay_ms_min: float = 0.2
    delay_ms_max: float = 3.0
    slow_chance: float = 0.0
    """That a message takes up to `slow_ms_max`, and so is overtaken by later ones."""
    slow_ms_max: float = 200.0
    loss_chance: float = 0.0
    duplicate_chance: float = 0.0
    break_chance: float = 0.0
    """That a connection breaks when bytes are put on it."""


CALM = Weather()
_SENT_AGAIN_MS_MIN, _SENT_AGAIN_MS_MAX = 200.0, 1500.0
_BREAKS_PER_LOSS = 0.1


class SimulatedNetwork:
    def __init__(self, randomness: Random, weather: Weather = CALM) -> None:
        self.weather = weather
        self._random = randomness
        self._cuts: set[tuple[str, str]] = set()
        self._slow: dict[str, float] = {}
        self._flaky: dict[str, float] = {}
        self._dark: set[str] = set()
        self._refusing: set[str] = set()

    def cut(self, source: str, target: str) -> None:
        """From now on nothing gets from `source` to `target`."""
        self._cuts.add((source, target))

    def isolate(self, group: Iterable[str], others: Iterable[str]) -> None:
        """Cut both ways between all of one group and all of the other."""
        others = list(others)
        for one in group:
            for other in others:
                self._cuts.add((one, other))
                self._cuts.add((other, one))

    def mend(self, group: Iterable[str], others: Iterable[str]) -> None:
        """Take back all cuts between one group and the other."""
        others = list(others)
        for one in group:
            for other in others:
                self._cuts.discard((one, other))
                self._cuts.discard((other, one))

    def slow_down(self, node: str, factor: float) -> None:
        """Let all that goes to or from this node take `factor` times as long."""
        self._slow[node] = factor

    def make_flaky(self, node: str, loss_chance: float) -> None:
        """Lose packets of streams to and from this node; some of these break their connection."""
        self._flaky[node] = loss_chance

    def darken(self, node: str) -> None:
        """It has no power: who connects to it waits in vain."""
        self._dark.add(node)

    def lighten(self, node: str) -> None:
        self._dark.discard(node)

    def refuse(self, node: str) -> None:
        """Who connects to this node is refused, though it listens; connections that are there go on."""
        self._refusing.add(node)

    def accept(self, node: str) -> None:
        self._refusing.discard(node)

    def is_dark(self, node: str) -> bool:
        return node in self._dark

    def is_refusing(self, node: str) -> bool:
        return node in self._refusing

    def heal(self) -> None:
        """No more cuts, no slow, flaky and refusing nodes; the weather stays, and who has no power."""
        self._cuts.clear()
        self._slow.clear()
        self._flaky.clear()
        self._refusing.clear()

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self._cuts

    def delays_ms(self, source: str, target: str) -> list[float]:
        """When each copy of a message that is sent now arrives; none when it is lost."""
        if (source, target) in self._cuts or self._random.random() < self.weather.loss_chance:
            return []
        copies = 2 if self._random.random() < self.weather.duplicate_chance else 1
        return [self.delay_ms(source, target) for _ in range(copies)]

    def delay_ms(self, source: str, target: str) -> float:
        weather, random = self.weather, self._random
        longest_ms = weather.slow_ms_max if random.random() < weather.slow_chance else weather.delay_ms_max
        factor = self._slow.get(source, 1.0) * self._slow.get(target, 1.0)
        return random.uniform(weather.delay_ms_min, longest_ms) * factor

    def stream_delay_ms(self, source: str, target: str) -> float:
        """How long bytes of a stream take: longer when they are lost and sent again."""
        delay_ms = self.delay_ms(source, target)
        loss_chance = self._losses(source, target)
        if loss_chance and self._random.random() < loss_chance:
            delay_ms += self._random.uniform(_SENT_AGAIN_MS_MIN, _SENT_AGAIN_MS_MAX)
        return delay_ms

    def breaks(self, source: str, target: str) -> bool:
        """Whether the connection breaks on which bytes are sent now."""
        chance = self.weather.break_chance + self._losses(source, target) * _BREAKS_PER_LOSS
        return chance > 0 and self._random.random() < chance

    def is_lucky(self) -> bool:
        """Whether bytes on a connection that breaks arrived before it did, and only their answer is lost."""
        return self._random.random() < 0.5

    def _losses(self, source: str, target: str) -> float:
        return self.weather.loss_chance + self._flaky.get(source, 0.0) + self._flaky.get(target, 0.0)
