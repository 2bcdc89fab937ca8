"""Groups and transactions over three real brokers: they continue after their coordinator died."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from penstock.client.blocking.client import GROUP, TRANSACTION, BlockingClient
from penstock.client.metadata import TopicPartition as Place
from penstock.client.settings import ClientSettings
from penstock.protocol.messages import end_txn, init_producer_id, produce
from tests.server.live import TopicHandle, batch, produce_request
from tests.support.cluster import ClusterProcesses, eventually, retry_while_coordinator_moves, running_cluster

pytestmark = pytest.mark.timeout(120)

SETTINGS = {"transaction.state.log.num.partitions": "4"}
PARTITIONS = 6


def coordinator_of(cluster: ClusterProcesses, kind: int, key: str) -> int:
    """The number of the node that coordinates a group or a transactional id."""
    client = BlockingClient(ClientSettings.from_properties({"bootstrap.servers": cluster.bootstrap}))
    try:
        _, port = client.coordinator(kind, key)
    finally:
        client.close()
    return next(number for number, node in cluster.nodes.items() if node.port == port)


def replicas_of(cluster: ClusterProcesses, topic: str) -> list[int]:
    partitions = cluster.admin().list_topics(timeout=10).topics[topic].partitions.values()
    return [len(each.replicas) for each in partitions]


@contextlib.contextmanager
def consumer(cluster: ClusterProcesses, group: str, **more: object) -> Iterator[Consumer]:
    reader = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
            **more,
        }
    )
    try:
        yield reader
    finally:
        reader.close()


def write(cluster: ClusterProcesses, topic: str, values: list[str]) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    for partition, value in zip(itertools.cycle(range(PARTITIONS)), values, strict=False):
        producer.produce(topic, value, partition=partition)
    assert producer.flush(60) == 0


def read(reader: Consumer, count: int) -> list[str]:
    """The next records of a group, with its offset committed after them."""
    found: list[str] = []

    def is_enough() -> bool:
        message = reader.poll(0.2)
        if message is not None and message.error() is None:
            found.append(message.value().decode())
        return len(found) >= count

    eventually(is_enough, f"{count} records read")
    commit(reader)
    return found


def commit(reader: Consumer) -> None:
    retry_while_coordinator_moves(lambda: reader.commit(asynchronous=False))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_continues_with_its_offsets_after_its_coordinator_died(tmp_path: Path, protocol: str) -> None:
    with running_cluster(tmp_path) as cluster:
        cluster.create_topic("t", PARTITIONS)
        first = [f"a{number}" for number in range(30)]
        second = [f"b{number}" for number in range(30)]
        write(cluster, "t", first)
        with consumer(cluster, "g", **{"group.protocol": protocol}) as reader:
            reader.subscribe(["t"])
            assert sorted(read(reader, 30)) == sorted(first)
            assert set(replicas_of(cluster, "__consumer_offsets")) == {3}
            cluster.await_in_sync("__consumer_offsets")
            cluster.nodes[coordinator_of(cluster, GROUP, "g")].kill()
            write(cluster, "t", second)
            assert sorted(read(reader, 30)) == sorted(second)
        with consumer(cluster, "g") as successor:
            committed = successor.committed([TopicPartition("t", each) for each in range(PARTITIONS)], 30)
            assert [each.offset for each in committed] == [10] * PARTITIONS


class Transactions:
    """One transactional producer: each transaction writes a value to every partition, and a position of a group."""

    def __init__(self, cluster: ClusterProcesses, topic: str, group: Any) -> None:
        self._group = group
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "transactional.id": "tx",
                "transaction.timeout.ms": 30_000,
                "log_level": 0,
            }
        )
        self._producer.init_transactions(60)
        self._numbers = itertools.count()
        self.committed: list[str] = []
        self.position = -1

    def run(self, *, is_commit: bool, in_between: Callable[[], None] = lambda: None) -> None:
        values = [
            f"{next(self._numbers)}-{'commit' if is_commit else 'abort'}-{each}" for each in range(PARTITIONS)
        ]
        self._producer.begin_transaction()
        for partition, value in enumerate(values):
            self._producer.produce(self._topic, value, partition=partition)
        assert self._producer.flush(60) == 0
        number = int(values[-1].partition("-")[0])
        self._producer.send_offsets_to_transaction([TopicPartition("input", 0, number)], self._group, 60)
        in_between()
        if is_commit:
            self._producer.commit_transaction(60)
            self.committed += values
            self.position = number
        else:
            self._producer.abort_transaction(60)


def end_one_of_version_2(cluster: ClusterProcesses, transactional_id: str, *, is_commit: bool) -> None:
    """As a client of KIP-890 does: the leaders of the partitions add them to the transaction."""
    client = BlockingClient(ClientSettings.from_properties({"bootstrap.servers": cluster.bootstrap}))
    begun = client.call_coordinator(
        TRANSACTION,
        transactional_id,
        init_producer_id.API_KEY,
        lambda _version: init_producer_id.InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=30_000
        ),
        lambda answer: int(answer.error_code),
    )
    records = batch(
        b"commit" if is_commit else b"abort",
        producer_id=begun.producer_id,
        epoch=begun.producer_epoch,
        sequence=0,
        is_transactional=True,
    )
    for number in range(PARTITIONS):
        client.call_leader(
            Place("v2", number),
            produce.API_KEY,
            lambda version, leader, number=number: produce_request(  # type: ignore[misc]
                TopicHandle("v2", leader.topic_id),
                {number: records},
                version=version,
                transactional_id=transactional_id,
            ),
            lambda answer: int(answer.responses[0].partition_responses[0].error_code),
        )
    client.call_coordinator(
        TRANSACTION,
        transactional_id,
        end_txn.API_KEY,
        lambda _version: end_txn.EndTxnRequest(
            transactional_id=transactional_id,
            producer_id=begun.producer_id,
            producer_epoch=begun.producer_epoch,
            committed=is_commit,
        ),
        lambda answer: int(answer.error_code),
    )
    client.close()


def group_coordinated_elsewhere(cluster: ClusterProcesses, node: int) -> str:
    """A group that does not lose its coordinator with this node.

    librdkafka would wait for that one to come back, past its timeout (its issues 5511 and 5456).
    """
    names = (f"group-{number}" for number in itertools.count())
    return next(name for name in names if coordinator_of(cluster, GROUP, name) != node)


def test_transactions_over_several_brokers_continue_after_their_coordinator_died(tmp_path: Path) -> None:
    with running_cluster(tmp_path, settings=SETTINGS) as cluster:
        cluster.create_topic("t", PARTITIONS, **{"min.insync.replicas": "2"})
        cluster.create_topic("input")
        leaders = {cluster.leader_of("t", each) for each in range(PARTITIONS)}
        assert leaders == {1, 2, 3}, "the coordinator does not lead all of them"
        coordinator = coordinator_of(cluster, TRANSACTION, "tx")
        group = group_coordinated_elsewhere(cluster, coordinator)
        with consumer(cluster, group) as reader:
            transactions = Transactions(cluster, "t", reader.consumer_group_metadata())
        assert set(replicas_of(cluster, "__transaction_state")) == {3}
        cluster.create_topic("v2", PARTITIONS)
        end_one_of_version_2(cluster, "aborted", is_commit=False)
        end_one_of_version_2(cluster, "committed", is_commit=True)
        for number in range(6):
            transactions.run(is_commit=number % 2 == 0)
        cluster.await_in_sync("__transaction_state")
        transactions.run(is_commit=True, in_between=cluster.nodes[coordinator].kill)
        for number in range(5):
            transactions.run(is_commit=number % 2 == 0)
        cluster.nodes[coordinator].start()
        transactions.run(is_commit=True)
        transactions.run(is_commit=False)
        with consumer(cluster, "auditor", **{"isolation.level": "read_committed"}) as reader:
            reader.subscribe(["t"])
            found = read(reader, len(transactions.committed))
            assert reader.poll(1) is None
        assert sorted(found) == sorted(transactions.committed)
        with consumer(cluster, "auditor of v2", **{"isolation.level": "read_committed"}) as reader:
            reader.subscribe(["v2"])
            assert read(reader, PARTITIONS) == ["commit"] * PARTITIONS
            assert reader.poll(1) is None
        with consumer(cluster, group) as successor:
            (committed,) = successor.committed([TopicPartition("input", 0)], 30)
            assert committed.offset == transactions.position
