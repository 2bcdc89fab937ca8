"""Damaged batches: which ranges a check finds, and which bytes repair them."""

from pathlib import Path

import pytest

from penstock.storage.damage.damage import Damage, SegmentCheck, repairs
from penstock.storage.leader_epochs import EpochEntry, LeaderEpochs
from penstock.storage.log.log import Log
from tests.storage.damaged_log import (
    BASE_OFFSET,
    CONTENT,
    COUNT,
    EPOCH,
    EPOCH_SIGN,
    LENGTH,
    MAGIC,
    SIZE,
    content,
    damage,
    log_of_batches,
)

EPOCHS = LeaderEpochs([EpochEntry(0, 0)])


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return log_of_batches(tmp_path)


def found_in(data: bytearray, end_offset: int = COUNT) -> list[Damage]:
    def read_at(size_bytes: int, position: int) -> bytes:
        return bytes(data[position : position + size_bytes])

    check = SegmentCheck(read_at, 0, len(data), end_offset, EPOCHS)
    while not check.is_complete:
        check.run()
    return check.found


@pytest.mark.parametrize("place", [CONTENT, LENGTH, MAGIC, BASE_OFFSET, EPOCH, EPOCH_SIGN])
@pytest.mark.parametrize("offset", [0, 4, COUNT - 1])
def test_one_bad_batch_is_found_and_those_around_it_are_not(log: Log, offset: int, place: int) -> None:
    data = content(log)
    assert found_in(data) == []
    data[offset * SIZE + place] ^= 0x80
    assert found_in(data) == [damage(offset, offset)]


def test_neighbours_and_others_that_are_bad_are_found(log: Log) -> None:
    data = content(log)
    for offset in (2, 3, 7):
        data[offset * SIZE + CONTENT] ^= 1
    assert found_in(data) == [damage(2, 3), damage(7, 7)]


@pytest.mark.parametrize("flipped", [1, 2, 4, 8, 0x80])
def test_a_batch_with_a_wrong_offset_is_found_though_no_checksum_covers_it(log: Log, flipped: int) -> None:
    data = content(log)
    data[4 * SIZE + 7] ^= flipped
    assert found_in(data) == [damage(4, 4)]


def test_a_segment_without_a_valid_batch_is_damaged_as_a_whole() -> None:
    assert found_in(bytearray(5 * SIZE), 5) == [damage(0, 4)]


def test_only_the_original_batches_repair_a_range(log: Log) -> None:
    data = content(log)
    wanted = damage(2, 3)
    assert repairs(wanted, data[2 * SIZE : 4 * SIZE], EPOCHS)
    assert not repairs(wanted, data[2 * SIZE : 3 * SIZE], EPOCHS), "too few"
    assert not repairs(wanted, data[3 * SIZE : 5 * SIZE], EPOCHS), "others"
    assert not repairs(wanted, bytes(2 * SIZE), EPOCHS)
    others = LeaderEpochs([EpochEntry(1, 0), EpochEntry(2, 4)])
    assert not repairs(wanted, data[2 * SIZE : 4 * SIZE], others), "of another leader"
    data[2 * SIZE + CONTENT] ^= 1
    assert not repairs(wanted, data[2 * SIZE : 4 * SIZE], EPOCHS), "they are corrupted too"
