"""(p) Reading a stream from its start, beside the peers."""

from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Section
from penstock.cli.bench.peers import goals
from penstock.cli.bench.peers.agents import ask
from penstock.cli.bench.peers.fleet import PEER_FAILURES
from penstock.cli.bench.peers.targets import Target
from penstock.cli.bench.peers.tasks import Task, Where

KEY = "p"
TITLE = "Catch-up reading, beside the peers"
METHOD = (
    "A stream is filled with 1 KiB messages until the time or the count is up, then read from its start by one client: "
    "confluent-kafka's consumer, assigned; nats-py's pull consumer of 1,000 a fetch, without acknowledgements; XREAD "
    "of 1,000 entries; pika's consumer with automatic acknowledgement, whose queue is filled anew for every round."
)
_MESSAGE_BYTES = 1024
_RATE = "messages read"
_GOAL = goals.at_least(1)


def run(bench: Bench) -> Section:
    board = bench.new_board()
    counts: dict[Target, int] = {}

    def fill(target: Target, where: Where) -> None:
        sizes = bench.scale.peers
        task = Task(
            where=where,
            operation="bulk",
            message_bytes=_MESSAGE_BYTES,
            count=sizes.fill_messages,
            duration_s=sizes.fill_s,
        )
        counts[target] = ask(task).count

    def measure(target: Target, where: Where) -> None:
        if target not in counts:
            fill(target, where)
        server = bench.fleet.running(target)
        cpu_s = server.cpu_s()
        outcome = ask(Task(where=where, operation="read", count=counts[target]))
        cpu_s = server.cpu_since(cpu_s)
        if target.reads_consume:
            del counts[target]
        size = outcome.count * _MESSAGE_BYTES
        board.add(target, _RATE, outcome.rate, "/s", more_is_better=True)
        board.add(target, "data", size / outcome.took_s / 1e6, "MB/s", more_is_better=True)
        board.add(target, "CPU for a GB", cpu_s / size * 1e9, "s per GB")

    with bench.fleet.streams("catch-up", board, bench.fleet.targets()) as places:
        for target, where in list(places.items()):
            bench.say(f"filling {target.name}")
            try:
                fill(target, where)
            except PEER_FAILURES as error:
                board.fail(target, str(error))
                del places[target]
        bench.peer_rounds("catch-up reading", board, places, measure)
    ratios = (
        *goals.beside_each(board, _RATE, _GOAL),
        *goals.beside_kafka(board, _RATE),
        *goals.beside_kafka(board, "CPU for a GB", goals.at_most(1)),
    )
    return board.section(KEY, TITLE, METHOD, ratios)
