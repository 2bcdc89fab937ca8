"""(v), (w), (x), (y): three brokers that form one cluster, against one, when one dies, and with many partitions."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, Self

import confluent_kafka
import msgspec
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.cli.cluster.moves import elect_preferred, without_preferred_leader
from penstock.cli.cluster.state import ClusterState, PartitionState, read_cluster, read_quorum
from penstock.cli.connect.requests import RequestClient
from penstock.cli.errors import CommandError
from penstock_bench.context import Bench
from penstock_bench.peers.agents import bulk, create, lone, run
from penstock_bench.peers.cluster import Cluster, Site
from penstock_bench.peers.products.kafka import Penstock
from penstock_bench.peers.tasks import Where, place_on

_MESSAGE_BYTES: Final = 1024
_WITHIN_S: Final = 120.0
_IN_SYNC_WITHIN_S: Final = 300.0
_POLL_INTERVAL_S: Final = 0.02


class ClusterTimeout(Exception):
    """The cluster did not reach the expected state in time; the message names it."""


class Brokers(Cluster):
    """A cluster of Penstock, and its state as `penstock cluster` reads it."""

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes.values())

    def where(self, stream: str, *, partitions: int = 1) -> Where:
        """Return a topic with three replicas and `min.insync.replicas=2`."""
        place = place_on(next(iter(self.nodes.values())).address, stream)
        options = {"min.insync.replicas": "2"}
        return msgspec.structs.replace(place, partitions=partitions, replicas=3, options=options)

    def state(self) -> ClusterState:
        with RequestClient(self.bootstrap) as client:
            return read_cluster(client)

    def controller(self) -> int:
        """Return the node that leads the metadata quorum, -1 when there is none."""
        try:
            with RequestClient(self.bootstrap) as client:
                return read_quorum(client).leader
        except CommandError:
            return -1

    def await_in_sync(self) -> float:
        """Wait until all replicas of every partition are in sync, and return when they were."""
        return self.wait_until(lambda: not self.state().unhealthy, "all replicas in sync", _IN_SYNC_WITHIN_S)

    def await_leaders(self) -> float:
        """Wait until every partition has a living leader, and return when it had."""
        return self.wait_until(
            lambda: all(each.leader in self.nodes for each in self.state().partitions),
            "a living leader for every partition",
        )

    def elect_preferred(self) -> None:
        with RequestClient(self.bootstrap) as client:
            elect_preferred(client, without_preferred_leader(read_cluster(client).partitions))

    def wait_until(self, is_so: Callable[[], bool], what: str, within_s: float = _WITHIN_S) -> float:
        """Poll until the condition holds, and return when it did."""
        deadline = time.perf_counter() + within_s
        while True:
            with contextlib.suppress(CommandError):  # no broker answers yet
                if is_so():
                    return time.perf_counter()
            if time.perf_counter() > deadline:
                raise ClusterTimeout(f"not within {within_s:g} s: {what}")
            time.sleep(_POLL_INTERVAL_S)


@contextlib.contextmanager
def _three_brokers(bench: Bench) -> Iterator[Brokers]:
    """Run three brokers, and remove them with their data afterwards."""
    with bench.directory() as directory:
        product = Penstock("Penstock, 3 nodes", 3)
        with contextlib.closing(Brokers(product, Site(directory, bench.path, product.nodes))) as brokers:
            yield brokers


# -- (v) publishing to three brokers that all store a message, against one

_BULK, _LONE = "1 KiB messages, batched", "100 B messages, one at a time"


def publish(bench: Bench) -> None:
    board, duration_s = bench.board, bench.scale.peers.round_s
    with _three_brokers(bench) as three, bench.broker({}) as (one, _):
        places = {"three": three.where("replicated"), "one": place_on(one.address, "single")}
        for where in places.values():
            run(create, where)
        three.await_in_sync()
        for _ in bench.rounds("three replicas against one", bench.scale.peers.rounds):
            for name, where in places.items():
                board.add(f"{_BULK}, {name}", run(bulk, where, _MESSAGE_BYTES, duration_s).rate, "/s")
                outcome = run(lone, where, duration_s)
                board.add(f"{_LONE}, {name}", outcome.rate, "/s")
                board.add_latencies(f"{_LONE}, {name}", outcome.latencies_s, "µs")
    for what, suffix in ((_BULK, ""), (_LONE, ""), (_LONE, ", p50"), (_LONE, ", p99")):
        label = f"{what}{suffix}: three replicas / one"
        board.ratio(label, f"{what}, three{suffix}", f"{what}, one{suffix}")


# -- (w) how long a producer waits when the broker that leads its partition dies

_FAILOVER: Final = "failover"
_PARTITIONS: Final = 3  # of which every broker leads one
_WARM_UP_S: Final = 1.0
_ACKNOWLEDGED_WITHIN_S: Final = 60.0


def fail_over(bench: Bench) -> None:
    with _three_brokers(bench) as brokers:
        run(create, brokers.where(_FAILOVER, partitions=_PARTITIONS))
        count = bench.scale.cluster.failovers
        for number in bench.rounds("failover", count):
            brokers.await_in_sync()
            brokers.elect_preferred()
            led = _find_partition(brokers, is_controller=number % 2 == 0)
            is_controller = led.leader == brokers.controller()
            what = f"leader killed{' that was the controller' if is_controller else ''}"
            elected_s, resumed_s = _kill_leader(brokers, led, _WARM_UP_S * (1 + number / count))
            bench.board.add(what, resumed_s, "s")
            bench.board.add(f"{what}, until another leads", elected_s, "s")
            brokers.start(led.leader)


def _find_partition(brokers: Brokers, *, is_controller: bool) -> PartitionState:
    """Return a partition whose leader is the controller, or is not."""
    controller = brokers.controller()
    led = [each for each in brokers.state().partitions if each.topic == _FAILOVER]
    return next((each for each in led if (each.leader == controller) is is_controller), led[0])


def _kill_leader(brokers: Brokers, led: PartitionState, warm_up_s: float) -> tuple[float, float]:
    """Return the seconds from the kill to a new leader, and to the first new acknowledgement."""
    others = ",".join(node.bootstrap for number, node in brokers.nodes.items() if number != led.leader)
    watching = AdminClient({"bootstrap.servers": others, "log_level": 0})
    with _Producing(brokers.bootstrap, led.partition) as producing:
        time.sleep(warm_up_s)
        watching.list_topics(_FAILOVER, timeout=_WITHIN_S)  # connected
        killed_at_s = brokers.kill(led.leader)
        elected_at_s = brokers.wait_until(lambda: _has_new_leader(watching, led), "another leader")
        resumed_at_s = brokers.wait_until(
            lambda: producing.first_after(killed_at_s) is not None,
            "an acknowledgement after the kill",
            _ACKNOWLEDGED_WITHIN_S,
        )
        return elected_at_s - killed_at_s, (producing.first_after(killed_at_s) or resumed_at_s) - killed_at_s


def _has_new_leader(admin: AdminClient, led: PartitionState) -> bool:
    partitions = admin.list_topics(_FAILOVER, timeout=_WITHIN_S).topics[_FAILOVER].partitions
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

            self._producer.produce(_FAILOVER, b"x" * 100, partition=self._partition, on_delivery=note)
            if not self._producer.flush(_ACKNOWLEDGED_WITHIN_S) and not failures:
                self._acknowledged.append((sent_at_s, time.perf_counter()))

    def first_after(self, at_s: float) -> float | None:
        """Return when the first message that was sent after that time was acknowledged."""
        return next((acknowledged for sent, acknowledged in list(self._acknowledged) if sent >= at_s), None)


# -- (x) how long a broker that holds nothing of a topic takes to be in sync with it

_ABSENT: Final = 3
_FILL_S_MAX: Final = 240.0


def catch_up(bench: Bench) -> None:
    size = bench.scale.cluster.catch_up_bytes
    bench.require_room(size * 4, f"a topic of {size / 1e9:g} GB on three brokers")
    with _three_brokers(bench) as brokers:
        run(create, brokers.where("caught-up"))
        brokers.await_in_sync()
        brokers.kill(_ABSENT)
        brokers.await_leaders()
        bench.log(f"filling {size / 1e9:g} GB")
        where = brokers.where("caught-up")
        filled = run(bulk, where, _MESSAGE_BYTES, _FILL_S_MAX, size // _MESSAGE_BYTES)
        bench.board.add("filled, two replicas", filled.rate * _MESSAGE_BYTES / 1e6, "MB/s")
        bench.log("catching up")
        began = time.perf_counter()
        brokers.start(_ABSENT)
        took_s = brokers.await_in_sync() - began
        held = filled.count * _MESSAGE_BYTES
        bench.board.add("data", held / 1e9, "GB")
        bench.board.add("in sync after", took_s, "s")
        bench.board.add("caught up at", held / took_s / 1e6, "MB/s")


# -- (y) thousands of partitions: memory, and how long they are without a leader

_AT_ONCE: Final = 100


def create_partitions(bench: Bench) -> None:
    for count in bench.scale.cluster.partition_counts:
        bench.log(f"{count:,} partitions on three brokers")
        with _three_brokers(bench) as brokers:
            _measure_partitions(bench, brokers, count)


def _measure_partitions(bench: Bench, brokers: Brokers, count: int) -> None:
    def add(what: str, value: float, unit: str = "s") -> None:
        bench.board.add(f"{count:,} partitions: {what}", value, unit)

    before_mib = brokers.memory_mib()
    began = time.perf_counter()
    admin = AdminClient({"bootstrap.servers": brokers.bootstrap, "log_level": 0})
    for number in range(count // _AT_ONCE):
        topic = NewTopic(f"many-{number}", _AT_ONCE, 3)
        admin.create_topics([topic], operation_timeout=_WITHIN_S)[topic.topic].result(_WITHIN_S)
    add("created and in sync after", brokers.await_in_sync() - began)
    memory_mib = brokers.memory_mib()
    add("memory of a broker", memory_mib, "MiB")
    add("memory", (memory_mib - before_mib) * 1024 / count, "KiB/partition")
    victim = brokers.controller()
    killed_at_s = brokers.kill(victim)
    elected_at_s = brokers.wait_until(lambda: brokers.controller() not in (-1, victim), "a new controller")
    add("new controller after", elected_at_s - killed_at_s)
    add("every partition led after", brokers.await_leaders() - killed_at_s)
