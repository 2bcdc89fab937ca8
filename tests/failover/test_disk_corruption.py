"""Corrupted bytes on the disk of one broker are found, and repaired from the others."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.protocol.records.batch import HEADER_SIZE, BatchHeader, iter_batches
from tests.failover.writer import read_all
from tests.support.cluster import ClusterProcesses, eventually, running_cluster

pytestmark = pytest.mark.timeout(180)

TOPIC = "t"
BATCHES = 30
SETTINGS = {"penstock.log.scrub.interval.ms": "200"}
IN_CONTENT = HEADER_SIZE + 10
IN_LENGTH = 9


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    with running_cluster(tmp_path_factory.mktemp("corruption"), settings=SETTINGS) as cluster:
        cluster.create_topic(TOPIC, 1, **{"min.insync.replicas": "2"})
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 0})
        for number in range(BATCHES):
            producer.produce(TOPIC, f"{number:03d}".encode() * 100)
            assert producer.flush(30) == 0
        cluster.await_in_sync(TOPIC)
        yield cluster


def segment(cluster: ClusterProcesses, node: int) -> Path:
    return cluster.nodes[node].data_dir / f"{TOPIC}-0" / f"{0:020d}.log"


def whole(cluster: ClusterProcesses, node: int) -> bytes:
    """The batches without preallocated room."""
    content = segment(cluster, node).read_bytes()
    return content.rstrip(b"\0")


def corrupt(cluster: ClusterProcesses, node: int, sound: bytes, place: int) -> None:
    batches: list[tuple[int, BatchHeader]] = list(iter_batches(sound))
    position = batches[len(batches) // 2][0] + place
    with segment(cluster, node).open("r+b") as file:
        file.seek(position)
        file.write(bytes([sound[position] ^ 0x40]))


@pytest.fixture(scope="module")
def sound(cluster: ClusterProcesses) -> bytes:
    content = whole(cluster, 1)
    assert [whole(cluster, node) for node in (2, 3)] == [content] * 2
    return content


def check_repaired(cluster: ClusterProcesses, node: int, sound: bytes) -> None:
    eventually(lambda: whole(cluster, node).startswith(sound), f"the file of broker {node} is whole again")
    cluster.await_in_sync(TOPIC)
    assert [whole(cluster, each).startswith(sound) for each in cluster.nodes] == [True] * 3
    assert len(read_all(cluster.bootstrap, TOPIC, {0: BATCHES})[0]) == BATCHES


def follower(cluster: ClusterProcesses) -> int:
    return next(each for each in cluster.nodes if each != cluster.leader_of(TOPIC))


@pytest.mark.parametrize("place", [IN_CONTENT, IN_LENGTH])
def test_a_running_follower_repairs_corrupted_bytes(
    cluster: ClusterProcesses, sound: bytes, place: int
) -> None:
    node = follower(cluster)
    corrupt(cluster, node, sound, place)
    check_repaired(cluster, node, sound)


@pytest.mark.parametrize("place", [IN_CONTENT, IN_LENGTH])
def test_a_running_leader_repairs_corrupted_bytes_and_keeps_leading(
    cluster: ClusterProcesses, sound: bytes, place: int
) -> None:
    node = cluster.leader_of(TOPIC)
    corrupt(cluster, node, sound, place)
    check_repaired(cluster, node, sound)
    assert cluster.leader_of(TOPIC) == node


@pytest.mark.parametrize(
    ("who", "how"),
    [
        ("follower", "terminate"),
        ("leader", "kill"),
        pytest.param("follower", "kill", marks=pytest.mark.soak),
        pytest.param("leader", "terminate", marks=pytest.mark.soak),
    ],
)
def test_bytes_corrupted_while_a_broker_is_down_are_repaired_after_its_restart(
    cluster: ClusterProcesses, sound: bytes, who: str, how: str
) -> None:
    node = follower(cluster) if who == "follower" else cluster.leader_of(TOPIC)
    if how == "kill":
        cluster.nodes[node].kill()
    else:
        cluster.nodes[node].terminate()
    corrupt(cluster, node, sound, IN_CONTENT)
    eventually(lambda: cluster.leader_of(TOPIC) not in (node, -1), "another leads")
    cluster.nodes[node].start()
    check_repaired(cluster, node, sound)
