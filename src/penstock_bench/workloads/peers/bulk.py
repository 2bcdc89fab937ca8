"""(n) Batched publishing, beside the peers: how much goes through, and what it costs the server."""

from penstock_bench.context import Bench
from penstock_bench.figures import Findings
from penstock_bench.peers import pairs
from penstock_bench.peers.agents import publish_bulk
from penstock_bench.peers.targets import Target
from penstock_bench.peers.tasks import Where

_SIZES = (100, 1024, 65536)


def run(bench: Bench) -> Findings:
    board = bench.new_board()
    with bench.fleet.streams("bulk", board, bench.fleet.targets()) as places:
        for size in _SIZES:

            def measure(target: Target, where: Where, size: int = size) -> None:
                server = bench.fleet.running(target)
                cpu_s = server.cpu_s()
                outcome = publish_bulk(where, size, bench.scale.peers.round_s)
                cpu_s = server.cpu_since(cpu_s)
                board.add(target, _rate(size), outcome.rate, "messages/s", higher_is_better=True)
                board.add(target, f"{size} B, data", outcome.rate * size / 1e6, "MB/s", higher_is_better=True)
                board.add(target, f"{size} B, CPU", cpu_s / outcome.count * 1e6, "s per million messages")
                board.add(target, _cpu_per_gb(size), cpu_s / (outcome.count * size) * 1e9, "s per GB")

            bench.peer_rounds(f"batched publish of {size} B", board, places, measure, warm_up=True)
    ratios = tuple(
        ratio
        for size in _SIZES
        for ratio in (
            *pairs.against_each(board, _rate(size)),
            *pairs.against_kafka(board, _rate(size)),
            *pairs.against_kafka(board, _cpu_per_gb(size)),
        )
    )
    return board.findings(ratios)


def _rate(size: int) -> str:
    return f"{size} B"


def _cpu_per_gb(size: int) -> str:
    return f"{size} B, CPU for a GB"
