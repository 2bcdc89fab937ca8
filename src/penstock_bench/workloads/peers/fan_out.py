"""(q) One stream to many groups of readers, beside the peers."""

from penstock_bench.context import Bench
from penstock_bench.figures import Findings
from penstock_bench.peers import pairs
from penstock_bench.peers.agents import agents
from penstock_bench.peers.targets import Target
from penstock_bench.peers.tasks import Task, Where

_MESSAGE_BYTES = 1024
_RATE = "deliveries"
_PUBLISH_S_MAX = 60.0


def run(bench: Bench) -> Findings:
    board = bench.new_board()
    groups = bench.scale.peers.fan_out_groups
    count = bench.scale.peers.fan_out_messages

    def measure(target: Target, _: Where) -> None:
        server = bench.fleet.running(target)
        with bench.fleet.stream("groups", target, groups=groups) as where:
            reads = [
                Task(where=where, operation="read", count=count, group=f"group-{number}")
                for number in range(groups)
            ]
            publish = Task(
                where=where,
                operation="bulk",
                message_bytes=_MESSAGE_BYTES,
                count=count,
                duration_s=_PUBLISH_S_MAX,
            )
            with agents([*reads, publish]) as (*readers, publisher):
                for reader in readers:
                    reader.begin()
                cpu_s = server.cpu_s()
                publisher.begin()
                published = publisher.outcome()
                ended_at_s = max(reader.outcome().ended_at_s for reader in readers)
                cpu_s = server.cpu_since(cpu_s)
        taken_s = ended_at_s - (published.ended_at_s - published.took_s)
        board.add(target, _RATE, count * groups / taken_s, "/s", higher_is_better=True)
        board.add(target, "CPU", cpu_s / (count * groups) * 1e6, "µs/delivery")

    with bench.fleet.streams("fan-out", board, bench.fleet.targets()) as places:
        bench.peer_rounds(f"fan-out to {groups} groups", board, places, measure)
    ratios = (*pairs.against_each(board, _RATE), *pairs.against_kafka(board, _RATE))
    return board.findings(ratios, f"{groups} groups, {count:,} messages a round.")
