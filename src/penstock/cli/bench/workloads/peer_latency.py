"""(o) From publisher to reader at a fixed rate, beside the peers."""

from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Section, quantile
from penstock.cli.bench.peers import goals
from penstock.cli.bench.peers.agents import agents
from penstock.cli.bench.peers.targets import Target
from penstock.cli.bench.peers.tasks import Task, Where

KEY = "o"
TITLE = "End-to-end latency at a fixed rate, beside the peers"
METHOD = (
    "One process publishes 1 KiB messages at an even rate, each stamped with the time at which it was due; another "
    "reads the stream through the same product's client and takes the difference. A server that falls behind shows as "
    "latency, for the publisher does not slow down with it."
)
_MESSAGE_BYTES = 1024
_QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
_GOAL = goals.at_most(1.5)
_KAFKA_GOAL = goals.at_most(1)


def run(bench: Bench) -> Section:
    board = bench.new_board()
    rate = bench.scale.peers.paced_per_s
    count = max(1, int(rate * bench.scale.peers.round_s))

    def measure(target: Target, _: Where) -> None:
        # A stream of its own: the reader begins at its start.
        with bench.fleet.stream("paced", target) as where:
            read = Task(where=where, operation="timed-read", count=count)
            publish = Task(
                where=where, operation="paced", message_bytes=_MESSAGE_BYTES, count=count, rate_per_s=rate
            )
            with agents([read, publish]) as (reader, publisher):
                reader.begin()
                publisher.begin()
                publisher.outcome()
                latencies = reader.outcome().latencies_s
        for name, fraction in _QUANTILES.items():
            board.add(target, name, quantile(latencies, fraction) * 1e3, "ms")

    with bench.fleet.streams("latency", board, bench.fleet.targets()) as places:
        bench.peer_rounds(f"end-to-end latency at {rate:,}/s", board, places, measure)
    ratios = (*goals.beside_best(board, "p99", _GOAL), *goals.beside_kafka(board, "p99", _KAFKA_GOAL))
    return board.section(
        KEY, TITLE, METHOD, ratios, f"Rate: {rate:,} messages a second, {count:,} in each round."
    )
