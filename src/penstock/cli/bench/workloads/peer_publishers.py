"""(m) Many concurrent publishers, beside the peers: one sync can serve all who wait, where the server does so."""

from penstock.cli.bench import disk, frames
from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Section, quantile
from penstock.cli.bench.peers import goals
from penstock.cli.bench.peers.targets import BARE_LOOP, Target
from penstock.cli.bench.peers.tasks import Where
from penstock.cli.bench.peers.wire.load import WireLoad

KEY = "m"
TITLE = "64 concurrent publishers, beside the peers"
METHOD = (
    "64 connections from one process, each with one 100 B message in flight, to one stream. So many clients in Python "
    "would measure themselves: for every product the bytes are built beforehand and sent by one and the same "
    "generator, which waits for each acknowledgement before it sends the next message of that connection. The "
    "reference appends one record batch to a file and calls `fdatasync`, in a loop: what 64 publishers would share "
    "without group commit."
)
_MESSAGE_BYTES = 100
_RATE = "messages acknowledged"
_GOAL = goals.at_least(1)


def run(bench: Bench) -> Section:
    board = bench.new_board()

    def measure(target: Target, where: Where) -> None:
        server = bench.fleet.running(target)
        with WireLoad([where] * bench.scale.peers.publishers, _MESSAGE_BYTES) as publishers:
            cpu_s = server.cpu_s()
            load = publishers.all_at_once(bench.scale.peers.round_s)
            cpu_s = server.cpu_since(cpu_s)
        board.add(target, _RATE, load.rate, "/s", more_is_better=True)
        board.add(target, "acknowledged after, p50", quantile(load.latencies_s, 0.5) * 1e3, "ms")
        board.add(target, "acknowledged after, p99", quantile(load.latencies_s, 0.99) * 1e3, "ms")
        board.add(target, "CPU", cpu_s / load.acknowledged * 1e6, "µs/message")

    def measure_reference() -> None:
        batch = frames.batch(_MESSAGE_BYTES, 1)
        count, latencies = disk.sync_loop(bench.path("loop"), batch, bench.scale.peers.round_s)
        board.add(BARE_LOOP, _RATE, count / sum(latencies), "/s", more_is_better=True)

    with bench.fleet.streams("publishers", board, bench.fleet.targets()) as places:
        bench.peer_rounds(
            "concurrent publishers",
            board,
            places,
            measure,
            warm_up_rounds=bench.scale.peers.warm_up_rounds,
            measure_reference=measure_reference,
        )
    ratios = (
        *goals.beside_each(board, _RATE, _GOAL),
        *goals.beside_kafka(board, _RATE),
        *goals.beside_bare_loop(board, _RATE),
    )
    return board.section(KEY, TITLE, METHOD, ratios)
