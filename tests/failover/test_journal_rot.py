"""A broker whose journal rotted, and whose segments lost what only the journal had, gets it back from the others."""

from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.protocol.records.batch import iter_batches
from penstock.storage.files import RealFileSystem
from penstock.storage.journal.reading import read_journal
from tests.failover.test_missing_files import SETTINGS, records
from tests.failover.writer import read_all
from tests.support.cluster import ClusterProcesses, eventually, running_cluster

pytestmark = pytest.mark.timeout(180)

TOPIC = "t"
COUNT = 30
KEPT = 10
ROTTEN = 15


def lose_what_was_not_synced(segment: Path) -> None:
    """As a power cut does: of the records of the journal the segment has the first few."""
    content = segment.read_bytes()
    positions = [position for position, _ in iter_batches(content.rstrip(b"\0"))]
    segment.write_bytes(content[: positions[KEPT]])


def rot_in_journal(data: Path) -> None:
    """Flip a bit of the record with the offset ROTTEN, in its only copy."""
    for pieces in read_journal(RealFileSystem(), str(data)).pieces.values():
        for piece in pieces:
            text = b"value %d." % ROTTEN
            if text not in bytes(piece.records):
                continue
            assert piece.base_offset <= ROTTEN < piece.end_offset
            for path in data.glob(".journal.*"):
                content = bytearray(path.read_bytes())
                if (position := content.find(text)) >= 0:
                    content[position] ^= 1
                    path.write_bytes(content)
                    return
    raise AssertionError("the journal does not hold the record")


@pytest.mark.parametrize("role", ["follower", pytest.param("leader", marks=pytest.mark.soak)])
def test_a_broker_with_a_rotten_journal_fetches_what_it_lacks_from_the_others(
    tmp_path: Path, role: str
) -> None:
    with running_cluster(tmp_path, settings=SETTINGS) as cluster:
        cluster.create_topic(TOPIC, 1, **{"min.insync.replicas": "2"})
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 0})
        for number in range(COUNT):
            producer.produce(TOPIC, b"value %d." % number)
            assert producer.flush(30) == 0
        cluster.await_in_sync(TOPIC)
        leader = cluster.leader_of(TOPIC)
        whole = records(cluster, leader)
        node = leader if role == "leader" else next(each for each in cluster.nodes if each != leader)
        cluster.nodes[node].kill()
        data = cluster.nodes[node].data_dir
        rot_in_journal(data)
        lose_what_was_not_synced(data / f"{TOPIC}-0" / f"{0:020d}.log")
        cluster.nodes[node].start()
        check_whole(cluster, node, whole)


def check_whole(cluster: ClusterProcesses, node: int, whole: bytes) -> None:
    said = cluster.nodes[node].log_tail(100_000)
    assert ".journal.0 is damaged at byte" in said
    assert f"{TOPIC}-0 has lost offsets {ROTTEN} to {ROTTEN}" in said
    cluster.await_in_sync(TOPIC)
    eventually(lambda: records(cluster, node) == whole, f"broker {node} has all records again")
    found = read_all(cluster.bootstrap, TOPIC, {0: COUNT})
    assert [value for _, value in found[0]] == [b"value %d." % number for number in range(COUNT)]
