"""(g) Thousands of partitions: creating them, what each costs in memory, and how long a start takes."""

import time

from penstock.cli.bench import frames
from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Cells, Section
from penstock.cli.bench.raw_client import RawClient

KEY = "g"
TITLE = "Thousands of partitions"
METHOD = (
    "Topics of 100 partitions each are created one request at a time, then one message is produced to every partition, "
    "100 partitions a request. Memory is RSS above that of the same broker without topics. The broker is then stopped "
    "cleanly and started, killed with SIGKILL and started again; a start ends with the ready line."
)
_PARTITIONS_PER_TOPIC = 100


def run(bench: Bench) -> Section:
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
    return Section(key=KEY, title=TITLE, method=METHOD, ratios=ratios, figures=cells.figures())


def _measure(bench: Bench, cells: Cells, count: int) -> None:
    of = f"{count:,} partitions: "
    topics = [f"many-{number}" for number in range(count // _PARTITIONS_PER_TOPIC)]
    batch = frames.batch(100, 1)
    with bench.directory() as data_dir:
        bench.say(f"creating {count:,} partitions")
        with bench.start(data_dir) as server, RawClient(server.address) as client:
            client.create_topics({"warm": 1})
            client.produce(frames.produce_frame("warm", [0], batch))
            empty = server.memory()
            began = time.perf_counter()
            for topic in topics:
                client.create_topics({topic: _PARTITIONS_PER_TOPIC})
            cells.add(of + "created in", time.perf_counter() - began, "s")
            idle = server.memory()
            cells.add(of + "memory, created", (idle.rss_mib - empty.rss_mib) * 1024 / count, "KiB/partition")
            began = time.perf_counter()
            for topic in topics:
                client.produce(frames.produce_frame(topic, range(_PARTITIONS_PER_TOPIC), batch))
            cells.add(of + "one message to each in", time.perf_counter() - began, "s")
            used = server.memory()
            cells.add(
                of + "memory, after one message each",
                (used.rss_mib - empty.rss_mib) * 1024 / count,
                "KiB/partition",
            )
            cells.add(of + "open files", server.open_files(), "")
            bench.say(f"stopping and starting with {count:,} partitions")
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
                for topic in topics:
                    client.produce(frames.produce_frame(topic, range(_PARTITIONS_PER_TOPIC), batch))
            server.kill()
        with bench.start(data_dir) as server:
            cells.add(of + "start after SIGKILL", server.ready_s, "s")
            with RawClient(server.address) as client:
                cells.add(
                    of + "acknowledged but missing", 2 - client.end_offset(topics[-1], 0), "records of 2"
                )
            server.stop()
