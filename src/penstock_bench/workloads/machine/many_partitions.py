"""(g) Thousands of partitions: creating them, what each costs in memory, and how long a start takes."""

import contextlib
import time
from collections.abc import Sequence

from penstock_bench import frames
from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings, Ratio
from penstock_bench.raw_client import RawClient

_PARTITIONS_PER_TOPIC = 100
_WRITTEN, _IDLE = "written", "idle"
_IDLE_FACTORS = (1, 10)


def run(bench: Bench) -> Findings:
    cells = Cells()
    for count in bench.scale.partition_counts:
        _measure(bench, cells, count)
    small, large = bench.scale.partition_counts[0], bench.scale.partition_counts[-1]
    ratios = tuple(
        cells.ratio(
            f"{what}: {large:,} / {small:,} partitions",
            f"{large:,} partitions: {what}",
            f"{small:,} partitions: {what}",
        )
        for what in ("start after a clean stop", "start after SIGKILL", "memory, after one message each")
    )
    ratios += (_measure_idle(bench, cells, small),)
    return Findings(ratios=ratios, figures=cells.figures())


def _measure(bench: Bench, cells: Cells, count: int) -> None:
    of = f"{count:,} partitions: "
    topics = _topics("many", count)
    batch = frames.batch(100, 1)
    with bench.directory() as data_dir:
        bench.log(f"creating {count:,} partitions")
        with bench.start(data_dir) as server, RawClient(server.address) as client:
            client.create_topics({"warm": 1})
            client.produce(frames.produce_frame("warm", [0], batch))
            empty = server.memory()
            began = time.perf_counter()
            _create(client, topics)
            cells.add(of + "created in", time.perf_counter() - began, "s")
            idle = server.memory()
            cells.add(of + "memory, created", (idle.rss_mib - empty.rss_mib) * 1024 / count, "KiB/partition")
            began = time.perf_counter()
            _produce_to_each(client, topics)
            cells.add(of + "one message to each in", time.perf_counter() - began, "s")
            used = server.memory()
            cells.add(
                of + "memory, after one message each",
                (used.rss_mib - empty.rss_mib) * 1024 / count,
                "KiB/partition",
            )
            cells.add(of + "open files", server.open_files(), "")
            bench.log(f"stopping and starting with {count:,} partitions")
            cells.add(of + "clean stop", server.stop(), "s")
        with bench.start(data_dir) as server:
            cells.add(of + "start after a clean stop", server.ready_s, "s")
            cells.add(
                of + "memory, after a clean start",
                (server.memory().rss_mib - empty.rss_mib) * 1024 / count,
                "KiB/partition",
            )
            server.kill()
        with bench.start(data_dir) as server:
            cells.add(of + "start after SIGKILL, idle", server.ready_s, "s")
            with RawClient(server.address) as client:
                _produce_to_each(client, topics)
            server.kill()
        with bench.start(data_dir) as server:
            cells.add(of + "start after SIGKILL", server.ready_s, "s")
            with RawClient(server.address) as client:
                cells.add(
                    of + "acknowledged but missing", 2 - client.end_offset(topics[-1], 0), "records of 2"
                )
            server.stop()


def _measure_idle(bench: Bench, cells: Cells, written: int) -> Ratio:
    """Start after SIGKILL with the same partitions written to, beside few and beside many idle ones."""
    labels = {
        factor: f"{written:,} written and {written * factor:,} idle partitions: start after SIGKILL"
        for factor in _IDLE_FACTORS
    }
    topics = _topics(_WRITTEN, written)
    with contextlib.ExitStack() as stack:
        directories = {factor: stack.enter_context(bench.directory()) for factor in _IDLE_FACTORS}
        for factor, data_dir in directories.items():
            bench.log(f"creating {written:,} partitions and {written * factor:,} idle ones")
            with bench.start(data_dir) as server, RawClient(server.address) as client:
                both = [*topics, *_topics(_IDLE, written * factor)]
                _create(client, both)
                _produce_to_each(client, both)
                server.stop()
        for _ in bench.rounds("start beside idle partitions", min(3, bench.scale.rounds)):
            for factor, data_dir in directories.items():
                with bench.start(data_dir) as server, RawClient(server.address) as client:
                    _produce_to_each(client, topics)
                    server.kill()
                with bench.start(data_dir) as server:
                    cells.add(labels[factor], server.ready_s, "s")
                    server.stop()
    few, many = (labels[factor] for factor in _IDLE_FACTORS)
    label = f"start after SIGKILL, {written:,} written partitions: 10 times as many idle ones / as many"
    return cells.ratio(label, many, few)


def _topics(name: str, partitions: int) -> list[str]:
    return [f"{name}-{number}" for number in range(partitions // _PARTITIONS_PER_TOPIC)]


def _create(client: RawClient, topics: Sequence[str]) -> None:
    for topic in topics:
        client.create_topics({topic: _PARTITIONS_PER_TOPIC})


def _produce_to_each(client: RawClient, topics: Sequence[str]) -> None:
    """One message to every partition."""
    batch = frames.batch(100, 1)
    for topic in topics:
        client.produce(frames.produce_frame(topic, range(_PARTITIONS_PER_TOPIC), batch))
