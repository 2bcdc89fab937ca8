import asyncio
import logging
from pathlib import Path

import pytest

from penstock.runtime.offload import InlineOffload
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.files import RealFileSystem
from penstock.storage.recovery.inventory import INVENTORY, LogInventory, SegmentInventory, read_inventory

EPOCH = 17
NAME = PartitionName("orders", 0)
LOG = LogInventory("orders", 0, "hcOe5cG2QSGmCF0bZ2hSRw", 0, 5, ((0, 100), (3, 50)))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory with one log, as in its inventory."""
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / f"{0:020d}.log").write_bytes(bytes(100))
    (tmp_path / "orders-0" / f"{3:020d}.log").write_bytes(bytes(50))
    SegmentInventory(RealFileSystem(), str(tmp_path), None).write(EPOCH, [LOG], ())
    return tmp_path


def inventory(data: Path, epoch: int | None = EPOCH) -> SegmentInventory:
    return SegmentInventory(RealFileSystem(), str(data), epoch)


def test_an_inventory_round_trips(data: Path) -> None:
    assert read_inventory(RealFileSystem(), str(data), EPOCH) == {NAME: LOG}
    assert inventory(data).take(NAME) == LOG


@pytest.mark.parametrize("epoch", [None, EPOCH + 1])
def test_an_inventory_counts_only_for_its_own_clean_stop(data: Path, epoch: int | None) -> None:
    assert inventory(data, epoch).take(NAME) is None


@pytest.mark.parametrize("position", [0, 9, 30, -3])
def test_a_flipped_bit_is_noticed(data: Path, position: int, caplog: pytest.LogCaptureFixture) -> None:
    content = bytearray((data / INVENTORY).read_bytes())
    content[position] ^= 0x01
    (data / INVENTORY).write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert inventory(data).take(NAME) is None
    assert "missing segments will not be detected" in caplog.text


def test_an_unmodified_log_has_not_changed(data: Path) -> None:
    (data / "orders-0" / f"{3:020d}.log").write_bytes(bytes(60))
    assert asyncio.run(inventory(data).changed(InlineOffload())) == []


@pytest.mark.parametrize("size_bytes", [None, 0, 49])
def test_a_log_with_a_missing_or_shorter_segment_has_changed(data: Path, size_bytes: int | None) -> None:
    path = data / "orders-0" / f"{3:020d}.log"
    path.unlink()
    if size_bytes is not None:
        path.write_bytes(bytes(size_bytes))
    assert asyncio.run(inventory(data).changed(InlineOffload())) == [NAME]


def test_entries_of_unopened_logs_are_kept(data: Path) -> None:
    inventory(data).write(EPOCH + 1, [], {NAME})
    assert inventory(data, EPOCH + 1).take(NAME) == LOG


def test_entries_of_deleted_logs_are_dropped(data: Path) -> None:
    inventory(data).write(EPOCH + 1, [], set())
    assert inventory(data, EPOCH + 1).take(NAME) is None
