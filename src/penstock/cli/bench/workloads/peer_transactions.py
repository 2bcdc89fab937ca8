"""(A) Consume, transform, produce in small transactions, beside Kafka."""

from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Section, quantile
from penstock.cli.bench.peers import goals
from penstock.cli.bench.peers.agents import ask
from penstock.cli.bench.peers.board import Board
from penstock.cli.bench.peers.fleet import PEER_FAILURES
from penstock.cli.bench.peers.targets import TRANSACTION_TARGETS, Target
from penstock.cli.bench.peers.tasks import Task, Where

KEY = "A"
TITLE = "Consume, transform, produce in small transactions, beside Kafka"
METHOD = (
    "One confluent-kafka client takes messages of 100 B from one topic, writes each in upper case to another, and "
    "commits its offsets and its output in one transaction; then the next. Measured with 1, 10 and 100 messages in a "
    "transaction, from taking the first one to the answer to the commit. Kafka runs with "
    "`log.flush.interval.messages=1`, so that every record is synced before it is acknowledged in all its logs, those "
    "of the coordinators of groups and transactions too, as Penstock does. The client retries after 1 ms "
    "(`retry.backoff.ms`): a broker may refuse the next transaction until the markers of the last one are written, "
    "and the default of 100 ms would hide both brokers."
)
_MESSAGES = (1, 10, 100)
_MESSAGE_BYTES = 100
_FILLED_PER_S = 1_000  # transactions a second that the input lasts for: no client makes more
_FILL_S_MAX = 120.0


def run(bench: Bench) -> Section:
    board = bench.new_board()
    targets = bench.fleet.targets(among=TRANSACTION_TARGETS)
    duration_s = bench.scale.peers.round_s
    for messages in _MESSAGES:

        def measure(target: Target, where: Where, messages: int = messages) -> None:
            server = bench.fleet.running(target)
            with bench.fleet.stream("transformed", target) as output:
                cpu_s = server.cpu_s()
                task = Task(
                    where=where,
                    operation="transform",
                    output=output.stream,
                    group=f"{output.stream}-group",
                    transaction_messages=messages,
                    duration_s=duration_s,
                )
                outcome = ask(task)
                cpu_s = server.cpu_since(cpu_s)
            board.add(target, _rate(messages), outcome.rate, "transactions/s", more_is_better=True)
            board.add(target, f"{_of(messages)}, p99", quantile(outcome.latencies_s, 0.99) * 1e3, "ms")
            board.add(target, f"{_of(messages)}, CPU", cpu_s / outcome.count * 1e6, "µs/transaction")

        with bench.fleet.streams("input", board, targets) as places:
            _fill(board, places, max(1, int(duration_s * _FILLED_PER_S)) * messages)
            bench.peer_rounds(
                f"transactions of {_of(messages)}",
                board,
                places,
                measure,
                warm_up_rounds=bench.scale.peers.warm_up_rounds,
            )
    ratios = tuple(
        ratio for messages in _MESSAGES for ratio in goals.beside_kafka_transactions(board, _rate(messages))
    )
    return board.section(KEY, TITLE, METHOD, ratios)


def _fill(board: Board, places: dict[Target, Where], count: int) -> None:
    for target, where in list(places.items()):
        fill = Task(
            where=where, operation="bulk", message_bytes=_MESSAGE_BYTES, count=count, duration_s=_FILL_S_MAX
        )
        try:
            ask(fill)
        except PEER_FAILURES as error:
            board.fail(target, str(error))
            del places[target]


def _of(messages: int) -> str:
    return f"{messages} message{'s' if messages > 1 else ''}"


def _rate(messages: int) -> str:
    return f"{_of(messages)} in a transaction"
