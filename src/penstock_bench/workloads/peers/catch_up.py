"""(p) Reading a stream from its start, beside the peers."""

from penstock_bench.context import Bench
from penstock_bench.figures import Findings
from penstock_bench.peers import pairs
from penstock_bench.peers.agents import publish_bulk, run_task
from penstock_bench.peers.targets import Target
from penstock_bench.peers.tasks import Task, Where

_MESSAGE_BYTES = 1024
_RATE = "messages read"


def run(bench: Bench) -> Findings:
    board = bench.new_board()
    counts: dict[Target, int] = {}

    def fill(target: Target, where: Where) -> None:
        bench.log(f"filling {target.name}")
        sizes = bench.scale.peers
        counts[target] = publish_bulk(where, _MESSAGE_BYTES, sizes.fill_s, sizes.fill_messages).count

    def measure(target: Target, where: Where) -> None:
        if target not in counts:
            fill(target, where)
        server = bench.fleet.running(target)
        cpu_s = server.cpu_s()
        outcome = run_task(Task(where=where, operation="read", count=counts[target]))
        cpu_s = server.cpu_since(cpu_s)
        if target.reads_consume:
            del counts[target]
        size = outcome.count * _MESSAGE_BYTES
        board.add(target, _RATE, outcome.rate, "/s", higher_is_better=True)
        board.add(target, "data", size / outcome.took_s / 1e6, "MB/s", higher_is_better=True)
        board.add(target, "CPU for a GB", cpu_s / size * 1e9, "s per GB")

    with bench.fleet.streams("catch-up", board, bench.fleet.targets()) as places:
        bench.for_each_target("filling", board, places, fill)
        bench.peer_rounds("catch-up reading", board, places, measure)
    ratios = (
        *pairs.against_each(board, _RATE),
        *pairs.against_kafka(board, _RATE),
        *pairs.against_kafka(board, "CPU for a GB"),
    )
    return board.findings(ratios)
