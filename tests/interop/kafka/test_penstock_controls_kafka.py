"""A broker of Kafka in a cluster whose active controller is Penstock."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from penstock.cli.cluster.state import ClusterState, PartitionState
from penstock.cluster.metadata import replay
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.records import decode_batches
from tests.interop.kafka.mixed import segment_bytes
from tests.interop.kafka.rolling import RollingCluster
from tests.support.plugin import require_kafka

PENSTOCK, KAFKA, LATE = 1, 2, 3
TWO_REPLICAS = {
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "2",
    "share.coordinator.state.topic.min.isr": "1",
    "min.insync.replicas": "1",
    "metadata.log.max.record.bytes.between.snapshots": "20000",
}
_PROBLEM = re.compile(r" (ERROR|FATAL) .*(Metadata|Snapshot|Raft|QuorumController)|FaultHandler")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RollingCluster]:
    """A node of Penstock that is the only voter, and a broker of Kafka with two log directories."""
    directory = tmp_path_factory.mktemp("cluster")
    made = RollingCluster(directory, require_kafka(), 0, settings=TWO_REPLICAS)
    try:
        made.found(PENSTOCK)
        made.add_kafka_broker(KAFKA, **{"log.dirs": f"{directory}/disk-a,{directory}/disk-b"})
        yield made
    finally:
        made.close()


def admin_of_kafka(cluster: RollingCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.kafka[KAFKA].bootstrap, "log_level": 0})


def retention_of(admin: AdminClient, topic: str) -> str:
    found = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)])
    return str(next(iter(found.values())).result(20)["retention.ms"].value)


def partition(state: ClusterState, topic: str, number: int = 0) -> PartitionState:
    return next(each for each in state.partitions if (each.topic, each.partition) == (topic, number))


def metadata_on_disk(data_dir: Path) -> MetadataImage:
    """The metadata of a node from its files: the newest snapshot, and the log after it."""
    directory = data_dir / "__cluster_metadata-0"
    image = MetadataImage("cluster")
    snapshots = sorted(directory.glob("*.checkpoint"))
    end_offset = 0
    if snapshots:
        end_offset = int(snapshots[-1].name[:20])
        for _, records in decode_batches(snapshots[-1].read_bytes()):
            replay.apply(image, records, end_offset - 1)
    for last_offset, records in decode_batches(segment_bytes(directory)):
        if last_offset >= end_offset:
            replay.apply(image, records, last_offset)
    return image


def metadata_problems(log: Path) -> list[str]:
    """What Kafka's metadata loader, its snapshots or its quorum complained of."""
    return [line for line in log.read_text(errors="replace").splitlines() if _PROBLEM.search(line)]


def test_administrators_change_the_cluster_through_the_broker_of_kafka(cluster: RollingCluster) -> None:
    cluster.create_topic("made", [[KAFKA, PENSTOCK], [PENSTOCK, KAFKA]])
    admin = admin_of_kafka(cluster)
    change = ConfigEntry("retention.ms", "12345", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, "made", incremental_configs=[change])
    admin.incremental_alter_configs([resource])[resource].result(20)
    cluster.await_state(lambda _state: retention_of(admin, "made") == "12345")
    admin.create_partitions([NewPartitions("made", 4)])["made"].result(20)
    cluster.await_healthy()
    cluster.await_state(lambda _state: len(admin.list_topics("made", 20).topics["made"].partitions) == 4)
    with pytest.raises(KafkaException, match="already exists"):
        admin.create_topics([NewTopic("made", 1, 1)])["made"].result(20)


def test_records_are_replicated_in_both_directions_and_groups_work_on_either_node(
    cluster: RollingCluster,
) -> None:
    cluster.create_topic("both", [[KAFKA, PENSTOCK], [PENSTOCK, KAFKA]])
    for number in (0, 1):
        cluster.produce("both", number, b"to %d" % number)
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.kafka[KAFKA].bootstrap,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe(["both"])
    values: set[bytes] = set()
    while len(values) < 2:
        for message in consumer.consume(10, 1):
            assert message.error() is None, message.error()
            values.add(message.value())
    consumer.commit(asynchronous=False)
    places = [TopicPartition("both", each) for each in (0, 1)]
    assert [each.offset for each in consumer.committed(places, 20)] == [1, 1]
    consumer.close()
    assert values == {b"to 0", b"to 1"}
    assert all(set(each.in_sync) == {PENSTOCK, KAFKA} for each in cluster.await_healthy().partitions)


def test_a_transaction_spans_partitions_on_both_nodes(cluster: RollingCluster) -> None:
    cluster.create_topic("ledger", [[KAFKA, PENSTOCK], [PENSTOCK, KAFKA]])
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": "clerk", "log_level": 0})
    producer.init_transactions(60)
    for is_committed in (True, False):
        producer.begin_transaction()
        for number in (0, 1):
            producer.produce("ledger", b"%d" % is_committed, partition=number)
        producer.flush(30)
        (producer.commit_transaction if is_committed else producer.abort_transaction)(60)
    reader = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "auditor", "isolation.level": "read_committed"}
    )
    reader.assign([TopicPartition("ledger", each, 0) for each in (0, 1)])
    values: list[bytes] = []
    while len(values) < 2:
        values += [each.value() for each in reader.consume(10, 1) if each.error() is None]
    assert values == [b"1", b"1"]
    assert not [each for each in reader.consume(10, 2) if each.error() is None]
    reader.close()


def test_the_broker_reports_which_of_its_directories_holds_a_replica(cluster: RollingCluster) -> None:
    """Kafka spreads replicas over its directories; the controller does not know them until the broker says so."""
    for number in range(3):
        cluster.create_topic(f"spread-{number}", [[KAFKA]])
    held = {
        f"disk-{letter}": {path.name for path in (cluster.home / f"disk-{letter}").glob("spread-*")}
        for letter in "ab"
    }
    assert all(held.values())

    def known() -> set[bytes]:
        image = metadata_on_disk(cluster.penstock[PENSTOCK].data_dir)
        return {image.topics[f"spread-{number}"].partitions[0].directory_of(KAFKA) for number in range(3)}

    cluster.await_state(lambda _state: len(known()) == 2 and bytes(16) not in known())


def test_a_broker_that_stops_hands_over_its_leaderships_and_takes_part_again(cluster: RollingCluster) -> None:
    cluster.create_topic("stays", [[KAFKA, PENSTOCK]])
    cluster.kafka[KAFKA].terminate()
    led = cluster.await_state(lambda state: partition(state, "stays").leader == PENSTOCK)
    assert partition(led, "stays").in_sync == (PENSTOCK,)
    cluster.produce("stays", 0, b"while it was away")
    cluster.kafka[KAFKA].start()
    cluster.await_healthy()


def test_a_broker_that_crashes_is_fenced_and_takes_part_again(cluster: RollingCluster) -> None:
    cluster.create_topic("survives", [[KAFKA, PENSTOCK]])
    cluster.kafka[KAFKA].kill()
    cluster.await_state(lambda state: partition(state, "survives").leader == PENSTOCK)
    cluster.produce("survives", 0, b"while it was dead")
    cluster.kafka[KAFKA].start()
    cluster.await_healthy()


def test_kafka_loads_the_snapshots_of_penstock(cluster: RollingCluster) -> None:
    """A node that joins late gets a snapshot first, and has the same metadata."""
    cluster.create_topic("unsynced", [[PENSTOCK]], flush_messages="1000")
    cluster.change_topic("unsynced", "flush.messages", "1")  # a record of our own kind is written then
    for number in range(40):
        cluster.create_topic(f"many-{number}", [[PENSTOCK], [KAFKA]], retention_ms=str(1000 + number))
    log = cluster.penstock[PENSTOCK].data_dir / "__cluster_metadata-0"
    assert sorted(log.glob("*.checkpoint")), "Penstock has written no snapshot"
    late = cluster.add_kafka_voter(LATE)
    cluster.await_voters(PENSTOCK, LATE)
    assert sorted((late.data_dir / "__cluster_metadata-0").glob("*.checkpoint"))
    admin = AdminClient({"bootstrap.servers": late.bootstrap, "log_level": 0})
    topics = admin.list_topics(timeout=20).topics
    assert {f"many-{number}" for number in range(40)} <= topics.keys()
    assert [retention_of(admin, f"many-{number}") for number in (0, 39)] == ["1000", "1039"]
    for node in cluster.kafka.values():
        assert metadata_problems(node.log_path) == []
