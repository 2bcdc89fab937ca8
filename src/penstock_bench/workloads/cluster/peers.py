"""(B) Clusters side by side: three nodes each of Penstock and its peers, publishing to three replicas."""

from penstock_bench.context import Bench
from penstock_bench.figures import Findings, quantile
from penstock_bench.peers import pairs
from penstock_bench.peers.agents import publish_bulk, publish_lone
from penstock_bench.peers.board import Board
from penstock_bench.peers.targets import Target
from penstock_bench.peers.tasks import Where
from penstock_bench.peers.wire.load import WireLoad

_LONE = "one publisher, 100 B"
_MANY = "64 publishers on 64 partitions, 100 B"
_BULK = "batched, 1 KiB"
_BULK_BYTES = 1024


def run(bench: Bench) -> Findings:
    board = bench.new_board()
    targets = bench.clusters.targets()
    _measure_lone(bench, board, targets)
    _measure_many(bench, board, targets)
    _measure_bulk(bench, board, targets)
    ratios = tuple(
        ratio for what in (_LONE, _MANY, _BULK) for ratio in pairs.against_equals(board, what, targets)
    )
    return board.findings(ratios)


def _measure_lone(bench: Bench, board: Board, targets: list[Target]) -> None:
    def measure(target: Target, places: list[Where]) -> None:
        cluster = bench.clusters.running(target)
        cpu_s = cluster.cpu_s()
        outcome = publish_lone(places[0], bench.scale.peers.round_s)
        cpu_s = cluster.cpu_since(cpu_s)
        board.add(target, _LONE, outcome.rate, "/s", higher_is_better=True)
        board.add(target, f"{_LONE}, p99", quantile(outcome.latencies_s, 0.99) * 1e3, "ms")
        board.add(target, f"{_LONE}, CPU", cpu_s / outcome.count * 1e6, "µs/message")

    with bench.clusters.streams("lone", board, targets) as places:
        bench.peer_rounds(_LONE, board, places, measure, warm_up=True)


def _measure_many(bench: Bench, board: Board, targets: list[Target]) -> None:
    def measure(target: Target, places: list[Where]) -> None:
        cluster = bench.clusters.running(target)
        with WireLoad(places) as publishers:
            cpu_s = cluster.cpu_s()
            load = publishers.all_at_once(bench.scale.peers.round_s)
            cpu_s = cluster.cpu_since(cpu_s)
        board.add(target, _MANY, load.rate, "/s", higher_is_better=True)
        board.add(target, f"{_MANY}, p99", quantile(load.latencies_s, 0.99) * 1e3, "ms")
        board.add(target, f"{_MANY}, CPU", cpu_s / load.acknowledged * 1e6, "µs/message")

    with bench.clusters.streams("many", board, targets, bench.scale.peers.publishers) as places:
        bench.peer_rounds(_MANY, board, places, measure, warm_up=True)


def _measure_bulk(bench: Bench, board: Board, targets: list[Target]) -> None:
    def measure(target: Target, places: list[Where]) -> None:
        cluster = bench.clusters.running(target)
        cpu_s = cluster.cpu_s()
        outcome = publish_bulk(places[0], _BULK_BYTES, bench.scale.peers.round_s)
        cpu_s = cluster.cpu_since(cpu_s)
        board.add(target, _BULK, outcome.rate, "messages/s", higher_is_better=True)
        board.add(target, f"{_BULK}, CPU", cpu_s / outcome.count * 1e6, "s per million messages")

    with bench.clusters.streams("bulk", board, targets) as places:
        bench.peer_rounds(_BULK, board, places, measure, warm_up=True)
