"""(n) Batched publishing, beside the peers: how much goes through, and what it costs the server."""

from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Section
from penstock.cli.bench.peers import goals
from penstock.cli.bench.peers.agents import ask
from penstock.cli.bench.peers.targets import Target
from penstock.cli.bench.peers.tasks import Task, Where

KEY = "n"
TITLE = "Batched publishing, beside the peers"
METHOD = (
    "One publisher sends as fast as its client can, with a bounded number of messages unacknowledged, until the time "
    "is up; the clock stops at the last acknowledgement. confluent-kafka with its default batching, nats-py with 4,000 "
    "pending or 16 MiB, redis-py with pipelines of 500 XADDs or 1 MiB, pika with 2,000 unconfirmed or 16 MiB. CPU is "
    "that of all processes of the server."
)
_SIZES = (100, 1024, 65536)
_BESIDE_OTHERS = goals.at_least(3)
_BESIDE_KAFKA = goals.at_least(1)
_CPU_BESIDE_KAFKA = goals.at_most(1)


def run(bench: Bench) -> Section:
    board = bench.new_board()
    with bench.fleet.streams("bulk", board, bench.fleet.targets()) as places:
        for size in _SIZES:

            def measure(target: Target, where: Where, size: int = size) -> None:
                server = bench.fleet.running(target)
                cpu_s = server.cpu_s()
                task = Task(
                    where=where, operation="bulk", message_bytes=size, duration_s=bench.scale.peers.round_s
                )
                outcome = ask(task)
                cpu_s = server.cpu_since(cpu_s)
                board.add(target, _rate(size), outcome.rate, "messages/s", more_is_better=True)
                board.add(target, f"{size} B, data", outcome.rate * size / 1e6, "MB/s", more_is_better=True)
                board.add(target, f"{size} B, CPU", cpu_s / outcome.count * 1e6, "s per million messages")
                board.add(target, _cpu_per_gb(size), cpu_s / (outcome.count * size) * 1e9, "s per GB")

            bench.peer_rounds(
                f"batched publish of {size} B",
                board,
                places,
                measure,
                warm_up_rounds=bench.scale.peers.warm_up_rounds,
            )
    ratios = tuple(
        ratio
        for size in _SIZES
        for ratio in (
            *goals.beside_each(board, _rate(size), _BESIDE_OTHERS),
            *goals.beside_kafka(board, _rate(size), _BESIDE_KAFKA),
            *goals.beside_kafka(board, _cpu_per_gb(size), _CPU_BESIDE_KAFKA),
        )
    )
    return board.section(KEY, TITLE, METHOD, ratios)


def _rate(size: int) -> str:
    return f"{size} B"


def _cpu_per_gb(size: int) -> str:
    return f"{size} B, CPU for a GB"
