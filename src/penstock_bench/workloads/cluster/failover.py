"""(w) How long a producer waits when the broker that leads its partition dies."""

import threading
import time
from typing import Any, Self

import confluent_kafka
from confluent_kafka.admin import AdminClient

from penstock.cli.cluster.state import PartitionState
from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings
from penstock_bench.local_cluster import ClusterTimeout, LocalCluster
from penstock_bench.peers.agents import run_task
from penstock_bench.peers.tasks import Task

_STREAM = "failover"
_PARTITIONS = 3  # of which every broker leads one
_WARM_UP_S = 1.0
_WITHIN_S = 60.0
_POLL_INTERVAL_S = 0.02
_PLAIN, _CONTROLLER = "leader killed", "leader killed that was the controller"
_ELECTED = ", until another leads"


def run(bench: Bench) -> Findings:
    cells = Cells()
    with bench.cluster() as cluster:
        run_task(Task(where=cluster.where(_STREAM, partitions=_PARTITIONS), operation="create"))
        count = bench.scale.cluster.failovers
        for number in bench.rounds("failover", count):
            cluster.balance()
            led = _find(cluster, is_controller=number % 2 == 0)
            what = _CONTROLLER if led.leader == cluster.controller() else _PLAIN
            elected_s, resumed_s = _measure(cluster, led, _WARM_UP_S * (1 + number / count))
            cells.add(what, resumed_s, "s")
            cells.add(what + _ELECTED, elected_s, "s")
            cluster.start(led.leader)
    return Findings(figures=cells.figures())


def _find(cluster: LocalCluster, *, is_controller: bool) -> PartitionState:
    """Return a partition whose leader is the controller, or is not."""
    controller = cluster.controller()
    led = [each for each in cluster.facts().partitions if each.topic == _STREAM]
    return next((each for each in led if (each.leader == controller) is is_controller), led[0])


def _measure(cluster: LocalCluster, led: PartitionState, warm_up_s: float) -> tuple[float, float]:
    """Return the seconds from the kill to a new leader, and to the first new acknowledgement."""
    others = ",".join(node.bootstrap for number, node in cluster.nodes.items() if number != led.leader)
    watching = AdminClient({"bootstrap.servers": others, "log_level": 0})
    with _Producing(cluster.bootstrap, led.partition) as producing:
        time.sleep(warm_up_s)
        watching.list_topics(_STREAM, timeout=_WITHIN_S)  # connected
        killed_at_s = cluster.kill(led.leader)
        elected_at_s = cluster.wait_until(lambda: _has_new_leader(watching, led), "another leader", _WITHIN_S)
        return elected_at_s - killed_at_s, producing.first_after(killed_at_s) - killed_at_s


def _has_new_leader(admin: AdminClient, led: PartitionState) -> bool:
    partitions = admin.list_topics(_STREAM, timeout=_WITHIN_S).topics[_STREAM].partitions
    return led.partition in partitions and partitions[led.partition].leader not in (-1, led.leader)


class _Producing:
    """Produces one message after the other in a thread, and records when each was sent and acknowledged."""

    def __init__(self, bootstrap: str, partition: int) -> None:
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0, "log_level": 0}
        )
        self._partition = partition
        self._is_over = threading.Event()
        self._acknowledged: list[tuple[float, float]] = []  # sent, acknowledged
        self._thread = threading.Thread(target=self._produce)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _produce(self) -> None:
        while not self._is_over.is_set():
            sent_at_s = time.perf_counter()
            failures: list[Any] = []

            def note(error: Any, _message: Any, failures: list[Any] = failures) -> None:
                if error is not None:
                    failures.append(error)

            self._producer.produce(_STREAM, b"x" * 100, partition=self._partition, on_delivery=note)
            if not self._producer.flush(_WITHIN_S) and not failures:
                self._acknowledged.append((sent_at_s, time.perf_counter()))

    def first_after(self, at_s: float) -> float:
        """Return when the first message that was sent after that time was acknowledged."""
        deadline = time.perf_counter() + _WITHIN_S
        while time.perf_counter() < deadline:
            for sent_at_s, acknowledged_at_s in list(self._acknowledged):
                if sent_at_s >= at_s:
                    return acknowledged_at_s
            time.sleep(_POLL_INTERVAL_S)
        raise ClusterTimeout(f"nothing was acknowledged within {_WITHIN_S:g} s of the kill")
