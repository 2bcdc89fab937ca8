"""(l) A lone synchronous publisher, beside the peers."""

import shutil

from penstock_bench import disk, frames
from penstock_bench.context import Bench
from penstock_bench.figures import Findings, quantile
from penstock_bench.peers import pairs
from penstock_bench.peers.agents import publish_lone
from penstock_bench.peers.board import Board
from penstock_bench.peers.fleet import PEER_FAILURES
from penstock_bench.peers.targets import BARE_LOOP, Target
from penstock_bench.peers.tasks import WARM_UP_MESSAGES, Where
from penstock_bench.syncs import SyncCounter

_SIZES = (100, 1024)


def run(bench: Bench) -> Findings:
    board = bench.new_board()
    with bench.fleet.streams("lone", board, bench.fleet.targets()) as places:
        for size in _SIZES:

            def measure(target: Target, where: Where, size: int = size) -> None:
                outcome = publish_lone(where, bench.scale.peers.round_s, size)
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
                warm_up=True,
                measure_reference=measure_reference,
            )
        for target, where in places.items():
            _count_syncs(bench, board, target, where)
    ratios = tuple(
        ratio
        for size in _SIZES
        for ratio in (
            *pairs.against_each(board, _rate(size)),
            *pairs.against_kafka(board, _rate(size)),
            *pairs.against_bare_loop(board, _rate(size)),
        )
    )
    return board.findings(ratios)


def _count_syncs(bench: Bench, board: Board, target: Target, where: Where) -> None:
    """Count the syncs for each message in the kernel: they prove the durability of an acknowledgement."""
    counter = SyncCounter(*bench.fleet.running(target).pids())
    try:
        outcome = publish_lone(where, bench.scale.peers.round_s / 4)
    except PEER_FAILURES as error:
        board.fail(target, str(error))
        return
    finally:
        syncs = counter.stop(0)
    if syncs.is_counted or shutil.which("perf"):
        board.add(target, "syncs to disk for a message", syncs.count / (outcome.count + WARM_UP_MESSAGES), "")


def _add(board: Board, target: Target, size: int, rate: float, latencies_s: list[float]) -> None:
    board.add(target, _rate(size), rate, "/s", higher_is_better=True)
    board.add(target, f"{size} B, p99", quantile(latencies_s, 0.99) * 1e6, "µs")


def _rate(size: int) -> str:
    return f"{size} B"
