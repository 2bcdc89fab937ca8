"""(A) Consume, transform, produce in small transactions, beside Kafka."""

from penstock_bench.context import Bench
from penstock_bench.figures import Findings, quantile
from penstock_bench.peers import pairs
from penstock_bench.peers.agents import publish_bulk, run_task
from penstock_bench.peers.targets import TRANSACTION_TARGETS, Target
from penstock_bench.peers.tasks import Task, Where

_MESSAGES = (1, 10, 100)
_MESSAGE_BYTES = 100
_FILLED_PER_S = 1_000  # transactions a second that the input lasts for: no client makes more
_FILL_S_MAX = 120.0


def run(bench: Bench) -> Findings:
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
                outcome = run_task(task)
                cpu_s = server.cpu_since(cpu_s)
            board.add(target, _rate(messages), outcome.rate, "transactions/s", higher_is_better=True)
            board.add(target, f"{_of(messages)}, p99", quantile(outcome.latencies_s, 0.99) * 1e3, "ms")
            board.add(target, f"{_of(messages)}, CPU", cpu_s / outcome.count * 1e6, "µs/transaction")

        with bench.fleet.streams("input", board, targets) as places:
            count = max(1, int(duration_s * _FILLED_PER_S)) * messages

            def fill(_target: Target, where: Where, count: int = count) -> None:
                publish_bulk(where, _MESSAGE_BYTES, _FILL_S_MAX, count)

            bench.for_each_target("filling the input", board, places, fill)
            bench.peer_rounds(f"transactions of {_of(messages)}", board, places, measure, warm_up=True)
    ratios = tuple(
        ratio for messages in _MESSAGES for ratio in pairs.against_kafka_transactions(board, _rate(messages))
    )
    return board.findings(ratios)


def _of(messages: int) -> str:
    return f"{messages} message{'s' if messages > 1 else ''}"


def _rate(messages: int) -> str:
    return f"{_of(messages)} in a transaction"
