from collections.abc import Iterator
from random import Random

import pytest

from penstock.cluster.quorum.snapshots import SnapshotFiles, file_name, snapshot_batches
from penstock.cluster.raft.values import LogPosition
from penstock.storage.errors import LogCorrupt
from penstock_simulation.disk import FaultyDisk

OLD, NEW = LogPosition(1, 100), LogPosition(1, 200)
PARTS = (b"first ", b"second")


@pytest.fixture
def disk() -> FaultyDisk:
    disk = FaultyDisk(Random(1))
    disk.make_dirs("/d")
    return disk


def test_a_snapshot_fetched_in_chunks_survives_the_removal_of_older_ones(
    disk: FaultyDisk,
) -> None:
    files = SnapshotFiles(disk, "/d")
    files.write(OLD, PARTS)
    files.write_chunk(NEW, 0, PARTS[0])
    files.remove_before(NEW)
    files.write_chunk(NEW, len(PARTS[0]), PARTS[1])
    files.finish(NEW)
    assert files.list() == [NEW]
    assert files.read(NEW, 0, 100)[0] == b"".join(PARTS)


def test_a_snapshot_being_written_is_complete_even_if_a_newer_one_is_installed_during_it(
    disk: FaultyDisk,
) -> None:
    files = SnapshotFiles(disk, "/d")

    def parts() -> Iterator[bytes]:
        yield PARTS[0]
        files.write_chunk(NEW, 0, b"new")
        files.finish(NEW)
        files.remove_before(NEW)
        yield PARTS[1]

    files.write(OLD, parts())
    assert files.read(OLD, 0, 100)[0] == b"".join(PARTS)
    files.remove_before(NEW)
    assert files.list() == [NEW]


def test_chunks_of_a_superseded_snapshot_are_removed(disk: FaultyDisk) -> None:
    files = SnapshotFiles(disk, "/d")
    files.write_chunk(OLD, 0, b"piece")
    files.write(NEW, PARTS)
    files.remove_before(NEW)
    assert disk.list("/d") == [file_name(NEW)]


def test_chunks_of_an_earlier_run_are_removed(disk: FaultyDisk) -> None:
    SnapshotFiles(disk, "/d").write_chunk(NEW, 0, b"piece")
    SnapshotFiles(disk, "/d").remove_partial()
    assert disk.list("/d") == []


def test_a_snapshot_may_be_removed_while_it_is_read(disk: FaultyDisk) -> None:
    """It is read in pieces of a megabyte."""
    files = SnapshotFiles(disk, "/d")
    state = next(snapshot_batches(OLD, None, (), timestamp=0))
    count = (2 << 20) // len(state)
    files.write(OLD, [state] * count)
    reading = files.batches(OLD)
    first = next(reading)
    files.remove_before(NEW)
    assert len(first + b"".join(reading)) == count * len(state)


@pytest.mark.parametrize("place", [20, 100, -5])
def test_the_error_of_a_damaged_snapshot_names_the_file_and_the_position(
    disk: FaultyDisk, place: int
) -> None:
    files = SnapshotFiles(disk, "/d")
    content = bytearray(b"".join(snapshot_batches(OLD, None, [], timestamp=0)))
    content[place] ^= 1
    files.write(OLD, [bytes(content)])
    refused = rf"/d/{file_name(OLD)}, the snapshot .* offset 100, is damaged at byte \d+: .* restore"
    with pytest.raises(LogCorrupt, match=refused):
        list(files.batches(OLD))


def test_the_error_of_a_torn_snapshot_names_the_file_and_the_position(disk: FaultyDisk) -> None:
    files = SnapshotFiles(disk, "/d")
    content = b"".join(snapshot_batches(OLD, None, [], timestamp=0))
    files.write(OLD, [content[:-3]])
    with pytest.raises(LogCorrupt, match=r"is damaged at byte \d+"):
        list(files.batches(OLD))
