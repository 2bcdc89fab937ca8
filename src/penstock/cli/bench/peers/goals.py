"""What Penstock is to reach beside each peer, as ratios at the same durability. Pure.

Which pairs are formed: each build of ours with every peer that syncs before it acknowledges, and ours with Kafka where
both acknowledge from the page cache.
"""

from collections.abc import Iterable, Sequence

from penstock.cli.bench.figures import Goal, Ratio
from penstock.cli.bench.peers.board import Board
from penstock.cli.bench.peers.targets import (
    BARE_LOOP,
    COMPILED,
    KAFKA_ALL_SYNCED,
    KAFKA_CACHED,
    KAFKA_SYNCED,
    PENSTOCK,
    PENSTOCK_CACHED,
    SYNCED,
    TARGETS,
    Target,
)

_OURS_SYNCED = (PENSTOCK, COMPILED)
_OTHERS_SYNCED = tuple(
    t.name for t in TARGETS if t.durability == SYNCED and not t.is_ours and t.name != KAFKA_SYNCED
)
_KAFKA_PAIRS = (*((ours, KAFKA_SYNCED) for ours in _OURS_SYNCED), (PENSTOCK_CACHED, KAFKA_CACHED))


def at_least(bound: float) -> Goal:
    return Goal(side="at least", bound=bound)


def at_most(bound: float) -> Goal:
    return Goal(side="at most", bound=bound)


def beside_each(board: Board, what: str, goal: Goal | None = None) -> tuple[Ratio, ...]:
    """Ours over each of NATS, Redis and RabbitMQ."""
    return _made(board.ratio(what, ours, theirs, goal) for ours in _OURS_SYNCED for theirs in _OTHERS_SYNCED)


def beside_best(board: Board, what: str, goal: Goal | None = None) -> tuple[Ratio, ...]:
    """Ours over the best of NATS, Redis and RabbitMQ."""
    best = board.best(what, _OTHERS_SYNCED)
    return _made(board.ratio(what, ours, best, goal) for ours in _OURS_SYNCED) if best else ()


def beside_kafka(board: Board, what: str, goal: Goal | None = None) -> tuple[Ratio, ...]:
    """Ours over Kafka at the same flush setting."""
    return _made(board.ratio(what, ours, theirs, goal) for ours, theirs in _KAFKA_PAIRS)


def beside_kafka_transactions(board: Board, what: str, goal: Goal | None = None) -> tuple[Ratio, ...]:
    """Ours over Kafka with every log synced, those of its coordinators too."""
    return _made(board.ratio(what, ours, KAFKA_ALL_SYNCED, goal) for ours in _OURS_SYNCED)


def beside_equals(board: Board, what: str, targets: Sequence[Target]) -> tuple[Ratio, ...]:
    """Each of ours over each of the others that acknowledges at the same moment."""
    return _made(
        board.ratio(what, ours.name, theirs.name)
        for ours in targets
        for theirs in targets
        if ours.is_ours and not theirs.is_ours and ours.durability == theirs.durability
    )


def beside_bare_loop(board: Board, what: str, goal: Goal | None = None) -> tuple[Ratio, ...]:
    """Ours over a loop of write and `fdatasync` with no server."""
    return _made(board.ratio(what, ours, BARE_LOOP.name, goal) for ours in _OURS_SYNCED)


def _made(ratios: Iterable[Ratio | None]) -> tuple[Ratio, ...]:
    return tuple(ratio for ratio in ratios if ratio is not None)
