"""(s), (t), (u): servers beside the peers, with thousands of partitions, at their start, and after they were killed."""

import contextlib
import time
from functools import partial

from penstock_bench.context import Bench
from penstock_bench.figures import quantile
from penstock_bench.peers.agents import bulk, run
from penstock_bench.peers.targets import (
    KAFKA,
    KAFKA_SYNCED,
    PENSTOCK,
    Target,
    one_of_each_product,
    speaks_kafka,
)
from penstock_bench.peers.tasks import Where
from penstock_bench.peers.wire import wire_load
from penstock_bench.raw_client import RawClient
from penstock_bench.workloads.machine.partitions import create_topics, produce_to_each, topic_names

_STREAM = "started"
_MESSAGE_BYTES = 1024


# -- (s) thousands of partitions, beside Kafka, and what a message costs among one and among a thousand

_START_WITHIN_S = 240.0


def create_partitions(bench: Bench) -> None:
    for count in bench.scale.peers.partition_counts:
        targets = one_of_each_product(bench.fleet.targets(speaks_kafka))
        what = f"{count:,} partitions"
        bench.log(what)
        bench.for_each(targets, partial(_measure_partitions, bench, count), what)
        for each in ("created", "memory", "start after a clean stop", "start after SIGKILL"):
            bench.board.compare(f"{what}: {each}", *KAFKA)
    _measure_growth(bench)


def _measure_partitions(bench: Bench, count: int, target: Target) -> None:
    def add(what: str, value: float, unit: str = "s") -> None:
        bench.board.add(f"{count:,} partitions: {what}", value, unit, target)

    topics = topic_names("many", count)
    with bench.directory() as directory:
        server, _ = bench.fleet.start_to_first(target, directory, _STREAM)
        with contextlib.closing(server):
            before_mib = server.memory_mib()
            began = time.perf_counter()
            with RawClient(server.address) as client:
                create_topics(client, topics)
                add("created", time.perf_counter() - began)
                began = time.perf_counter()
                produce_to_each(client, topics)
            add("one message to each", time.perf_counter() - began)
            add("memory", (server.memory_mib() - before_mib) * 1024 / count, "KiB/partition")
            add("clean stop", server.stop())
        for what in ("start after a clean stop", "start after SIGKILL"):
            server, took_s = bench.fleet.start_to_first(target, directory, _STREAM, within_s=_START_WITHIN_S)
            with contextlib.closing(server):
                add(what, took_s)
                if what == "start after a clean stop":
                    with RawClient(server.address) as client:
                        produce_to_each(client, topics)


def _measure_growth(bench: Bench) -> None:
    board, duration_s = bench.board, bench.scale.peers.round_s
    many = bench.scale.peers.grown_partitions
    targets = bench.fleet.targets(speaks_kafka)
    names = {count: f"a message among {count:,} partitions" for count in (1, many)}

    def prepare(_: Target, where: Where) -> None:
        with RawClient(
            (where.host, where.port)
        ) as client:  # every partition has its leader and its file afterwards
            produce_to_each(client, [where.stream], where.partitions)

    def measure(target: Target, where: Where) -> None:
        name = names[where.partitions]
        with wire_load([where]) as publisher:
            publisher.run_in_turn(duration_s)
            with bench.fleet.running(target).usage() as used:
                load = publisher.run_in_turn(duration_s)
        board.add(f"{name}, p50", quantile(load.latencies_s, 0.5) * 1e6, "µs", target)
        board.add(f"{name}, CPU", used.cpu_s / load.acknowledged * 1e6, "µs/message", target)

    for partitions, name in names.items():
        bench.compare(name, measure, targets, partitions=partitions, prepare=prepare)
    for target in targets:
        for what in ("p50", "CPU"):
            label = f"{target.name}, {what} of a message: {many:,} / 1 partition"
            board.ratio(label, f"{names[many]}, {what}", f"{names[1]}, {what}", target.name)


# -- (t) start and idle memory

_IDLE_S = 1.0
_NEW, _AGAIN = "start, new directory", "start, after a clean stop"


def start(bench: Bench) -> None:
    targets = one_of_each_product(bench.fleet.targets())
    for _ in bench.rounds("start", bench.scale.peers.starts):
        bench.for_each(targets, partial(_measure_start, bench), "start")
    for what in (_NEW, _AGAIN, "idle memory"):
        bench.board.compare(what, (PENSTOCK, KAFKA_SYNCED))


def _measure_start(bench: Bench, target: Target) -> None:
    with bench.directory() as directory:
        for what in (_NEW, _AGAIN):
            server, took_s = bench.fleet.start_to_first(target, directory, _STREAM)
            with contextlib.closing(server):
                bench.board.add(what, took_s, "s", target)
                if what == _NEW:
                    time.sleep(_IDLE_S)
                    bench.board.add("idle memory", server.memory_mib(), "MiB", target)
                    bench.board.add("clean stop", server.stop(), "s", target)


# -- (u) start after SIGKILL, and start after a clean stop by the size of the log

_KILLED = "start after SIGKILL"
_QUORUM_NOTE = (
    "A quorum queue on a single node of RabbitMQ 3.10 often finds no leader after a crash (rabbitmq-server issue "
    "10070): then it acknowledges nothing until an operator triggers an election, and is reported as not measured."
)
_FILL_S_MAX = 120.0


def recover(bench: Bench) -> None:
    board = bench.board
    sizes_mib = bench.scale.peers.log_sizes_mib
    bench.for_each(bench.fleet.targets(), partial(_measure_kill, bench), "recovery")
    board.compare(_KILLED, *KAFKA)
    targets = one_of_each_product(bench.fleet.targets(speaks_kafka))
    for size_mib in sizes_mib:
        bench.for_each(targets, partial(_measure_stop, bench, size_mib), "clean stop")
    for target in targets if len(sizes_mib) > 1 else ():
        label = f"{target.name}, start after a clean stop: {sizes_mib[-1]:,} MiB / {sizes_mib[0]:,} MiB"
        board.ratio(label, _stopped(sizes_mib[-1]), _stopped(sizes_mib[0]), target.name)
    board.note(_QUORUM_NOTE)


def _measure_kill(bench: Bench, target: Target) -> None:
    bench.log(f"recovery of {target.name}")
    sizes = bench.scale.peers
    with bench.directory() as directory:
        count = _start_and_fill(bench, target, directory, sizes.recovery_messages, sizes.recovery_s)
        within_s = sizes.recovery_within_s
        server, took_s = bench.fleet.start_to_first(target, directory, _STREAM, within_s=within_s)
        server.close()
    bench.board.add(_KILLED, took_s, "s", target)
    bench.board.add("held when it was killed", count * _MESSAGE_BYTES / 2**20, "MiB", target)


def _measure_stop(bench: Bench, size_mib: int, target: Target) -> None:
    bench.log(f"clean stop of {target.name} with {size_mib:,} MiB")
    with bench.directory() as directory:
        count = size_mib * 2**20 // _MESSAGE_BYTES
        _start_and_fill(bench, target, directory, count, _FILL_S_MAX, is_stopped=True)
        server, took_s = bench.fleet.start_to_first(target, directory, _STREAM)
        server.close()
    bench.board.add(_stopped(size_mib), took_s, "s", target)


def _start_and_fill(
    bench: Bench, target: Target, directory: str, count: int, duration_s: float, *, is_stopped: bool = False
) -> int:
    """Fill a new server, stop or kill it, and return the number of messages."""
    server, _ = bench.fleet.start_to_first(target, directory, _STREAM)
    with contextlib.closing(server):
        (where,) = server.places(_STREAM, target.options)
        filled = run(bulk, where, _MESSAGE_BYTES, duration_s, count).count
        if is_stopped:
            server.stop()
    return filled


def _stopped(size_mib: int) -> str:
    return f"start after a clean stop, {size_mib:,} MiB"
