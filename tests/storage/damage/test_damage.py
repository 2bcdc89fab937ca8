"""Bytes that rot: where they are found, what is still given, and what repairs them."""

import asyncio
from pathlib import Path

import pytest

from penstock.protocol.records.batch import HEADER_SIZE
from penstock.storage.damage.damage import Damage, SegmentCheck, repairs
from penstock.storage.errors import LogCorrupt
from penstock.storage.file_cache import FileCache
from penstock.storage.files import RealFileSystem
from penstock.storage.leader_epochs import EpochEntry, LeaderEpochs
from penstock.storage.log.log import Log
from penstock.storage.log.repair import LogRepair
from penstock.storage.log.values import LogSlice
from penstock.storage.recovery.loader import Checkpointed, load_log
from tests.storage.logs import (
    NOW_MS,
    append,
    batch_of,
    checkpoint,
    close,
    new_log,
    read,
    reopened,
    sync,
    values_in,
)

COUNT = 10
SIZE = len(batch_of("0"))
CONTENT, LENGTH, MAGIC, BASE_OFFSET, EPOCH, EPOCH_SIGN = HEADER_SIZE + 3, 9, 16, 6, 13, 12
EPOCHS = LeaderEpochs([EpochEntry(0, 0)])
LAST_OFFSET = 24
"""How many offsets a batch takes: seed 252 of the simulated clusters believed it, and cut what came behind."""


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = new_log(str(tmp_path), index_interval_bytes=100)
    for number in range(COUNT):
        append(log, str(number))
    sync(log)
    return log


def content(log: Log) -> bytearray:
    with open(log.segments[0].log_path, "rb") as file:
        return bytearray(file.read(log.segments[0].size_bytes))


def rot(log: Log, offset: int, place: int = CONTENT) -> None:
    position = offset * SIZE + place
    with open(log.segments[0].log_path, "r+b") as file:
        file.seek(position)
        old = file.read(1)[0]
        file.seek(position)
        file.write(bytes([old ^ 0x40]))


def check(log: Log) -> list[Damage]:
    async def rest() -> None:
        pass

    async def look() -> None:
        for segment in list(log.segments):
            await LogRepair(log).check(segment, rest)

    asyncio.run(look())
    return list(log.damaged)


def damage(first: int, last: int) -> Damage:
    return Damage(
        segment=0,
        position=first * SIZE,
        size_bytes=(last - first + 1) * SIZE,
        base_offset=first,
        next_offset=last + 1,
    )


def found_in(data: bytearray, end_offset: int = COUNT) -> list[Damage]:
    def read_at(size_bytes: int, position: int) -> bytes:
        return bytes(data[position : position + size_bytes])

    looking = SegmentCheck(read_at, 0, len(data), end_offset, EPOCHS)
    while not looking.is_complete:
        looking.run()
    return looking.found


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


def test_a_segment_of_which_nothing_is_left_is_bad_as_a_whole() -> None:
    assert found_in(bytearray(5 * SIZE), 5) == [damage(0, 4)]


def test_only_the_batches_that_stood_there_repair_it(log: Log) -> None:
    data = content(log)
    wanted = damage(2, 3)
    assert repairs(wanted, data[2 * SIZE : 4 * SIZE], EPOCHS)
    assert not repairs(wanted, data[2 * SIZE : 3 * SIZE], EPOCHS), "too few"
    assert not repairs(wanted, data[3 * SIZE : 5 * SIZE], EPOCHS), "others"
    assert not repairs(wanted, bytes(2 * SIZE), EPOCHS)
    others = LeaderEpochs([EpochEntry(1, 0), EpochEntry(2, 4)])
    assert not repairs(wanted, data[2 * SIZE : 4 * SIZE], others), "of another leader"
    data[2 * SIZE + CONTENT] ^= 1
    assert not repairs(wanted, data[2 * SIZE : 4 * SIZE], EPOCHS), "they have rotted too"


def test_what_is_damaged_is_not_given_and_all_else_is(log: Log) -> None:
    rot(log, 4)
    assert check(log) == [damage(4, 4)]
    assert values_in(read(log, 0)) == ["0", "1", "2", "3"]
    assert values_in(read(log, 5)) == ["5", "6", "7", "8", "9"]
    with pytest.raises(LogCorrupt, match="offsets 4 to 4"):
        read(log, 4)


@pytest.mark.parametrize("place", [CONTENT, LENGTH, MAGIC, BASE_OFFSET, LAST_OFFSET])
def test_a_damaged_header_hides_nothing_that_stands_behind_it(tmp_path: Path, place: int) -> None:
    log = new_log(str(tmp_path))
    for number in range(COUNT):
        append(log, str(number))
    close(log)
    rot(log, 4, place)
    again = reopened(log, was_clean=True)
    assert check(again) == [damage(4, 4)]
    assert values_in(read(again, 0)) == ["0", "1", "2", "3"]
    assert values_in(read(again, 5)) == ["5", "6", "7", "8", "9"]
    assert append(again, "10").base_offset == COUNT
    assert values_in(read(again, 5)) == ["5", "6", "7", "8", "9", "10"]


@pytest.mark.parametrize("place", [CONTENT, LENGTH])
def test_a_log_is_repaired_in_place_and_durable_with_the_next_sync(log: Log, place: int) -> None:
    sound = content(log)
    rot(log, 4, place)
    (found,) = check(log)
    assert not LogRepair(log).repair(found, sound[5 * SIZE : 6 * SIZE])
    assert LogRepair(log).repair(found, sound[4 * SIZE : 5 * SIZE])
    assert (content(log), list(log.damaged)) == (sound, [])
    assert log.has_unsynced
    assert values_in(read(log, 0)) == [str(number) for number in range(COUNT)]
    append(log, "10")
    assert values_in(read(log, 9)) == ["9", "10"]
    assert not LogRepair(log).repair(found, sound[4 * SIZE : 5 * SIZE]), "once"


@pytest.mark.parametrize("end", [3, 4, 5, 8])
@pytest.mark.parametrize("place", [CONTENT, LENGTH, MAGIC, BASE_OFFSET, LAST_OFFSET])
@pytest.mark.parametrize("interval_bytes", [100, 4096])
def test_a_damaged_header_keeps_nothing_from_being_cut(
    tmp_path: Path, end: int, place: int, interval_bytes: int
) -> None:
    """Cluster seed 1222: the batch to cut was not found, and stayed in the file in front of another."""
    log = new_log(str(tmp_path), index_interval_bytes=interval_bytes)
    for number in range(COUNT):
        append(log, str(number))
    sync(log)
    rot(log, 4, place)
    assert log.truncate_to(end, now_ms=NOW_MS) == end
    assert log.segments[0].size_bytes == end * SIZE
    assert append(log, "new").base_offset == end
    assert check(log) == ([damage(4, 4)] if end > 4 else [])


def test_damage_that_is_cut_off_is_gone(log: Log) -> None:
    rot(log, 7)
    check(log)
    log.truncate_to(6, now_ms=0)
    assert not log.damaged
    append(log, "again")
    assert values_in(read(log, 6)) == ["again"]


def test_a_read_from_the_disk_gives_what_is_sound_and_tells_of_the_rest(log: Log) -> None:
    close(log)
    rot(log, 4)
    again = reopened(log, was_clean=True, recovery_point=COUNT)
    suspicions: list[bool] = []
    again.on_suspicion = lambda: suspicions.append(True)

    def cold(offset: int) -> list[str]:
        return values_in(asyncio.run(again.read_cold(offset, 1 << 20, offset_limit=COUNT)))

    assert cold(0) == ["0", "1", "2", "3"]
    assert not suspicions
    with pytest.raises(LogCorrupt):
        cold(4)
    assert suspicions
    assert cold(5) == ["5", "6", "7", "8", "9"]


def test_a_read_from_memory_checks_what_this_process_did_not_write_if_that_is_wished(log: Log) -> None:
    close(log)
    rot(log, 4)
    again = reopened(log, was_clean=True, recovery_point=COUNT)
    suspicions: list[bool] = []
    again.on_suspicion = lambda: suspicions.append(True)
    found = again.read(0, 1 << 20, offset_limit=COUNT, check_crc=True)
    assert values_in(read(again, 0)) == [str(number) for number in range(COUNT)], (
        "a consumer checks by itself"
    )
    assert getattr(found, "next_offset", None) == 4
    with pytest.raises(LogCorrupt):
        again.read(4, 1 << 20, offset_limit=COUNT, check_crc=True)
    assert suspicions


@pytest.mark.parametrize("is_rolled", [False, True])
@pytest.mark.parametrize("bit", [0, 1, 2, 3, 7, 30, 62])
def test_a_batch_at_a_wrong_offset_is_not_given_to_a_follower(
    tmp_path: Path, bit: int, is_rolled: bool
) -> None:
    log = new_log(str(tmp_path))
    for number in range(COUNT):
        append(log, str(number))
        if is_rolled and number == 4:
            log.roll(now_ms=NOW_MS)
    close(log)
    with open(log.segments[0].log_path, "r+b") as file:
        file.seek(4 * SIZE)
        file.write((4 ^ 1 << bit).to_bytes(8, "big"))
    again = reopened(log, was_clean=True)
    before = again.read(0, 1 << 20, offset_limit=COUNT, check_crc=True)
    assert isinstance(before, LogSlice)
    assert values_in(before) in (["0", "1", "2"], ["0", "1", "2", "3"])
    with pytest.raises(LogCorrupt):
        again.read(4, 1 << 20, offset_limit=COUNT, check_crc=True)
    with pytest.raises(LogCorrupt):
        asyncio.run(again.read_cold(4, 1 << 20, offset_limit=COUNT))


def reopened_with(log: Log, committed_offset: int) -> Log:
    """After a crash, with the high watermark that was last written down; nothing was checkpointed."""
    cache = FileCache(RealFileSystem())
    checkpointed = Checkpointed(was_clean=False, recovery_point=0, committed_offset=committed_offset)
    loaded = load_log(cache, log.directory, log.config, checkpointed, NOW_MS)
    return Log(log.topic, log.partition, log.directory, log.config, loaded=loaded)


@pytest.mark.parametrize("place", [CONTENT, LENGTH, LAST_OFFSET, BASE_OFFSET])
def test_recovery_does_not_cut_what_was_committed_for_a_torn_write(log: Log, place: int) -> None:
    append(log, "new epoch", epoch=3)
    sync(log)
    rot(log, 4, place)
    again = reopened_with(log, committed_offset=5)
    assert (again.log_end_offset, list(again.damaged)) == (COUNT + 1, [damage(4, 4)])
    assert [(each.epoch, each.start_offset) for each in again.epochs.entries] == [(0, 0), (3, COUNT)]


def test_a_leader_epoch_that_begins_with_a_damaged_batch_is_known_all_the_same(log: Log) -> None:
    append(log, "x", epoch=3)
    append(log, "y", epoch=3)
    sync(log)
    rot(log, COUNT)
    again = reopened_with(log, committed_offset=COUNT + 1)
    assert [each.start_offset for each in again.epochs.entries] == [0, COUNT]


@pytest.mark.parametrize("epoch", [3, 4])
def test_a_leader_epoch_that_begins_where_nothing_could_be_read_is_known_when_it_is_repaired(
    log: Log, epoch: int
) -> None:
    append(log, "x", epoch=epoch)
    append(log, "y", epoch=4)
    sync(log)
    batch = content(log)[COUNT * SIZE : (COUNT + 1) * SIZE]
    rot(log, COUNT, LENGTH)
    again = reopened_with(log, committed_offset=COUNT + 1)
    assert again.epochs.entries == [(0, 0), (4, COUNT + 1)]
    assert LogRepair(again).repair(next(iter(again.damaged)), batch)
    assert again.epochs.entries == log.epochs.entries


def test_a_leader_epoch_that_has_rotted_is_not_believed(log: Log) -> None:
    rot(log, 4, EPOCH)
    again = reopened_with(log, committed_offset=COUNT)
    assert list(again.damaged) == [damage(4, 5)]  # either of the two may be the one whose epoch is wrong
    assert again.epochs.entries == [(0, 0)]


@pytest.mark.parametrize("epoch", [1, 1 << 22])  # what it becomes is higher than all, or lower
def test_a_leader_epoch_is_not_believed_when_its_batch_is_damaged_and_others_contradict_it(
    log: Log, epoch: int
) -> None:
    for number in range(4):
        append(log, str(number), epoch=epoch)
    sync(log)
    rot(log, COUNT + 1)
    rot(log, COUNT + 1, EPOCH)
    again = reopened_with(log, committed_offset=COUNT + 4)
    assert (again.log_end_offset, list(again.damaged)) == (COUNT + 4, [damage(COUNT + 1, COUNT + 1)])
    assert again.epochs.entries == [(0, 0), (epoch, COUNT)]


@pytest.mark.parametrize("place", [CONTENT, LENGTH, MAGIC, BASE_OFFSET])
def test_a_rotten_batch_at_the_end_of_a_segment_is_no_torn_write(log: Log, place: int) -> None:
    log.roll(now_ms=NOW_MS)
    append(log, "next")
    sync(log)
    rot(log, COUNT - 1, place)
    again = reopened_with(log, committed_offset=COUNT + 1)
    assert (again.log_end_offset, list(again.damaged)) == (COUNT + 1, [damage(COUNT - 1, COUNT - 1)])
    assert values_in(read(again, COUNT)) == ["next"]


def test_recovery_cuts_what_was_not_committed_and_what_nothing_follows(log: Log) -> None:
    rot(log, 7)
    again = reopened_with(log, committed_offset=7)
    assert (again.log_end_offset, list(again.damaged)) == (7, [])
    rot(log, 6)
    again = reopened_with(log, committed_offset=7)
    assert [(each.base_offset, each.next_offset) for each in again.damaged] == [(6, 7)]
    assert append(again, "next").base_offset == 7, "no other record gets the offset of a committed one"
    with pytest.raises(LogCorrupt):
        read(again, 6)


@pytest.mark.parametrize("place", [CONTENT, LENGTH, LAST_OFFSET, BASE_OFFSET])
def test_recovery_steps_over_damage_in_what_was_durable_and_tells_where_it_is(log: Log, place: int) -> None:
    checkpoint(log)
    rot(log, 4, place)
    for suffix in (".index", ".timeindex"):
        Path(log.segments[0].path(suffix)).unlink()
    again = reopened(log)
    assert (again.log_end_offset, list(again.damaged)) == (COUNT, [damage(4, 4)])
    assert len(again.damage) == 1


@pytest.mark.parametrize("place", [CONTENT, LAST_OFFSET, BASE_OFFSET])
def test_recovery_knows_where_a_log_ends_whose_last_batch_is_damaged(log: Log, place: int) -> None:
    checkpoint(log)
    rot(log, COUNT - 1, place)
    for suffix in (".index", ".timeindex"):
        Path(log.segments[0].path(suffix)).unlink()
    again = reopened(log)
    assert (again.log_end_offset, list(again.damaged)) == (COUNT, [damage(COUNT - 1, COUNT - 1)])


def test_a_read_does_not_pass_over_the_records_behind_a_wrong_offset(tmp_path: Path) -> None:
    log = new_log(str(tmp_path))
    for number in range(COUNT):
        append(log, str(number))
    sync(log)
    rot(log, 4, BASE_OFFSET)
    found = asyncio.run(log.read_cold(0, 1 << 20, offset_limit=COUNT))
    assert (values_in(found), found.next_offset) == (["0", "1", "2", "3"], 4)
