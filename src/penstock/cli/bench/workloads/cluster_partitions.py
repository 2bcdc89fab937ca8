"""(y) Thousands of partitions on three brokers: memory, and how long they are without a leader."""

import time

from confluent_kafka.admin import AdminClient, NewTopic

from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Cells, Section
from penstock.cli.bench.local_cluster import LocalCluster

KEY = "y"
TITLE = "Thousands of partitions on three brokers"
METHOD = (
    "Topics of 100 partitions with three replicas each are created on three brokers one by one; memory is that "
    "of each broker (RSS) when all replicas are in sync. Then the broker that is the active controller is killed with "
    "SIGKILL: measured is the time until another one is the controller, and until no partition is led by the dead one."
)
_AT_ONCE = 100
_WITHIN_S = 120.0


def run(bench: Bench) -> Section:
    cells = Cells()
    for count in bench.scale.cluster.partition_counts:
        bench.say(f"{count:,} partitions on three brokers")
        with bench.cluster() as cluster:
            _measure(cells, cluster, count)
    return Section(key=KEY, title=TITLE, method=METHOD, figures=cells.figures())


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
    """The mean of the brokers that run."""
    return sum(node.memory().rss_mib for node in cluster.nodes.values()) / len(cluster.nodes)
