"""(m) Many concurrent publishers, beside the peers: one sync can serve all who wait, where the server does so."""

from penstock_bench import disk, frames
from penstock_bench.context import Bench
from penstock_bench.figures import Findings, quantile
from penstock_bench.peers import pairs
from penstock_bench.peers.targets import BARE_LOOP, Target
from penstock_bench.peers.tasks import Where
from penstock_bench.peers.wire.load import WireLoad

_MESSAGE_BYTES = 100
_RATE = "messages acknowledged"


def run(bench: Bench) -> Findings:
    board = bench.new_board()

    def measure(target: Target, where: Where) -> None:
        server = bench.fleet.running(target)
        with WireLoad([where] * bench.scale.peers.publishers, _MESSAGE_BYTES) as publishers:
            cpu_s = server.cpu_s()
            load = publishers.all_at_once(bench.scale.peers.round_s)
            cpu_s = server.cpu_since(cpu_s)
        board.add(target, _RATE, load.rate, "/s", higher_is_better=True)
        board.add(target, "acknowledged after, p50", quantile(load.latencies_s, 0.5) * 1e3, "ms")
        board.add(target, "acknowledged after, p99", quantile(load.latencies_s, 0.99) * 1e3, "ms")
        board.add(target, "CPU", cpu_s / load.acknowledged * 1e6, "µs/message")

    def measure_reference() -> None:
        batch = frames.batch(_MESSAGE_BYTES, 1)
        count, latencies = disk.sync_loop(bench.path("loop"), batch, bench.scale.peers.round_s)
        board.add(BARE_LOOP, _RATE, count / sum(latencies), "/s", higher_is_better=True)

    with bench.fleet.streams("publishers", board, bench.fleet.targets()) as places:
        bench.peer_rounds(
            "concurrent publishers", board, places, measure, warm_up=True, measure_reference=measure_reference
        )
    ratios = (
        *pairs.against_each(board, _RATE),
        *pairs.against_kafka(board, _RATE),
        *pairs.against_bare_loop(board, _RATE),
    )
    return board.findings(ratios)
