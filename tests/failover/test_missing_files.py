"""Files are removed on one broker while it is stopped: it gets the records back from the others, and does not lead
where another replica has them.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.failover.writer import read_all
from tests.support.cluster import ClusterProcesses, eventually, running_cluster

pytestmark = pytest.mark.timeout(180)

TOPIC = "t"
COUNT = 30
SETTINGS = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "200",
    "controller.quorum.election.timeout.ms": "300",
    "controller.quorum.fetch.timeout.ms": "1000",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    with running_cluster(tmp_path_factory.mktemp("missing"), settings=SETTINGS) as cluster:
        cluster.create_topic(TOPIC, 1, **{"min.insync.replicas": "2", "segment.records": "10"})
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 0})
        for number in range(COUNT):
            producer.produce(TOPIC, b"%d" % number)
            assert producer.flush(30) == 0
        cluster.await_in_sync(TOPIC)
        yield cluster


def partition(cluster: ClusterProcesses, node: int) -> Path:
    return cluster.nodes[node].data_dir / f"{TOPIC}-0"


def records(cluster: ClusterProcesses, node: int) -> bytes:
    """All batches on a broker's disk, without preallocated room."""
    paths = sorted(partition(cluster, node).glob("*.log"))
    return b"".join(path.read_bytes().rstrip(b"\0") for path in paths)


def check_rebuilt(cluster: ClusterProcesses, node: int, whole: bytes) -> None:
    assert f"Lost records in {TOPIC}-0: offsets" in cluster.nodes[node].log_tail(100_000)
    cluster.await_in_sync(TOPIC)
    eventually(lambda: records(cluster, node) == whole, f"broker {node} has all records again")
    found = read_all(cluster.bootstrap, TOPIC, {0: COUNT})
    assert [value for _, value in found[0]] == [b"%d" % number for number in range(COUNT)]


@pytest.mark.parametrize("role", ["follower", "leader"])
@pytest.mark.parametrize("damage", ["middle segment", "directory"])
def test_a_broker_with_missing_files_fetches_the_records_from_the_others(
    cluster: ClusterProcesses, role: str, damage: str
) -> None:
    leader = cluster.leader_of(TOPIC)
    node = leader if role == "leader" else next(each for each in cluster.nodes if each != leader)
    whole = records(cluster, leader)
    cluster.nodes[node].terminate()
    if damage == "directory":
        shutil.rmtree(partition(cluster, node))
    else:
        (partition(cluster, node) / f"{10:020d}.log").unlink()
    cluster.nodes[node].start()
    check_rebuilt(cluster, node, whole)


def test_a_broker_alone_in_sync_that_lost_records_does_not_lead_before_the_others(
    cluster: ClusterProcesses,
) -> None:
    last = cluster.leader_of(TOPIC)
    whole = records(cluster, last)
    for node in cluster.nodes:
        if node != last:
            cluster.nodes[node].terminate()
    cluster.nodes[last].terminate()
    (partition(cluster, last) / f"{20:020d}.log").unlink()
    cluster.nodes[last].launch()
    for node in cluster.nodes:
        if node != last:
            cluster.nodes[node].launch()
    for node in cluster.nodes:
        cluster.nodes[node].await_ready()
    eventually(lambda: cluster.leader_of(TOPIC) not in (last, -1), "another leads")
    check_rebuilt(cluster, last, whole)
