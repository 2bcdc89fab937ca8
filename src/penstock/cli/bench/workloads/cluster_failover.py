"""(w) How long a producer waits when the broker that leads its partition dies."""

import threading
import time
from typing import Any, Self

import confluent_kafka

from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Cells, Section
from penstock.cli.bench.local_cluster import LocalCluster, NotInTime
from penstock.cli.bench.peers.agents import ask
from penstock.cli.bench.peers.tasks import Task

KEY = "w"
TITLE = "Failover of a partition's leader"
METHOD = (
    "A confluent-kafka producer with `acks=all` sends one message after the other to a partition with three replicas "
    "(`min.insync.replicas=2`); the broker that leads it is killed with SIGKILL. Measured is the time from the kill to "
    "the acknowledgement of the first message that was sent after it. The dead broker is started again, and when all "
    "replicas are in sync the next one is killed. When the leader was the cluster's controller, too, a new controller "
    "has to be elected first. Settings are the defaults (`broker.session.timeout.ms`)."
)
_STREAM = "failover"
_RUN_UP_S = 1.0
_WITHIN_S = 60.0
_LOOK_S = 0.02
_PLAIN, _CONTROLLER = "leader killed", "leader killed that was the controller"


def run(bench: Bench) -> Section:
    cells = Cells()
    with bench.cluster() as cluster:
        ask(Task(where=cluster.where(_STREAM), operation="create"))
        cluster.await_in_sync()
        for _ in bench.rounds("failover", bench.scale.cluster.failovers):
            victim = cluster.leader_of(_STREAM)
            what = _CONTROLLER if victim == cluster.controller() else _PLAIN
            cells.add(what, _measure(cluster, victim), "s")
            cluster.start(victim)
            cluster.await_in_sync()
    return Section(key=KEY, title=TITLE, method=METHOD, figures=cells.figures())


def _measure(cluster: LocalCluster, victim: int) -> float:
    with _Producing(cluster.bootstrap) as producing:
        time.sleep(_RUN_UP_S)
        killed_at_s = cluster.kill(victim)
        return producing.first_after(killed_at_s) - killed_at_s


class _Producing:
    """A thread that produces one message after the other and notes when each was sent and acknowledged."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0, "log_level": 0}
        )
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

            self._producer.produce(_STREAM, b"x" * 100, partition=0, on_delivery=note)
            if not self._producer.flush(_WITHIN_S) and not failures:
                self._acknowledged.append((sent_at_s, time.perf_counter()))

    def first_after(self, at_s: float) -> float:
        """When the first message that was sent after that time was acknowledged."""
        deadline = time.perf_counter() + _WITHIN_S
        while time.perf_counter() < deadline:
            for sent_at_s, acknowledged_at_s in list(self._acknowledged):
                if sent_at_s >= at_s:
                    return acknowledged_at_s
            time.sleep(_LOOK_S)
        raise NotInTime(f"nothing was acknowledged within {_WITHIN_S:g} s of the kill")
