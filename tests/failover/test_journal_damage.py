"""A broker with a damaged journal and segments without its records gets them back from the others."""

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
CORRUPTED = 15


def lose_unsynced_records(segment: Path) -> None:
    """As a power cut does: of the records of the journal the segment has the first few."""
    content = segment.read_bytes()
    positions = [position for position, _ in iter_batches(content.rstrip(b"\0"))]
    segment.write_bytes(content[: positions[KEPT]])


def corrupt_journal(data: Path) -> None:
    """Flip a bit of the record with the offset CORRUPTED, in its only copy."""
    for pieces in read_journal(RealFileSystem(), str(data)).pieces.values():
        for piece in pieces:
            text = b"value %d." % CORRUPTED
            if text not in bytes(piece.records):
                continue
            assert piece.base_offset <= CORRUPTED < piece.end_offset
            for path in data.glob(".journal.*"):
                content = bytearray(path.read_bytes())
                if (position := content.find(text)) >= 0:
                    content[position] ^= 1
                    path.write_bytes(content)
                    return
    raise AssertionError("the journal does not hold the record")


@pytest.mark.parametrize("role", ["follower", pytest.param("leader", marks=pytest.mark.soak)])
def test_a_broker_with_a_corrupted_journal_fetches_missing_records_from_the_others(
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
        corrupt_journal(data)
        lose_unsynced_records(data / f"{TOPIC}-0" / f"{0:020d}.log")
        cluster.nodes[node].start()
        check_whole(cluster, node, whole)


def check_whole(cluster: ClusterProcesses, node: int, whole: bytes) -> None:
    logged = cluster.nodes[node].log_tail(100_000)
    assert ".journal.0 is damaged at byte" in logged
    assert f"Lost records in {TOPIC}-0: offsets {CORRUPTED} to {CORRUPTED} " in logged
    cluster.await_in_sync(TOPIC)
    eventually(lambda: records(cluster, node) == whole, f"broker {node} has all records again")
    found = read_all(cluster.bootstrap, TOPIC, {0: COUNT})
    assert [value for _, value in found[0]] == [b"value %d." % number for number in range(COUNT)]
