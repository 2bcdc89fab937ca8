"""(o) From publisher to reader at a fixed rate, beside the peers."""

from penstock_bench.context import Bench
from penstock_bench.figures import Findings, quantile
from penstock_bench.peers import pairs
from penstock_bench.peers.agents import agents
from penstock_bench.peers.targets import Target
from penstock_bench.peers.tasks import Task, Where

_MESSAGE_BYTES = 1024
_QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


def run(bench: Bench) -> Findings:
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
    ratios = (*pairs.against_best(board, "p99"), *pairs.against_kafka(board, "p99"))
    return board.findings(ratios, f"Rate: {rate:,} messages a second, {count:,} in each round.")
