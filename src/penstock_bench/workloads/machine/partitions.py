"""(g) Thousands of partitions: creating them, what each costs in memory, and how long a start takes."""

import contextlib
import time
from collections.abc import Sequence

from penstock_bench import frames
from penstock_bench.context import Bench
from penstock_bench.frames import UnexpectedAnswer
from penstock_bench.process import ServerProcess
from penstock_bench.raw_client import RawClient

_PARTITIONS_PER_TOPIC = 100
_LEADERS_WITHIN_S = 60.0
_IDLE_FACTORS = (1, 10)


def run(bench: Bench) -> None:
    for count in bench.scale.partition_counts:
        _measure(bench, count)
    small, large = bench.scale.partition_counts[0], bench.scale.partition_counts[-1]
    for what in ("start after a clean stop", "start after SIGKILL", "memory, after one message each"):
        bench.board.ratio(
            f"{what}: {large:,} / {small:,} partitions",
            f"{large:,} partitions: {what}",
            f"{small:,} partitions: {what}",
        )
    _measure_idle(bench, small)


def _measure(bench: Bench, count: int) -> None:
    topics = topic_names("many", count)

    def add(what: str, value: float, unit: str = "s") -> None:
        bench.board.add(f"{count:,} partitions: {what}", value, unit)

    def add_memory(what: str, server: ServerProcess) -> None:
        add(f"memory, {what}", (server.memory_mib() - empty_mib) * 1024 / count, "KiB/partition")

    with bench.directory() as data_dir:
        bench.log(f"creating {count:,} partitions")
        with bench.start(data_dir) as server, RawClient(server.address) as client:
            client.create_topics({"warm": 1})
            client.produce(frames.produce_frame("warm", [0], frames.batch(100, 1)))
            empty_mib = server.memory_mib()
            began = time.perf_counter()
            create_topics(client, topics)
            add("created in", time.perf_counter() - began)
            add_memory("created", server)
            began = time.perf_counter()
            produce_to_each(client, topics)
            add("one message to each in", time.perf_counter() - began)
            add_memory("after one message each", server)
            add("open files", server.open_files(), "")
            bench.log(f"stopping and starting with {count:,} partitions")
            add("clean stop", server.stop())
        with bench.start(data_dir) as server:
            add("start after a clean stop", server.ready_s)
            add_memory("after a clean start", server)
            server.kill()
        with bench.start(data_dir) as server, RawClient(server.address) as client:
            add("start after SIGKILL, idle", server.ready_s)
            produce_to_each(client, topics)
            server.kill()
        with bench.start(data_dir) as server, RawClient(server.address) as client:
            add("start after SIGKILL", server.ready_s)
            add("acknowledged but missing", 2 - client.end_offset(topics[-1]), "records of 2")
            server.stop()


def _measure_idle(bench: Bench, written: int) -> None:
    """Start after SIGKILL with the same partitions written to, beside few and beside many idle ones."""
    labels = {
        factor: f"{written:,} written and {written * factor:,} idle partitions: start after SIGKILL"
        for factor in _IDLE_FACTORS
    }
    topics = topic_names("written", written)
    with contextlib.ExitStack() as stack:
        directories = {factor: stack.enter_context(bench.directory()) for factor in _IDLE_FACTORS}
        for factor, data_dir in directories.items():
            bench.log(f"creating {written:,} partitions and {written * factor:,} idle ones")
            with bench.start(data_dir) as server, RawClient(server.address) as client:
                both = [*topics, *topic_names("idle", written * factor)]
                create_topics(client, both)
                produce_to_each(client, both)
                server.stop()
        for _ in bench.rounds("start beside idle partitions", min(3, bench.scale.rounds)):
            for factor, data_dir in directories.items():
                with bench.start(data_dir) as server, RawClient(server.address) as client:
                    produce_to_each(client, topics)
                    server.kill()
                with bench.start(data_dir) as server:
                    bench.board.add(labels[factor], server.ready_s, "s")
                    server.stop()
    few, many = (labels[factor] for factor in _IDLE_FACTORS)
    label = f"start after SIGKILL, {written:,} written partitions: 10 times as many idle ones / as many"
    bench.board.ratio(label, many, few)


def topic_names(name: str, partitions: int) -> list[str]:
    return [f"{name}-{number}" for number in range(partitions // _PARTITIONS_PER_TOPIC)]


def create_topics(client: RawClient, topics: Sequence[str]) -> None:
    for topic in topics:
        client.create_topics({topic: _PARTITIONS_PER_TOPIC})


def produce_to_each(
    client: RawClient, topics: Sequence[str], partitions: int = _PARTITIONS_PER_TOPIC
) -> None:
    """Produce one message to every partition. Retry: a new topic may not have its leaders yet."""
    batch = frames.batch(100, 1)
    for topic in topics:
        frame = frames.produce_frame(topic, range(partitions), batch)
        deadline = time.perf_counter() + _LEADERS_WITHIN_S
        while True:
            try:
                client.produce(frame)
                break
            except UnexpectedAnswer:
                if time.perf_counter() > deadline:
                    raise
                time.sleep(0.01)
