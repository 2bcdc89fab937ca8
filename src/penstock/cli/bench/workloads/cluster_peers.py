"""(B) Clusters side by side: three nodes each of Penstock and its peers, publishing to three replicas."""

from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Section, quantile
from penstock.cli.bench.peers import goals
from penstock.cli.bench.peers.agents import ask
from penstock.cli.bench.peers.board import Board
from penstock.cli.bench.peers.targets import Target
from penstock.cli.bench.peers.tasks import Task, Where
from penstock.cli.bench.peers.wire.load import WireLoad

KEY = "B"
TITLE = "Clusters side by side: publishing to three replicas"
METHOD = (
    "Three nodes of each product on this machine are one cluster, and every stream has three replicas. Penstock and "
    "Kafka (KRaft, broker and controller in each node) get `acks=all` with `min.insync.replicas=2` and acknowledge "
    "when all replicas in sync have a message; a JetStream stream (R3) and a quorum queue acknowledge when two of "
    "three have it. Each replica syncs it before, or holds it in the page cache, as the table says: Kafka and "
    "JetStream run both ways, as shipped (page cache) and with `flush.messages=1` or `sync_interval: always`. "
    "Measured: one publisher with one 100 B message in flight through the product's own client; 64 connections, each "
    "with one 100 B message in flight to a partition, stream or queue of its own, with bytes built beforehand; and "
    "one publisher of 1 KiB messages with its client's batching. Every publisher connects to the node that leads its "
    "stream. CPU is that of all three nodes. All clusters run all the time, and share the cores and the disk with the "
    "clients: three machines would do better."
)
_LONE = "one publisher, 100 B"
_MANY = "64 publishers on 64 partitions, 100 B"
_BULK = "batched, 1 KiB"
_BULK_BYTES = 1024


def run(bench: Bench) -> Section:
    board = bench.new_board()
    targets = bench.clusters.targets()
    _measure_lone(bench, board, targets)
    _measure_many(bench, board, targets)
    _measure_bulk(bench, board, targets)
    ratios = tuple(
        ratio for what in (_LONE, _MANY, _BULK) for ratio in goals.beside_equals(board, what, targets)
    )
    return board.section(KEY, TITLE, METHOD, ratios)


def _measure_lone(bench: Bench, board: Board, targets: list[Target]) -> None:
    def measure(target: Target, places: list[Where]) -> None:
        cluster = bench.clusters.running(target)
        cpu_s = cluster.cpu_s()
        outcome = ask(Task(where=places[0], operation="lone", duration_s=bench.scale.peers.round_s))
        cpu_s = cluster.cpu_since(cpu_s)
        board.add(target, _LONE, outcome.rate, "/s", more_is_better=True)
        board.add(target, f"{_LONE}, p99", quantile(outcome.latencies_s, 0.99) * 1e3, "ms")
        board.add(target, f"{_LONE}, CPU", cpu_s / outcome.count * 1e6, "µs/message")

    with bench.clusters.streams("lone", board, targets) as places:
        bench.peer_rounds(_LONE, board, places, measure, warm_up_rounds=bench.scale.peers.warm_up_rounds)


def _measure_many(bench: Bench, board: Board, targets: list[Target]) -> None:
    def measure(target: Target, places: list[Where]) -> None:
        cluster = bench.clusters.running(target)
        with WireLoad(places) as publishers:
            cpu_s = cluster.cpu_s()
            load = publishers.all_at_once(bench.scale.peers.round_s)
            cpu_s = cluster.cpu_since(cpu_s)
        board.add(target, _MANY, load.rate, "/s", more_is_better=True)
        board.add(target, f"{_MANY}, p99", quantile(load.latencies_s, 0.99) * 1e3, "ms")
        board.add(target, f"{_MANY}, CPU", cpu_s / load.acknowledged * 1e6, "µs/message")

    with bench.clusters.streams("many", board, targets, bench.scale.peers.publishers) as places:
        bench.peer_rounds(_MANY, board, places, measure, warm_up_rounds=bench.scale.peers.warm_up_rounds)


def _measure_bulk(bench: Bench, board: Board, targets: list[Target]) -> None:
    def measure(target: Target, places: list[Where]) -> None:
        cluster = bench.clusters.running(target)
        task = Task(
            where=places[0],
            operation="bulk",
            message_bytes=_BULK_BYTES,
            duration_s=bench.scale.peers.round_s,
        )
        cpu_s = cluster.cpu_s()
        outcome = ask(task)
        cpu_s = cluster.cpu_since(cpu_s)
        board.add(target, _BULK, outcome.rate, "messages/s", more_is_better=True)
        board.add(target, f"{_BULK}, CPU", cpu_s / outcome.count * 1e6, "s per million messages")

    with bench.clusters.streams("bulk", board, targets) as places:
        bench.peer_rounds(_BULK, board, places, measure, warm_up_rounds=bench.scale.peers.warm_up_rounds)
