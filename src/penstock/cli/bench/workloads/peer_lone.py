"""(l) A lone synchronous publisher, beside the peers."""

import shutil

from penstock.cli.bench import disk, frames
from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Section, quantile
from penstock.cli.bench.peers import goals
from penstock.cli.bench.peers.agents import ask
from penstock.cli.bench.peers.board import Board
from penstock.cli.bench.peers.fleet import PEER_FAILURES
from penstock.cli.bench.peers.targets import BARE_LOOP, Target
from penstock.cli.bench.peers.tasks import WARM_UP_MESSAGES, Task, Where
from penstock.cli.bench.syncs import SyncCounter

KEY = "l"
TITLE = "A lone synchronous publisher, beside the peers"
METHOD = (
    "One message at a time, each acknowledged before the next is sent, through each product's own Python client: "
    "confluent-kafka (`produce` and `flush`, `linger.ms=0`), nats-py on uvloop, redis-py with hiredis, pika. The "
    "reference appends a record batch of the same message to a file and calls `fdatasync`, in a loop. Afterwards the "
    "kernel counts (perf) how often each server syncs for a message: whether it keeps its word."
)
_SIZES = (100, 1024)
_GOAL = goals.at_least(0.8)
_BESIDE_LOOP = goals.at_least(0.6)


def run(bench: Bench) -> Section:
    board = bench.new_board()
    with bench.fleet.streams("lone", board, bench.fleet.targets()) as places:
        for size in _SIZES:

            def measure(target: Target, where: Where, size: int = size) -> None:
                task = Task(
                    where=where, operation="lone", message_bytes=size, duration_s=bench.scale.peers.round_s
                )
                outcome = ask(task)
                _add(board, target, size, outcome.rate, outcome.latencies_s)

            def measure_reference(size: int = size) -> None:
                batch = frames.batch(size, 1)
                count, latencies = disk.sync_loop(bench.path("loop"), batch, bench.scale.peers.round_s)
                _add(board, BARE_LOOP, size, count / sum(latencies), latencies)

            bench.peer_rounds(
                f"lone publish of {size} B",
                board,
                places,
                measure,
                warm_up_rounds=bench.scale.peers.warm_up_rounds,
                measure_reference=measure_reference,
            )
        for target, where in places.items():
            _count_syncs(bench, board, target, where)
    ratios = tuple(
        ratio
        for size in _SIZES
        for ratio in (
            *goals.beside_best(board, _rate(size), _GOAL),
            *goals.beside_kafka(board, _rate(size)),
            *goals.beside_bare_loop(board, _rate(size), _BESIDE_LOOP),
        )
    )
    return board.section(KEY, TITLE, METHOD, ratios)


def _count_syncs(bench: Bench, board: Board, target: Target, where: Where) -> None:
    """What the server does for a message, as the kernel sees it: the proof of when it acknowledges."""
    counter = SyncCounter(*bench.fleet.running(target).pids())
    try:
        outcome = ask(Task(where=where, operation="lone", duration_s=bench.scale.peers.round_s / 4))
    except PEER_FAILURES as error:
        board.fail(target, str(error))
        return
    finally:
        syncs = counter.stop(0)
    if syncs.is_counted or shutil.which("perf"):
        board.add(target, "syncs to disk for a message", syncs.count / (outcome.count + WARM_UP_MESSAGES), "")


def _add(board: Board, target: Target, size: int, rate: float, latencies_s: list[float]) -> None:
    board.add(target, _rate(size), rate, "/s", more_is_better=True)
    board.add(target, f"{size} B, p99", quantile(latencies_s, 0.99) * 1e6, "µs")


def _rate(size: int) -> str:
    return f"{size} B"
