"""A mirror between two clusters of this program."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

from penstock.embedded import Cluster
from tests.mirror.stage import Operator, Reader, await_value, eventually

QUICK = {
    "broker.heartbeat.interval.ms": 100,
    "broker.session.timeout.ms": 700,
    "replica.lag.time.max.ms": 500,
    "replica.fetch.backoff.ms": 100,
}


@pytest.fixture
def source() -> Iterator[Cluster]:
    with Cluster(1, config=QUICK) as cluster:
        yield cluster


@pytest.fixture
def target() -> Iterator[Cluster]:
    with Cluster(1, config=QUICK) as cluster:
        yield cluster


def operator_of(cluster: Cluster) -> Operator:
    return Operator(cluster.bootstrap_servers)


def produce(cluster: Cluster, topic: str, *values: bytes, partition: int = 0, **settings: object) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 0, **settings})
    errors: list[object] = []
    for value in values:
        producer.produce(topic, value, partition=partition, on_delivery=lambda error, _: errors.append(error))
    producer.flush(30)
    assert errors == [None] * len(values)


def begin_transaction(cluster: Cluster, transactional_id: str, topic: str, *values: bytes) -> Producer:
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": transactional_id}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    producer.flush(30)
    return producer


def values_of(cluster: Cluster, topic: str, *, committed_only: bool = False) -> list[bytes | None]:
    return [each.value for each in cluster.topic(topic).records(committed_only=committed_only)]


def test_records_and_aborted_transactions_arrive_byte_for_byte(source: Cluster, target: Cluster) -> None:
    source.create_topic("orders", 2)
    for number, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        settings = {"compression.type": codec, "enable.idempotence": True}
        produce(source, "orders", *(b"%d" % each for each in range(50)), partition=number % 2, **settings)
    begin_transaction(source, "kept", "orders", b"kept").commit_transaction(30)
    begin_transaction(source, "lost", "orders", b"lost").abort_transaction(30)
    operator_of(target).create(source.bootstrap_servers)
    operator_of(target).await_level(2)
    there, here = Reader(source.bootstrap_servers), Reader(target.bootstrap_servers)
    assert here.digests({"orders": 2}) == there.digests({"orders": 2})
    assert here.aborted("orders") == there.aborted("orders") != []
    assert values_of(target, "orders", committed_only=True) == values_of(
        source, "orders", committed_only=True
    )
    assert b"lost" not in values_of(target, "orders", committed_only=True)


def test_a_mirrored_topic_is_read_only_with_a_reason(source: Cluster, target: Cluster) -> None:
    source.create_topic("orders", 1)
    produce(source, "orders", b"one", b"two")
    operator_of(target).create(source.bootstrap_servers)
    operator_of(target).await_level(1)
    producer = Producer({"bootstrap.servers": target.bootstrap_servers})
    errors: list[str] = []
    producer.produce("orders", b"x", on_delivery=lambda error, _: errors.append(error.name()))
    producer.flush(30)
    assert errors == ["POLICY_VIOLATION"]
    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    for request in (
        admin.delete_records([TopicPartition("orders", 0, 1)]),
        admin.create_partitions([NewPartitions("orders", 3)]),
    ):
        with pytest.raises(KafkaException, match="POLICY_VIOLATION"):
            next(iter(request.values())).result(30)
    transactional = Producer({"bootstrap.servers": target.bootstrap_servers, "transactional.id": "t"})
    transactional.init_transactions(30)
    transactional.begin_transaction()
    transactional.produce("orders", b"x")
    with pytest.raises(KafkaException):
        transactional.commit_transaction(30)
    assert values_of(target, "orders") == [b"one", b"two"]


def test_new_topics_partitions_and_settings_follow(source: Cluster, target: Cluster) -> None:
    source.create_topic("orders-1", 1)
    operator = operator_of(target)
    operator.create(source.bootstrap_servers, "orders.*")
    operator.await_level(1)
    admin = AdminClient({"bootstrap.servers": source.bootstrap_servers})
    changes = [
        *admin.create_topics([NewTopic("orders-2", 2, 1, config={"retention.ms": "123456789"})]).values(),
        *admin.create_topics([NewTopic("other", 1, 1)]).values(),
        *admin.create_partitions([NewPartitions("orders-1", 3)]).values(),
    ]
    for change in changes:
        change.result(30)
    produce(source, "orders-1", b"new", partition=2)
    operator.await_level(5)
    assert values_of(target, "orders-1") == [b"new"]
    here = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    assert "other" not in here.list_topics(timeout=30).topics
    resource = ConfigResource(ConfigResource.Type.TOPIC, "orders-2")

    def retention_ms() -> str:
        (described,) = here.describe_configs([resource]).values()
        return str(described.result(30)["retention.ms"].value)

    assert retention_ms() == "123456789"
    change = ConfigEntry("retention.ms", "987654321", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, "orders-2", incremental_configs=[change])
    for each in admin.incremental_alter_configs([resource]).values():
        each.result(30)
    eventually(lambda: retention_ms() == "987654321", "the setting has not followed")


def test_a_promoted_topic_goes_on_at_the_next_offset(source: Cluster, target: Cluster) -> None:
    source.create_topic("orders", 1)
    produce(source, "orders", b"one", b"two", **{"enable.idempotence": True})
    operator = operator_of(target)
    operator.create(source.bootstrap_servers)
    operator.await_level(1)
    assert "orders-0 was promoted at offset 2\n" in operator.run("promote", "m")
    produce(target, "orders", b"three", **{"enable.idempotence": True})
    assert values_of(target, "orders") == [b"one", b"two", b"three"]
    assert operator.describe()["state"] == "promoted"
    operator.run("delete", "m")
    assert operator.run("list").strip() == "no mirrors"


def test_a_clean_promotion_waits_for_an_open_transaction_and_a_forced_one_drops_it(
    source: Cluster, target: Cluster
) -> None:
    source.create_topic("orders", 1)
    produce(source, "orders", b"one")
    open_transaction = begin_transaction(source, "open", "orders", b"two", b"three")
    operator = operator_of(target)
    operator.create(source.bootstrap_servers)
    operator.await_level(1)
    assert "a transaction is open since offset 1" in operator.fail("promote", "m", "--timeout", "2")
    assert values_of(target, "orders") == [b"one", b"two", b"three"]
    printed = operator.run("promote", "m", "--force")
    assert "orders-0 was promoted at offset 1, left behind 2 offset(s) of the source" in printed
    assert values_of(target, "orders") == [b"one"]
    produce(target, "orders", b"after")
    assert values_of(target, "orders", committed_only=True) == [b"one", b"after"]
    open_transaction.abort_transaction(30)


def test_a_promotion_that_waits_can_be_given_up(source: Cluster, target: Cluster) -> None:
    source.create_topic("orders", 1)
    waiting = begin_transaction(source, "open", "orders", b"one")
    operator = operator_of(target)
    operator.create(source.bootstrap_servers)
    operator.await_level(1)
    operator.fail("promote", "m", "--timeout", "1")
    operator.run("resume", "m")
    waiting.commit_transaction(30)
    produce(source, "orders", b"two")
    operator.await_level(1)
    assert operator.describe()["state"] == "running"
    assert values_of(target, "orders", committed_only=True) == [b"one", b"two"]


def test_a_paused_mirror_copies_nothing_until_it_is_resumed(source: Cluster, target: Cluster) -> None:
    source.create_topic("orders", 1)
    produce(source, "orders", b"one")
    operator = operator_of(target)
    operator.create(source.bootstrap_servers)
    operator.await_level(1)
    operator.run("pause", "m")
    eventually(lambda: operator.describe()["state"] == "paused", "it is not paused")
    produce(source, "orders", b"two")
    assert values_of(target, "orders") == [b"one"]
    operator.run("resume", "m")
    eventually(lambda: values_of(target, "orders") == [b"one", b"two"], "it does not copy again")


def test_a_group_that_moves_over_continues_at_its_offset(source: Cluster, target: Cluster) -> None:
    source.create_topic("orders", 1)
    produce(source, "orders", *(b"%d" % each for each in range(10)))
    settings = {"group.id": "billing", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": source.bootstrap_servers, **settings})
    consumer.subscribe(["orders"])
    for _ in range(4):
        await_value(lambda: consumer.poll(0.1), "there is no record")
    consumer.commit(asynchronous=False, offsets=[TopicPartition("orders", 0, 4, "here")])
    consumer.close()
    operator_of(target).create(source.bootstrap_servers)
    operator_of(target).await_level(1)
    moved = Consumer({"bootstrap.servers": target.bootstrap_servers, **settings})

    def committed() -> int:
        return int(moved.committed([TopicPartition("orders", 0)], timeout=30)[0].offset)

    eventually(lambda: committed() == 4, "the offset has not followed")
    moved.subscribe(["orders"])
    first = await_value(lambda: moved.poll(0.1), "there is no record")
    assert (first.offset(), first.value()) == (4, b"4")
    moved.commit(asynchronous=False, offsets=[TopicPartition("orders", 0, 9)])
    moved.close()


def test_what_cannot_be_mirrored_is_refused_and_changes_nothing(source: Cluster, target: Cluster) -> None:
    source.create_topic("orders", 1)
    target.create_topic("orders", 1)
    produce(target, "orders", b"mine")
    operator = operator_of(target)
    create = ("create", "m", "--topics", ".*", "--from")
    assert "orders: The topic exists here and is not a mirror" in operator.fail(
        *create, source.bootstrap_servers
    )
    assert "is this cluster itself" in operator.fail(*create, target.bootstrap_servers)
    assert "no connection to the broker at 127.0.0.1:1" in operator.fail(*create, "127.0.0.1:1")
    assert "Mirror name is invalid" in operator.fail("create", "a/b", "--topics", ".*", "--from", "x:1")
    assert "there is no mirror nope" in operator.fail("describe", "nope")
    assert operator.run("list").strip() == "no mirrors"
    assert values_of(target, "orders") == [b"mine"]


def test_a_topic_that_was_created_again_at_the_source_is_reported_and_kept(
    source: Cluster, target: Cluster
) -> None:
    source.create_topic("orders", 1)
    produce(source, "orders", b"one")
    operator = operator_of(target)
    operator.create(source.bootstrap_servers)
    operator.await_level(1)
    admin = AdminClient({"bootstrap.servers": source.bootstrap_servers})
    admin.delete_topics(["orders"])["orders"].result(30)
    source.create_topic("orders", 1)
    produce(source, "orders", b"other", b"and more")
    eventually(
        lambda: any("created again" in each for each in operator.describe()["failures"]),
        "the new topic is not noticed",
    )
    assert values_of(target, "orders") == [b"one"]
    here = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    here.delete_topics(["orders"])["orders"].result(30)
    eventually(
        lambda: [each["endOffset"] for each in operator.describe()["partitions"]] == [2],
        "the new topic is not copied",
    )
    assert values_of(target, "orders") == [b"other", b"and more"]


def test_the_old_source_becomes_the_mirror(source: Cluster, target: Cluster) -> None:
    source.create_topic("orders", 2)
    produce(source, "orders", b"one", b"two")
    operator = operator_of(target)
    operator.create(source.bootstrap_servers)
    operator.await_level(2)
    operator.run("promote", "m")
    produce(source, "orders", b"left behind")
    produce(target, "orders", b"three")
    assert "1 record offset(s) that are not here" in operator.fail("reverse", "m")
    operator.run("reverse", "m", "--discard")
    back = operator_of(source)
    back.await_level(2)
    assert values_of(source, "orders") == [b"one", b"two", b"three"]
    produce(target, "orders", b"four")
    eventually(lambda: values_of(source, "orders")[-1] == b"four", "it does not follow")
    there, here = Reader(target.bootstrap_servers), Reader(source.bootstrap_servers)
    assert here.digests({"orders": 2}) == there.digests({"orders": 2})
    back.run("promote", "m")
    produce(source, "orders", b"five")
    assert values_of(source, "orders") == [b"one", b"two", b"three", b"four", b"five"]
