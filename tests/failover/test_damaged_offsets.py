"""A broker that becomes the coordinator of a damaged log first repairs it with another replica's records."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from penstock.protocol.records.batch import HEADER_SIZE, iter_batches
from tests.support.cluster import ClusterProcesses, eventually, running_cluster

pytestmark = pytest.mark.timeout(180)

TOPIC = "t"
OFFSETS = "__consumer_offsets"
GROUPS = [f"group-{number}" for number in range(6)]
SETTINGS = {"offsets.topic.num.partitions": "1", "penstock.log.scrub.interval.ms": "0"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterProcesses]:
    with running_cluster(tmp_path, settings=SETTINGS) as cluster:
        cluster.create_topic(TOPIC, 1)
        yield cluster


def consumer(cluster: ClusterProcesses, group: str) -> Consumer:
    return Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group, "log_level": 0})


def committed(cluster: ClusterProcesses, group: str) -> int:
    reader = consumer(cluster, group)
    try:
        (place,) = reader.committed([TopicPartition(TOPIC, 0)], timeout=30)
    except KafkaException:
        return -1  # no coordinator yet
    finally:
        reader.close()
    return int(place.offset)


def flip(cluster: ClusterProcesses, node: int, group: str) -> None:
    path = cluster.nodes[node].data_dir / f"{OFFSETS}-0" / f"{0:020d}.log"
    content = path.read_bytes()
    found = content.rindex(group.encode())
    position = max(at for at, _ in iter_batches(content[: found + HEADER_SIZE]) if at < found)
    with path.open("r+b") as file:
        file.seek(position + HEADER_SIZE + 4)
        file.write(bytes([content[position + HEADER_SIZE + 4] ^ 0x01]))


def test_no_commit_is_lost_when_a_replica_with_damaged_offsets_takes_over(cluster: ClusterProcesses) -> None:
    for number, group in enumerate(GROUPS):
        reader = consumer(cluster, group)
        reader.commit(offsets=[TopicPartition(TOPIC, 0, 10 + number)], asynchronous=False)
        reader.close()
    cluster.await_in_sync(OFFSETS)
    leader = cluster.leader_of(OFFSETS)
    first, second = (node for node in cluster.nodes if node != leader)
    flip(cluster, first, GROUPS[1])
    flip(cluster, second, GROUPS[4])
    cluster.nodes[leader].kill()
    eventually(lambda: cluster.leader_of(OFFSETS) in (first, second), "another broker leads the offsets")
    eventually(lambda: committed(cluster, GROUPS[0]) == 10, "the groups have a coordinator")
    assert [committed(cluster, group) for group in GROUPS] == [10 + number for number in range(len(GROUPS))]
