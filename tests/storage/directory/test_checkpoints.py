from random import Random

import pytest

from penstock.storage.directory.checkpoints import (
    CorruptCheckpointFile,
    PartitionName,
    decode_offsets,
    encode_offsets,
    read_offsets,
    write_offsets,
)
from penstock_simulation.disk import FaultyDisk


def test_a_checkpoint_has_kafkas_format() -> None:
    offsets = {PartitionName("orders", 0): 1_042, PartitionName("orders", 1): 998}
    assert encode_offsets(offsets) == b"0\n2\norders 0 1042\norders 1 998\n"


def test_a_checkpoint_round_trips() -> None:
    offsets = {PartitionName("a-b.c", 12): 2**62}
    assert decode_offsets(encode_offsets(offsets)) == offsets
    assert decode_offsets(encode_offsets({})) == {}
    assert decode_offsets(b"") == {}


@pytest.mark.parametrize(
    "content",
    [b"1\n0\n", b"0\n2\na 0 1\n", b"0\n1\na 0\n", b"0\n1\na 0 -1\n", b"0\n1\na 0 x\n", b"\xff\xfe", b"0\n"],
)
def test_anything_else_is_refused(content: bytes) -> None:
    with pytest.raises(CorruptCheckpointFile):
        decode_offsets(content)


def test_a_missing_file_holds_no_offsets_and_a_written_one_survives_a_power_cut() -> None:
    disk = FaultyDisk(Random(1))
    disk.make_dirs("/data")
    disk.sync_dir("/")
    assert read_offsets(disk, "/data/x") is None
    write_offsets(disk, "/data/x", {PartitionName("t", 0): 5})
    assert read_offsets(disk.crash(), "/data/x") == {PartitionName("t", 0): 5}


@pytest.mark.parametrize(
    ("directory", "name"),
    [
        ("orders-0", ("orders", 0)),
        ("a-b-12", ("a-b", 12)),
        ("__cluster_metadata-0", ("__cluster_metadata", 0)),
        ("orders-0.0123abcd-delete", None),
        ("orders-0.0123abcd-stray", None),
        ("orders", None),
        ("-1", None),
        ("orders-01", None),
        ("meta.properties", None),
    ],
)
def test_the_name_of_a_directory_gives_its_partition(directory: str, name: tuple[str, int] | None) -> None:
    assert PartitionName.parse(directory) == name
    if name is not None:
        assert PartitionName(*name).directory == directory
