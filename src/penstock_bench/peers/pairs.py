"""The pairs that ratios are formed of: Penstock over a peer, at the same durability. Pure.

Penstock is paired with every peer that syncs before it acknowledges, and with Kafka also where both acknowledge from
the page cache.
"""

from collections.abc import Iterable, Sequence

from penstock_bench.figures import Ratio
from penstock_bench.peers.board import Board
from penstock_bench.peers.targets import (
    BARE_LOOP,
    KAFKA_ALL_SYNCED,
    KAFKA_CACHED,
    KAFKA_SYNCED,
    PENSTOCK,
    PENSTOCK_CACHED,
    SYNCED,
    TARGETS,
    Target,
)

_OTHERS_SYNCED = tuple(
    t.name for t in TARGETS if t.durability == SYNCED and not t.is_ours and t.name != KAFKA_SYNCED
)
_KAFKA_PAIRS = ((PENSTOCK, KAFKA_SYNCED), (PENSTOCK_CACHED, KAFKA_CACHED))


def against_each(board: Board, what: str) -> tuple[Ratio, ...]:
    """Ours over each of NATS, Redis and RabbitMQ."""
    return _without_none(board.ratio(what, PENSTOCK, theirs) for theirs in _OTHERS_SYNCED)


def against_best(board: Board, what: str) -> tuple[Ratio, ...]:
    """Ours over the best of NATS, Redis and RabbitMQ."""
    best = board.best(what, _OTHERS_SYNCED)
    return _without_none([board.ratio(what, PENSTOCK, best)]) if best else ()


def against_kafka(board: Board, what: str) -> tuple[Ratio, ...]:
    """Ours over Kafka at the same flush setting."""
    return _without_none(board.ratio(what, ours, theirs) for ours, theirs in _KAFKA_PAIRS)


def against_kafka_transactions(board: Board, what: str) -> tuple[Ratio, ...]:
    """Ours over Kafka with every log synced, those of its coordinators too."""
    return _without_none([board.ratio(what, PENSTOCK, KAFKA_ALL_SYNCED)])


def against_equals(board: Board, what: str, targets: Sequence[Target]) -> tuple[Ratio, ...]:
    """Each of ours over each of the others that acknowledges at the same moment."""
    return _without_none(
        board.ratio(what, ours.name, theirs.name)
        for ours in targets
        for theirs in targets
        if ours.is_ours and not theirs.is_ours and ours.durability == theirs.durability
    )


def against_bare_loop(board: Board, what: str) -> tuple[Ratio, ...]:
    """Ours over a loop of write and `fdatasync` with no server."""
    return _without_none([board.ratio(what, PENSTOCK, BARE_LOOP.name)])


def _without_none(ratios: Iterable[Ratio | None]) -> tuple[Ratio, ...]:
    return tuple(ratio for ratio in ratios if ratio is not None)
