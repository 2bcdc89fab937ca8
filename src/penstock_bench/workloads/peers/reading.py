"""(o), (p), (q), (A): reading beside the peers, at a fixed rate, from the start, by many groups, in transactions."""

from penstock_bench.context import Bench
from penstock_bench.figures import quantile
from penstock_bench.peers import agents
from penstock_bench.peers.targets import KAFKA, KAFKA_TRANSACTIONS, OTHERS, TRANSACTION_TARGETS, Target
from penstock_bench.peers.tasks import Where

_MESSAGE_BYTES = 1024


# -- (o) from publisher to reader at a fixed rate


def read_paced(bench: Bench) -> None:
    board = bench.board
    rate = bench.scale.peers.paced_per_s
    count = max(1, int(rate * bench.scale.peers.round_s))

    def measure(target: Target, _: Where) -> None:
        # A stream of its own: the reader begins at its start.
        with bench.fleet.stream("paced", target) as (where,):
            read = (agents.timed_read, where, count)
            publish = (agents.paced, where, _MESSAGE_BYTES, count, rate)
            with agents.agents([read, publish]) as (reader, publisher):
                reader.begin()
                publisher.begin()
                publisher.outcome()
                latencies = reader.outcome().latencies_s
        for name, fraction in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)):
            board.add(name, quantile(latencies, fraction) * 1e3, "ms", target)

    bench.compare(f"end-to-end latency at {rate:,}/s", measure)
    board.compare("p99", *board.best("p99", OTHERS), *KAFKA)
    board.note(f"Rate: {rate:,} messages a second, {count:,} in each round.")


# -- (p) reading a stream from its start

_READ = "messages read"


def catch_up(bench: Bench) -> None:
    board, sizes = bench.board, bench.scale.peers
    counts: dict[Target, int] = {}

    def fill(target: Target, where: Where) -> None:
        bench.log(f"filling {target.name}")
        counts[target] = agents.run(
            agents.bulk, where, _MESSAGE_BYTES, sizes.fill_s, sizes.fill_messages
        ).count

    def measure(target: Target, where: Where) -> None:
        if target not in counts:
            fill(target, where)
        with bench.fleet.running(target).usage() as used:
            outcome = agents.run(agents.read, where, counts[target])
        if where.dialect == "amqp":
            del counts[target]  # reading has removed the messages
        size = outcome.count * _MESSAGE_BYTES
        board.add(_READ, outcome.rate, "/s", target)
        board.add("data", size / outcome.took_s / 1e6, "MB/s", target)
        board.add("CPU for a GB", used.cpu_s / size * 1e9, "s per GB", target)

    bench.compare("catch-up reading", measure, prepare=fill)
    board.compare(_READ, *OTHERS, *KAFKA)
    board.compare("CPU for a GB", *KAFKA)


# -- (q) one stream to many groups of readers

_PUBLISH_S_MAX = 60.0


def fan_out(bench: Bench) -> None:
    board = bench.board
    groups, count = bench.scale.peers.fan_out_groups, bench.scale.peers.fan_out_messages

    def measure(target: Target, _: Where) -> None:
        with bench.fleet.stream("groups", target, groups=groups) as (where,):
            reads = [(agents.read, where, count, f"group-{number}") for number in range(groups)]
            publish = (agents.bulk, where, _MESSAGE_BYTES, _PUBLISH_S_MAX, count)
            with agents.agents([*reads, publish]) as (*readers, publisher):
                for reader in readers:
                    reader.begin()
                with bench.fleet.running(target).usage() as used:
                    publisher.begin()
                    published = publisher.outcome()
                    ended_at_s = max(reader.outcome().ended_at_s for reader in readers)
        taken_s = ended_at_s - (published.ended_at_s - published.took_s)
        board.add("deliveries", count * groups / taken_s, "/s", target)
        board.add("CPU", used.cpu_s / (count * groups) * 1e6, "µs/delivery", target)

    bench.compare(f"fan-out to {groups} groups", measure)
    board.compare("deliveries", *OTHERS, *KAFKA)
    board.note(f"{groups} groups, {count:,} messages a round.")


# -- (A) consume, transform, produce in small transactions, beside Kafka

_TRANSACTION_MESSAGES = (1, 10, 100)
_FILLED_PER_S = 1_000  # transactions a second that the input lasts for: no client makes more
_FILL_S_MAX = 120.0


def transform(bench: Bench) -> None:
    for messages in _TRANSACTION_MESSAGES:
        _transform(bench, messages, f"{messages} message{'s' if messages > 1 else ''}")


def _transform(bench: Bench, messages: int, of: str) -> None:
    board, duration_s = bench.board, bench.scale.peers.round_s

    def fill(_: Target, where: Where) -> None:
        count = max(1, int(duration_s * _FILLED_PER_S)) * messages
        agents.run(agents.bulk, where, 100, _FILL_S_MAX, count)

    def measure(target: Target, where: Where) -> None:
        server = bench.fleet.running(target)
        with bench.fleet.stream("transformed", target) as (output,), server.usage() as used:
            outcome = agents.run(agents.transform, where, output.stream, messages, duration_s)
        board.add(f"{of} in a transaction", outcome.rate, "transactions/s", target)
        board.add(f"{of}, p99", quantile(outcome.latencies_s, 0.99) * 1e3, "ms", target)
        board.add(f"{of}, CPU", used.cpu_s / outcome.count * 1e6, "µs/transaction", target)

    targets = bench.fleet.targets(among=TRANSACTION_TARGETS)
    bench.compare(f"transactions of {of}", measure, targets, warm_up=True, prepare=fill)
    board.compare(f"{of} in a transaction", *KAFKA_TRANSACTIONS)
