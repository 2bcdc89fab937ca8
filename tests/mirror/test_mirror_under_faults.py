"""A mirror whose brokers are killed and whose link is cut while records are written at the source."""

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest
from confluent_kafka import KafkaException, Producer

from penstock.embedded import Cluster
from tests.mirror.stage import Reader, eventually
from tests.mirror.test_mirror_between_clusters import QUICK, operator_of, produce, values_of

PARTITIONS = 3
PER_TRANSACTION = 20


@pytest.fixture
def source() -> Iterator[Cluster]:
    with Cluster(1, config=QUICK) as cluster:
        yield cluster


@pytest.fixture
def target() -> Iterator[Cluster]:
    with Cluster(3, config=QUICK) as cluster:
        yield cluster


class Traffic:
    """Transactions, every third of them aborted, and records without one, until it is stopped."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.transactions = 0
        self.error: KafkaException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        assert self.error is None

    def await_more(self, count: int) -> None:
        """Wait for some more transactions."""
        wanted = self.transactions + count
        eventually(lambda: self.transactions >= wanted or self.error is not None, "nothing is written")

    def _run(self) -> None:
        try:
            self._write()
        except KafkaException as error:
            self.error = error

    def _write(self) -> None:
        common = {"bootstrap.servers": self._bootstrap, "linger.ms": 0}
        plain = Producer({**common, "enable.idempotence": True, "compression.type": "lz4"})
        transactional = Producer({**common, "transactional.id": "traffic"})
        transactional.init_transactions(30)
        while not self._stop.is_set():
            transactional.begin_transaction()
            for number in range(PER_TRANSACTION):
                transactional.produce(
                    self._topic, b"t%d-%d" % (self.transactions, number), partition=number % PARTITIONS
                )
                plain.produce(
                    self._topic, b"p%d-%d" % (self.transactions, number), partition=number % PARTITIONS
                )
            plain.flush(30)
            transactional.flush(30)
            if self.transactions % 3 == 2:
                transactional.abort_transaction(30)
            else:
                transactional.commit_transaction(30)
            self.transactions += 1
        plain.flush(30)


def assert_same(source: Cluster, target: Cluster, topic: str) -> None:
    there, here = Reader(source.bootstrap_servers), Reader(target.bootstrap_servers)
    assert here.digests({topic: PARTITIONS}) == there.digests({topic: PARTITIONS})
    for number in range(PARTITIONS):
        assert here.aborted(topic, number) == there.aborted(topic, number)


def test_killed_brokers_of_the_mirror_leave_every_partition_the_same(
    source: Cluster, target: Cluster
) -> None:
    source.create_topic("orders", PARTITIONS)
    operator = operator_of(target)
    with Traffic(source.bootstrap_servers, "orders") as traffic:
        operator.create(source.bootstrap_servers)
        for number in range(PARTITIONS):
            traffic.await_more(5)
            leader = target.leader("orders", number)
            target.kill(leader)
            traffic.await_more(5)
            target.restart(leader)
            eventually(lambda: len(target.in_sync("orders")) == 3, "the broker is not in sync")
    operator.await_level(PARTITIONS)
    assert_same(source, target, "orders")


def test_a_killed_controller_of_the_mirror_is_replaced(source: Cluster, target: Cluster) -> None:
    source.create_topic("orders", PARTITIONS)
    produce(source, "orders", b"one")
    operator = operator_of(target)
    operator.create(source.bootstrap_servers)
    operator.await_level(PARTITIONS)
    target.kill(target.controller)
    source.create_topic("orders-2", 1)
    produce(source, "orders-2", b"two")
    eventually(
        lambda: {"orders", "orders-2"} == {each["topic"] for each in operator.describe()["partitions"]},
        "the new topic is not copied",
    )
    eventually(lambda: values_of(target, "orders-2") == [b"two"], "its record is not copied")


def test_a_cut_link_is_reported_and_the_mirror_continues_where_it_stopped(
    source: Cluster, target: Cluster
) -> None:
    source.create_topic("orders", PARTITIONS)
    operator = operator_of(target)
    (there,) = source.nodes.values()
    with Traffic(source.bootstrap_servers, "orders") as traffic:
        operator.create(source.bootstrap_servers)
        traffic.await_more(5)
        for node in target.nodes.values():
            target._links.cut(node.port, there.port)
        traffic.await_more(5)
    target.heal()
    operator.await_level(PARTITIONS)
    assert_same(source, target, "orders")


def test_a_stopped_broker_continues_without_copying_again(source: Cluster, tmp_path: Path) -> None:
    source.create_topic("orders", PARTITIONS)
    with Cluster(1, config=QUICK, directory=tmp_path) as target:
        with Traffic(source.bootstrap_servers, "orders") as traffic:
            operator = operator_of(target)
            operator.create(source.bootstrap_servers)
            traffic.await_more(10)
        operator.await_level(PARTITIONS)
        (node,) = target.nodes
        for end in (target.stop_node, target.kill):
            end(node)
            produce(source, "orders", b"later")
            target.restart(node)
            operator.await_level(PARTITIONS)
            assert 0 < operator.describe()["copiedBytes"] < 1000
        assert_same(source, target, "orders")


def test_a_forced_promotion_in_the_middle_of_traffic_keeps_whole_transactions_in_each_partition(
    source: Cluster, target: Cluster
) -> None:
    source.create_topic("orders", PARTITIONS)
    operator = operator_of(target)
    with Traffic(source.bootstrap_servers, "orders") as traffic:
        operator.create(source.bootstrap_servers)
        traffic.await_more(10)
        printed = operator.run("promote", "m", "--force")
        with Traffic(target.bootstrap_servers, "orders") as moved:
            moved.await_more(3)
    assert "mirror m is promoted" in printed
    there, here = Reader(source.bootstrap_servers), Reader(target.bootstrap_servers)
    ends = {each["partition"]: each["endOffset"] for each in operator.describe()["outcome"]}
    for number, end in ends.items():
        copied = [each for each in here.read("orders", number) if int.from_bytes(each[:8], "big") < end]
        assert copied == there.read("orders", number)[: len(copied)]
    kept = Counter[tuple[bytes, int]]()
    for value in values_of(target, "orders", committed_only=True):
        transaction, _, number = (value or b"").partition(b"-")
        if transaction.startswith(b"t"):
            kept[transaction, int(number) % PARTITIONS] += 1
    for (_, partition), count in kept.items():  # both clusters have had transactions of these names
        assert count % len(range(partition, PER_TRANSACTION, PARTITIONS)) == 0, (
            "a part of a transaction was kept"
        )
