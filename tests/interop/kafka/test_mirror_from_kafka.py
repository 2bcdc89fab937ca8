"""A mirror of Apache Kafka: every codec, transactions, compaction, retention, groups, ACLs, and faults under load."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from penstock.embedded import Cluster
from penstock.protocol.records.batch import iter_batches
from tests.mirror.stage import Operator, Reader, await_value, eventually
from tests.mirror.test_mirror_between_clusters import QUICK
from tests.mirror.test_mirror_under_faults import PARTITIONS, Traffic
from tests.support.kafka_node import KafkaNode
from tests.support.plugin import require_kafka

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_CLEAN_SOON = {
    "log.cleaner.backoff.ms": "200",
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "500",
    "file.delete.delay.ms": "500",
}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaNode]:
    node = KafkaNode(tmp_path_factory.mktemp("kafka"), require_kafka(), settings=_CLEAN_SOON)
    node.format()
    node.start()
    try:
        yield node
    finally:
        node.kill()


@pytest.fixture
def target() -> Iterator[Cluster]:
    settings: dict[str, str | int | float | bool] = {
        **QUICK,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
    }
    with Cluster(1, config=settings) as cluster:
        yield cluster


@pytest.fixture
def operator(target: Cluster) -> Operator:
    return Operator(target.bootstrap_servers)


@pytest.fixture
def admin(kafka: KafkaNode) -> AdminClient:
    return AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 2})


def done(requests: dict[Any, Any]) -> None:
    for request in requests.values():
        request.result(30)


def produce(kafka: KafkaNode, topic: str, count: int, partition: int = 0, **settings: object) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 20, **settings})
    for number in range(count):
        producer.produce(topic, b"value-%d " % number * 20, key=b"key-%d" % (number % 7), partition=partition)
    assert producer.flush(30) == 0


def transaction(kafka: KafkaNode, transactional_id: str, topic: str, *, is_committed: bool) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": transactional_id})
    producer.init_transactions(30)
    producer.begin_transaction()
    for number in range(10):
        producer.produce(topic, b"%s-%d" % (transactional_id.encode(), number), partition=0)
    producer.flush(30)
    end = producer.commit_transaction if is_committed else producer.abort_transaction
    end(30)


def committed_records(bootstrap: str, topic: str) -> list[tuple[int, int, bytes | None]]:
    """Offset, timestamp and value of each record that a client reads with read_committed."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "check",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    try:
        while (message := await_value(lambda: consumer.poll(0.2), "no end of the partition")).error() is None:
            found.append((message.offset(), message.timestamp()[1], message.value()))
    finally:
        consumer.close()
    return found


def test_every_codec_and_transactions_arrive_byte_for_byte(
    kafka: KafkaNode, target: Cluster, operator: Operator, admin: AdminClient
) -> None:
    done(admin.create_topics([NewTopic("codecs", len(CODECS), 1)]))
    for number, codec in enumerate(CODECS):
        produce(kafka, "codecs", 200, number, **{"compression.type": codec, "enable.idempotence": True})
    for name, is_committed in (("kept", True), ("lost", False), ("kept", True)):
        transaction(kafka, name, "codecs", is_committed=is_committed)
    operator.create(kafka.bootstrap, "codecs")
    operator.await_level(len(CODECS))
    there, here = Reader(kafka.bootstrap), Reader(target.bootstrap_servers)
    assert here.digests({"codecs": len(CODECS)}) == there.digests({"codecs": len(CODECS)})
    assert here.aborted("codecs") == there.aborted("codecs") != []
    records = committed_records(target.bootstrap_servers, "codecs")
    assert records == committed_records(kafka.bootstrap, "codecs")
    assert len(records) == 220


def test_the_gaps_of_compaction_are_copied_and_later_compaction_changes_nothing_here(
    kafka: KafkaNode, target: Cluster, operator: Operator, admin: AdminClient
) -> None:
    config = {
        "cleanup.policy": "compact",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "0",
    }
    done(admin.create_topics([NewTopic("compacted", 1, 1, config=config)]))
    there, here = Reader(kafka.bootstrap), Reader(target.bootstrap_servers)

    def write() -> None:
        produce(kafka, "compacted", 30, **{"batch.num.messages": 3})
        producer = Producer({"bootstrap.servers": kafka.bootstrap})
        producer.produce("compacted", None, key=b"key-3")
        producer.flush(30)

    def has_gaps() -> bool:
        write()
        return any(size > 3 for size in gaps(there.read("compacted")))

    eventually(has_gaps, "Kafka has not compacted the topic")
    operator.create(kafka.bootstrap, "compacted")
    operator.await_level(1)
    ends = [base for base, _ in spans(here.read("compacted"))]
    assert any(size > 3 for size in gaps(here.read("compacted")))
    write()
    operator.await_level(1)
    copied = here.read("compacted")
    target.kill(1)
    target.restart(1)
    assert here.read("compacted") == copied
    assert [base for base, _ in spans(here.read("compacted"))][: len(ends)] == ends
    values = {each[0]: each for each in committed_records(target.bootstrap_servers, "compacted")}
    for record in committed_records(kafka.bootstrap, "compacted"):
        assert values[record[0]] == record


def spans(batches: list[bytes]) -> list[tuple[int, int]]:
    headers = [header for each in batches for _, header in iter_batches(each)]
    return [(each.base_offset, each.next_offset) for each in headers]


def gaps(batches: list[bytes]) -> list[int]:
    """The number of offsets that are missing before each batch."""
    found = spans(batches)
    ends = [0, *(end for _, end in found)]
    return [base - end for (base, _), end in zip(found, ends, strict=False)]


def test_deleted_records_and_retention_at_the_source_are_followed(
    kafka: KafkaNode, target: Cluster, operator: Operator, admin: AdminClient
) -> None:
    done(
        admin.create_topics(
            [NewTopic("trimmed", 1, 1), NewTopic("expired", 1, 1, config={"segment.ms": "100"})]
        )
    )
    for topic in ("trimmed", "expired"):
        produce(kafka, topic, 50)
    done(admin.delete_records([TopicPartition("trimmed", 0, 12)]))
    operator.create(kafka.bootstrap, "trimmed,expired")
    operator.await_level(2)
    here, there = Reader(target.bootstrap_servers), Reader(kafka.bootstrap)
    eventually(lambda: here.offsets("trimmed") == (12, 50), "the start has not followed")
    done(admin.delete_records([TopicPartition("trimmed", 0, 30)]))
    eventually(lambda: here.offsets("trimmed") == (30, 50), "the start has not followed")
    assert here.read("trimmed") == there.read("trimmed")
    resource = ConfigResource(
        ConfigResource.Type.TOPIC, "expired", {"retention.ms": "1", "segment.ms": "100"}
    )
    done(admin.alter_configs([resource]))

    def is_expired() -> bool:
        produce(kafka, "expired", 1)
        return here.offsets("expired")[0] >= 50

    eventually(is_expired, "retention has not followed")


def test_a_mirror_that_was_paused_for_longer_than_the_retention_starts_over_at_the_log_start(
    kafka: KafkaNode, target: Cluster, operator: Operator, admin: AdminClient
) -> None:
    done(admin.create_topics([NewTopic("gone", 1, 1)]))
    produce(kafka, "gone", 10)
    operator.create(kafka.bootstrap, "gone")
    operator.await_level(1)
    operator.run("pause", "m")
    eventually(lambda: operator.describe()["state"] == "paused", "it is not paused")
    produce(kafka, "gone", 30)
    done(admin.delete_records([TopicPartition("gone", 0, 25)]))
    operator.run("resume", "m")
    here, there = Reader(target.bootstrap_servers), Reader(kafka.bootstrap)
    eventually(lambda: here.offsets("gone") == (25, 40), "it has not started over")
    assert here.read("gone") == there.read("gone")


def test_groups_of_both_protocols_move_over(
    kafka: KafkaNode, target: Cluster, operator: Operator, admin: AdminClient
) -> None:
    done(admin.create_topics([NewTopic("consumed", 1, 1)]))
    produce(kafka, "consumed", 40)
    for protocol, count in (("classic", 13), ("consumer", 17)):
        consumer = Consumer(settings_of(kafka.bootstrap, protocol))
        consumer.subscribe(["consumed"])
        for _ in range(count):
            await_value(partial(consumer.poll, 0.1), "there is no record")
        consumer.commit(asynchronous=False)
        consumer.close()
    operator.create(kafka.bootstrap, "consumed")
    operator.await_level(1)
    for protocol, count in (("classic", 13), ("consumer", 17)):
        moved = Consumer(settings_of(target.bootstrap_servers, protocol))
        eventually(partial(has_committed, moved, count), "the offset has not followed")
        moved.subscribe(["consumed"])
        first = await_value(partial(moved.poll, 0.1), "there is no record")
        assert first.offset() == count
        moved.close()


def has_committed(consumer: Consumer, offset: int) -> bool:
    (found,) = consumer.committed([TopicPartition("consumed", 0)], timeout=30)
    return bool(found.offset == offset)


def settings_of(bootstrap: str, protocol: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap,
        "group.id": f"group-{protocol}",
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }


def test_acls_follow_and_those_that_were_created_here_stay(
    kafka: KafkaNode, target: Cluster, operator: Operator, admin: AdminClient
) -> None:
    done(admin.create_topics([NewTopic("guarded", 1, 1)]))
    here = AdminClient({"bootstrap.servers": target.bootstrap_servers, "log_level": 2})
    alice, bob, own = (acl_of(user) for user in ("User:alice", "User:bob", "User:own"))
    done(admin.create_acls([alice]))
    done(here.create_acls([own]))

    def found() -> set[str]:
        anything = AclBindingFilter(
            ResourceType.ANY,
            None,
            ResourcePatternType.ANY,
            None,
            None,
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        return {each.principal for each in here.describe_acls(anything).result(30)}

    operator.create(kafka.bootstrap, "guarded")
    eventually(lambda: found() == {"User:alice", "User:own"}, "the ACL has not followed")
    done(admin.create_acls([bob]))
    eventually(lambda: found() == {"User:alice", "User:bob", "User:own"}, "the ACL has not followed")
    wanted = AclBindingFilter(
        ResourceType.TOPIC,
        "guarded",
        ResourcePatternType.LITERAL,
        "User:alice",
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    done(admin.delete_acls([wanted]))
    eventually(lambda: found() == {"User:bob", "User:own"}, "the deletion has not followed")


def acl_of(user: str) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        "guarded",
        ResourcePatternType.LITERAL,
        user,
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )


def test_partitions_stay_the_same_under_load_with_killed_brokers_and_a_cut_link(
    kafka: KafkaNode, admin: AdminClient
) -> None:
    done(admin.create_topics([NewTopic("loaded", PARTITIONS, 1)]))
    with Cluster(3, config=QUICK) as target:
        operator = Operator(target.bootstrap_servers)
        with Traffic(kafka.bootstrap, "loaded") as traffic:
            operator.create(kafka.bootstrap, "loaded")
            traffic.await_more(10)
            for number in range(PARTITIONS):
                leader = target.leader("loaded", number)
                target.kill(leader)
                traffic.await_more(10)
                target.restart(leader)
            for node in target.nodes.values():
                target._links.cut(node.port, kafka.port)
            traffic.await_more(10)
            target.heal()
            traffic.await_more(10)
        operator.await_level(PARTITIONS)
        there, here = Reader(kafka.bootstrap), Reader(target.bootstrap_servers)
        assert here.digests({"loaded": PARTITIONS}) == there.digests({"loaded": PARTITIONS})
        began_s = time.monotonic()
        operator.run("promote", "m")
        assert time.monotonic() - began_s < 60
        with Traffic(target.bootstrap_servers, "loaded") as moved:
            moved.await_more(3)
