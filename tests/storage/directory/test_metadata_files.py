from random import Random

import pytest

from penstock.storage.directory import metadata_files
from penstock.storage.directory.metadata_files import Meta
from penstock.storage.errors import DirectoryMismatch
from penstock.storage.files import read_whole
from penstock_simulation.disk import FaultyDisk

UUID = bytes(range(16))


@pytest.fixture
def disk() -> FaultyDisk:
    disk = FaultyDisk(Random(1))
    disk.make_dirs("/data/t-0")
    disk.sync_dir("/")
    disk.sync_dir("/data")
    return disk


def put(disk: FaultyDisk, path: str, content: bytes) -> None:
    file = disk.open(path, create=True)
    file.write((content,), 0)
    file.close()


def test_meta_properties_survive_a_power_cut(disk: FaultyDisk) -> None:
    meta = Meta(cluster_id="abc-_9", node_id=3, directory_id=UUID)
    metadata_files.write_meta(disk, "/data", meta)
    assert read_whole(disk, "/data/meta.properties") == (
        b"version=1\ncluster.id=abc-_9\nnode.id=3\ndirectory.id=AAECAwQFBgcICQoLDA0ODw\n"
    )
    assert metadata_files.read_meta(disk.crash(), "/data") == meta


def test_meta_properties_as_kafka_writes_them_are_read(disk: FaultyDisk) -> None:
    content = b"#\n#Sat Nov 15 06:00:00 UTC 2025\nnode.id=1\nversion=1\ncluster.id=4L6g3nShT-eMCtK--X86sw\n"
    put(disk, "/data/meta.properties", content)
    meta = metadata_files.read_meta(disk, "/data")
    assert meta is not None
    assert (meta.cluster_id, meta.node_id) == ("4L6g3nShT-eMCtK--X86sw", 1)


@pytest.mark.parametrize("content", [b"", b"version=2\nnode.id=1\ncluster.id=x\n", b"version=1\nnode.id=1\n"])
def test_other_properties_are_refused_with_advice(disk: FaultyDisk, content: bytes) -> None:
    put(disk, "/data/meta.properties", content)
    with pytest.raises(DirectoryMismatch, match="give another data directory"):
        metadata_files.read_meta(disk, "/data")


def test_a_topic_id_has_kafkas_format(disk: FaultyDisk) -> None:
    assert metadata_files.read_topic_id(disk, "/data/t-0") is None
    metadata_files.write_topic_id(disk, "/data/t-0", UUID)
    content = read_whole(disk, "/data/t-0/partition.metadata")
    assert content == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n"
    assert metadata_files.read_topic_id(disk, "/data/t-0") == UUID


@pytest.mark.parametrize("content", [b"", b"version: 0\n", b"version: 0\ntopic_id: AAECAw\n", b"\xff\xff"])
def test_a_damaged_topic_id_reads_as_none(disk: FaultyDisk, content: bytes) -> None:
    put(disk, "/data/t-0/partition.metadata", content)
    assert metadata_files.read_topic_id(disk, "/data/t-0") is None


def test_the_clean_shutdown_file_is_consumed_once_and_holds_the_broker_epoch(disk: FaultyDisk) -> None:
    assert metadata_files.take_clean_mark(disk, "/data") is None
    metadata_files.leave_clean_mark(disk, "/data", 17)
    disk = disk.crash()
    assert metadata_files.take_clean_mark(disk, "/data") == 17
    disk = disk.crash()
    assert metadata_files.take_clean_mark(disk, "/data") is None
    assert metadata_files.read_unregistered_start(disk, "/data") == 17
    metadata_files.remove_unregistered_start(disk, "/data")
    assert metadata_files.read_unregistered_start(disk.crash(), "/data") is None


@pytest.mark.parametrize("content", [b"", b"{}", b"?"])
def test_a_clean_shutdown_file_without_an_epoch_counts(disk: FaultyDisk, content: bytes) -> None:
    put(disk, f"/data/{metadata_files.CLEAN_SHUTDOWN}", content)
    assert metadata_files.take_clean_mark(disk, "/data") == -1


def test_a_uuid_round_trips_and_other_text_is_refused() -> None:
    identifier = bytes(range(16))
    assert metadata_files.decode_uuid(metadata_files.encode_uuid(identifier)) == identifier
    assert metadata_files.encode_uuid(bytes(16)) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert metadata_files.decode_uuid("AAAA") is None


def test_an_id_with_one_damaged_character_is_distinguished_from_another_id() -> None:
    drawn = bytes(range(16))
    flipped = bytes([drawn[0] ^ 0x20]) + drawn[1:]
    assert metadata_files.is_damaged_uuid(flipped, drawn)
    assert not metadata_files.is_damaged_uuid(drawn, drawn)
    assert not metadata_files.is_damaged_uuid(bytes(reversed(drawn)), drawn)
