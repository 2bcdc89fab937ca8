"""(y) Thousands of partitions on three brokers: memory, and how long they are without a leader."""

import time

from confluent_kafka.admin import AdminClient, NewTopic

from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings
from penstock_bench.local_cluster import LocalCluster

_AT_ONCE = 100
_WITHIN_S = 120.0


def run(bench: Bench) -> Findings:
    cells = Cells()
    for count in bench.scale.cluster.partition_counts:
        bench.log(f"{count:,} partitions on three brokers")
        with bench.cluster() as cluster:
            _measure(cells, cluster, count)
    return Findings(figures=cells.figures())


def _measure(cells: Cells, cluster: LocalCluster, count: int) -> None:
    before_mib = _memory_mib(cluster)
    began = time.perf_counter()
    _create(cluster.bootstrap, count)
    cluster.await_in_sync()
    mark = f"{count:,} partitions"
    cells.add(f"{mark}: created and in sync after", time.perf_counter() - began, "s")
    memory_mib = _memory_mib(cluster)
    cells.add(f"{mark}: memory of a broker", memory_mib, "MiB")
    cells.add(f"{mark}: memory", (memory_mib - before_mib) * 1024 / count, "KiB/partition")
    victim = cluster.controller()
    killed_at_s = cluster.kill(victim)
    elected_at_s = cluster.wait_until(
        lambda: cluster.controller() not in (-1, victim), "a new controller", _WITHIN_S
    )
    cells.add(f"{mark}: new controller after", elected_at_s - killed_at_s, "s")
    led_at_s = cluster.wait_until(
        lambda: all(each.leader in cluster.nodes for each in cluster.facts().partitions),
        "a living leader for every partition",
        _WITHIN_S,
    )
    cells.add(f"{mark}: every partition led after", led_at_s - killed_at_s, "s")


def _create(bootstrap: str, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for number in range(count // _AT_ONCE):
        topic = NewTopic(f"many-{number}", _AT_ONCE, 3)
        admin.create_topics([topic], operation_timeout=_WITHIN_S)[topic.topic].result(_WITHIN_S)


def _memory_mib(cluster: LocalCluster) -> float:
    """Return the mean memory of the running brokers."""
    return sum(node.memory().rss_mib for node in cluster.nodes.values()) / len(cluster.nodes)
