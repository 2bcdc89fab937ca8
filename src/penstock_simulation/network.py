"""The network between nodes: how long a message takes, whether it arrives, and how often.

A blocked link drops messages in one direction. Single messages are lost and duplicated. In a stream a loss is a stall
until the bytes are sent again, or the end of the connection; the client may then repeat a request that had arrived.

A connection to a port without a listener is refused. A node without power does not answer at all. A middlebox may
refuse connections to a node that does listen.
"""

from collections.abc import Iterable
from contextvars import ContextVar
from itertools import product
from random import Random
from typing import Final

import msgspec

CLIENT: Final = "client"
current_node: ContextVar[str] = ContextVar("simulated node", default=CLIENT)
"""The simulated machine that the running code belongs to; tasks inherit it."""


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """How the network behaves without injected faults."""

    delay_ms_min: float = 0.2
    delay_ms_max: float = 3.0
    slow_chance: float = 0.0
    """Chance that a message takes up to `slow_ms_max`, and later messages overtake it."""
    slow_ms_max: float = 200.0
    loss_chance: float = 0.0
    duplicate_chance: float = 0.0
    break_chance: float = 0.0
    """Chance that a connection breaks when bytes are sent on it."""


RELIABLE = Conditions()
_RETRANSMISSION_MS = (200.0, 1500.0)
_BREAKS_PER_LOSS = 0.1


class SimulatedNetwork:
    def __init__(self, randomness: Random, conditions: Conditions = RELIABLE) -> None:
        self.conditions = conditions
        self._random = randomness
        self._blocked: set[tuple[str, str]] = set()
        self._slow: dict[str, float] = {}
        self._loss_chances: dict[str, float] = {}
        self._unreachable: set[str] = set()
        self._refusing: set[str] = set()

    def block(self, source: str, target: str) -> None:
        """Drop everything from `source` to `target`."""
        self._blocked.add((source, target))

    def isolate(self, group: Iterable[str], others: Iterable[str]) -> None:
        """Block both directions between two groups."""
        for one, other in product(group, others):
            self._blocked |= {(one, other), (other, one)}

    def reconnect(self, group: Iterable[str], others: Iterable[str]) -> None:
        """Unblock both directions between two groups."""
        for one, other in product(group, others):
            self._blocked -= {(one, other), (other, one)}

    def slow_down(self, node: str, factor: float) -> None:
        """Let everything to and from this node take `factor` times as long."""
        self._slow[node] = factor

    def set_loss_chance(self, node: str, loss_chance: float) -> None:
        """Lose packets of streams to and from this node; some losses break their connection."""
        self._loss_chances[node] = loss_chance

    def set_unreachable(self, node: str) -> None:
        """Let connections to a node without power time out."""
        self._unreachable.add(node)

    def set_reachable(self, node: str) -> None:
        self._unreachable.discard(node)

    def refuse_connections(self, node: str) -> None:
        """Refuse new connections to a node although it listens; open connections continue."""
        self._refusing.add(node)

    def accept_connections(self, node: str) -> None:
        self._refusing.discard(node)

    def is_unreachable(self, node: str) -> bool:
        return node in self._unreachable

    def is_refusing(self, node: str) -> bool:
        return node in self._refusing

    def clear_faults(self) -> None:
        """Remove all injected faults. The general conditions and the nodes without power stay."""
        self._blocked.clear()
        self._slow.clear()
        self._loss_chances.clear()
        self._refusing.clear()

    def is_blocked(self, source: str, target: str) -> bool:
        return (source, target) in self._blocked

    def delays_ms(self, source: str, target: str) -> list[float]:
        """Draw when each copy of a message arrives; no copy when it is lost."""
        if (source, target) in self._blocked or self._random.random() < self.conditions.loss_chance:
            return []
        copies = 2 if self._random.random() < self.conditions.duplicate_chance else 1
        return [self.delay_ms(source, target) for _ in range(copies)]

    def delay_ms(self, source: str, target: str) -> float:
        given, random = self.conditions, self._random
        longest_ms = given.slow_ms_max if random.random() < given.slow_chance else given.delay_ms_max
        factor = self._slow.get(source, 1.0) * self._slow.get(target, 1.0)
        return random.uniform(given.delay_ms_min, longest_ms) * factor

    def stream_delay_ms(self, source: str, target: str) -> float:
        """Draw how long bytes of a stream take: longer when they are lost and sent again."""
        delay_ms = self.delay_ms(source, target)
        loss_chance = self._loss_chance(source, target)
        if loss_chance and self._random.random() < loss_chance:
            delay_ms += self._random.uniform(*_RETRANSMISSION_MS)
        return delay_ms

    def breaks_connection(self, source: str, target: str) -> bool:
        """Draw whether a connection breaks when bytes are sent on it."""
        chance = self.conditions.break_chance + self._loss_chance(source, target) * _BREAKS_PER_LOSS
        return chance > 0 and self._random.random() < chance

    def arrives_before_break(self) -> bool:
        """Draw whether bytes on a breaking connection arrive, so that only their response is lost."""
        return self._random.random() < 0.5

    def _loss_chance(self, source: str, target: str) -> float:
        of_nodes = self._loss_chances.get(source, 0.0) + self._loss_chances.get(target, 0.0)
        return self.conditions.loss_chance + of_nodes
