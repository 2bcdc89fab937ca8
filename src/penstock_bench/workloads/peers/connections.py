"""(r) A thousand connections, beside the peers, and what a message costs among one and among a thousand."""

from penstock_bench.context import Bench
from penstock_bench.figures import Findings, quantile
from penstock_bench.peers import pairs
from penstock_bench.peers.board import Board
from penstock_bench.peers.targets import Target
from penstock_bench.peers.tasks import Where
from penstock_bench.peers.wire.load import WireLoad

_RATE = "messages acknowledged, all at once"
_OPENED = "opened"
_ONE = "in turn, 1 connection"


def run(bench: Bench) -> Findings:
    board = bench.new_board()
    count = bench.scale.peers.connections
    many = f"in turn, {count:,} connections"

    def measure(target: Target, where: Where) -> None:
        server = bench.fleet.running(target)
        duration_s = bench.scale.peers.round_s / 2
        before_mib = server.rss_mib()
        with WireLoad([where]) as one:
            one.in_turn(duration_s / 4)
            cpu_s = server.cpu_s()
            load = one.in_turn(duration_s)
            _add(board, target, _ONE, load.latencies_s, server.cpu_since(cpu_s))
        with WireLoad([where] * count) as publishers:
            board.add(target, _OPENED, count / publishers.opened_in_s, "/s", higher_is_better=True)
            load = publishers.all_at_once(duration_s)
            board.add(target, _RATE, load.rate, "/s", higher_is_better=True)
            cpu_s = server.cpu_s()
            load = publishers.in_turn(duration_s)
            _add(board, target, many, load.latencies_s, server.cpu_since(cpu_s))
            memory_kib = (server.rss_mib() - before_mib) * 1024
            board.add(target, "memory", max(0.0, memory_kib) / count, "KiB/connection")

    with bench.fleet.streams("connections", board, bench.fleet.targets()) as places:
        bench.peer_rounds(f"{count:,} connections", board, places, measure)
    ratios = [*pairs.against_each(board, _RATE), *pairs.against_kafka(board, _RATE)]
    for target in bench.fleet.targets():
        for what in ("p50", "CPU"):
            label = f"{target.name}, {what} of a message: {count:,} / 1 connection"
            ratios += board.growth(label, target.name, f"{many}, {what}", f"{_ONE}, {what}")
    return board.findings(ratios)


def _add(board: Board, target: Target, what: str, latencies_s: list[float], cpu_s: float) -> None:
    board.add(target, f"{what}, p50", quantile(latencies_s, 0.5) * 1e6, "µs")
    board.add(target, f"{what}, CPU", cpu_s / len(latencies_s) * 1e6, "µs/message")
