"""Directories of Kafka's that are refused: made from the recorded one, by appending what Kafka would have written."""

import asyncio
import shutil
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from penstock.cli.cluster.kafka_directory import inspect_directory
from penstock.cluster.kafka_directory import CannotTakeOver, inspect, require_takeover
from penstock.cluster.metadata.records import encode_batch
from penstock.cluster.raft.records import leader_change_batch, number_batches, voter_sets_in
from penstock.cluster.raft.values import ReplicaKey
from penstock.cluster.raft.voters import Voter, VoterSet
from penstock.config import broker as broker_config
from penstock.protocol.messages import metadata_records as mr
from penstock.protocol.messages import streams_group_metadata_record as streams
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.server.broker import Broker, StartFailed
from penstock.server.ports import real_ports
from penstock.storage.files import RealFileSystem
from tests.interop.kafka.record_directory import ARCHIVE

FILES = RealFileSystem()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "data"


def append(directory: Path, log: str, batch: bytes) -> None:
    """Append a batch to a log's only segment."""
    (path,) = (directory / log).glob("*.log")
    *_, (_, last) = iter_batches(path.read_bytes())
    numbered, _ = number_batches(batch, offset=last.next_offset, epoch=last.leader_epoch)
    with path.open("ab") as file:
        file.write(numbered)


def with_metadata(*records: mr.MetadataRecord) -> Callable[[Path], None]:
    return lambda directory: append(directory, "__cluster_metadata-0", encode_batch(records, 0, 30))


def with_directories(directory: Path) -> None:
    record = mr.RegisterBrokerRecord(broker_id=1, broker_epoch=10**6, log_dirs=[b"a" * 16, b"b" * 16])
    with_metadata(record)(directory)


def streams_group(value: bytes | None) -> bytes:
    key = streams.encode_key(streams.StreamsGroupMetadataKey(group_id="an-app"), 0)
    return build_batch([NewRecord(b"\0\x11" + key, value, (), 0)])


def with_streams_group(directory: Path) -> None:
    append(directory, "__consumer_offsets-0", streams_group(b"\0\0"))


def of_zookeeper(directory: Path) -> None:
    (directory / "meta.properties").write_text("#\n#Thu Nov 19\nbroker.id=1\nversion=0\ncluster.id=abc\n")


def without_metadata(directory: Path) -> None:
    shutil.rmtree(directory / "__cluster_metadata-0")


def of_the_future(directory: Path) -> None:
    append(directory, "__cluster_metadata-0", build_batch([NewRecord(value=b"\x01\x7f\x00", timestamp=0)]))


def damaged(directory: Path) -> None:
    (directory / "meta.properties").write_text("version=1\n")


REFUSED: Sequence[tuple[Callable[[Path], None], str]] = [
    (
        with_metadata(mr.FeatureLevelRecord(name="metadata.version", feature_level=31)),
        "level 31, which is too new",
    ),
    (
        with_metadata(mr.FeatureLevelRecord(name="metadata.version", feature_level=21)),
        "upgrade --release-version",
    ),
    (with_metadata(mr.FeatureLevelRecord(name="new.version", feature_level=1)), "new.version is at level 1"),
    (
        with_metadata(
            mr.ConfigRecord(
                resource_type=2, resource_name="empty", name="remote.storage.enable", value="true"
            )
        ),
        r"1 topics are tiered \(empty\)",
    ),
    (with_metadata(mr.DelegationTokenRecord(owner="User:a", token_id="t")), "1 delegation tokens"),
    (with_directories, "2 log directories, and Penstock uses one"),
    (with_streams_group, r"Kafka Streams \(an-app\)"),
    (of_zookeeper, "with ZooKeeper: migrate the cluster to KRaft"),
    (of_the_future, "may be of a newer Kafka: .* no metadata record has the key 127"),
    (damaged, "is not a version 1 meta.properties"),
]


@pytest.mark.parametrize(("change", "reason"), REFUSED)
def test_a_refused_directory_is_not_changed_at_all(
    directory: Path, change: Callable[[Path], None], reason: str
) -> None:
    change(directory)
    before = state(directory)
    with pytest.raises(CannotTakeOver, match=reason):
        require_takeover(FILES, str(directory))
    with pytest.raises(StartFailed, match=reason):
        asyncio.run(start(directory))
    found = inspect_directory(str(directory))
    assert len(found.refusals) == 1
    assert state(directory) == before


def test_a_static_quorum_of_several_voters_is_refused(directory: Path) -> None:
    only_static(directory)
    append(directory, "__cluster_metadata-0", leader_change(1, 2, 3))
    with pytest.raises(CannotTakeOver, match="nodes 2, 3 are controllers too, of a static quorum"):
        require_takeover(FILES, str(directory))


def test_a_static_quorum_of_one_becomes_a_dynamic_one(directory: Path) -> None:
    only_static(directory)
    found = inspect(FILES, str(directory))
    assert found.refusals == ()
    assert any("raises kraft.version to 1" in each for each in found.remarks)


def only_static(directory: Path) -> None:
    """Remove the records of voters, and the first snapshot, which has nothing else."""
    for snapshot in (directory / "__cluster_metadata-0").glob("*.checkpoint"):
        assert snapshot.name.startswith("0" * 20)
        snapshot.unlink()
    (log,) = (directory / "__cluster_metadata-0").glob("*.log")
    data = log.read_bytes()
    batches = [(header, data[at : at + header.size_bytes], at) for at, header in iter_batches(data)]
    kept = [batch for header, batch, at in batches if not list(voter_sets_in(data, at, header))]
    log.write_bytes(b"".join(kept))


def leader_change(*voter_ids: int) -> bytes:
    voters = VoterSet(Voter(key=ReplicaKey(each, bytes(16)), endpoints=()) for each in voter_ids)
    return leader_change_batch(voter_ids[0], voters, voter_ids, offset=0, epoch=9, timestamp=0)


def test_a_directory_of_another_node_is_not_changed_at_all(directory: Path) -> None:
    before = state(directory)
    with pytest.raises(StartFailed, match="belongs to node 1, and this is node 7"):
        asyncio.run(start(directory, "node.id=7"))
    assert state(directory) == before


def test_a_directory_without_a_metadata_log_is_refused(directory: Path) -> None:
    without_metadata(directory)
    found = inspect(FILES, str(directory))
    assert "__cluster_metadata-0 is missing" in found.refusals[0]


def test_a_deleted_streams_group_is_no_reason_to_refuse(directory: Path) -> None:
    with_streams_group(directory)
    append(directory, "__consumer_offsets-0", streams_group(None))
    assert inspect(FILES, str(directory)).refusals == ()


def test_a_torn_end_of_the_metadata_log_is_left_to_recovery(directory: Path) -> None:
    (path,) = (directory / "__cluster_metadata-0").glob("*.log")
    path.write_bytes(path.read_bytes()[:-5])
    (directory / ".kafka_cleanshutdown").unlink()
    found = inspect(FILES, str(directory))
    assert found.refusals == ()
    assert any("did not stop cleanly" in each for each in found.remarks)


def test_records_of_an_open_metadata_transaction_do_not_count(directory: Path) -> None:
    token = mr.DelegationTokenRecord(owner="User:a", token_id="t")
    with_metadata(mr.BeginTransactionRecord(name="n"), token)(directory)
    assert inspect(FILES, str(directory)).refusals == ()


async def start(directory: Path, *settings: str) -> None:
    own = ["listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={directory}", *settings]
    broker = Broker(broker_config.load(None, own), real_ports())
    await broker.start()
    await broker.stop()


def state(directory: Path) -> dict[str, tuple[int, int, int]]:
    stats = {str(each): each.stat() for each in [directory, *directory.rglob("*")]}
    return {path: (each.st_mode, each.st_size, each.st_mtime_ns) for path, each in stats.items()}
