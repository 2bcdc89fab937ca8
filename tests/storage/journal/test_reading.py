"""Damage in the files of a journal: intact entries are used, and exactly the lost records are reported."""

import asyncio
import contextlib
import logging
from collections.abc import Callable

import pytest

from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.errors import DirectoryMismatch, LogCorrupt, StorageError
from penstock.storage.files import read_whole
from penstock.storage.journal.entries import ENTRY_BYTES, HEADER_BYTES, decode_entry, decode_header
from penstock.storage.journal.reading import PartitionId, read_journal
from penstock.storage.recovery.missing import report
from penstock_simulation.disk import FaultyDisk, Keep, PowerCut
from tests.storage.journal.store import DATA, JOURNAL, Store
from tests.storage.journal.test_journal_model import values_of
from tests.storage.journal.test_power_cuts import SMALL_JOURNAL, fill_files
from tests.storage.logs import config_of

OTHER = f"{DATA}/.journal.1"


async def written() -> Store:
    """Each partition has one record in its segment, and three in the journal."""
    store = await Store.made()
    for value in ("second", "third", "fourth"):
        await store.write(value)
    return store


def entry_at(disk: FaultyDisk, path: str, partition: int, base_offset: int) -> range:
    """The bytes of the entry with this record."""
    data = memoryview(read_whole(disk, path))
    crc, position = decode_header(data).crc, HEADER_BYTES
    while (entry := decode_entry(data, position, crc)) is not None:
        end = position + entry.size_bytes
        if (entry.partition, entry.base_offset) == (partition, base_offset) and entry.payload:
            return range(position, end)
        position = end
    raise AssertionError("no such entry")


def errors(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR)


def test_a_flipped_bit_in_any_byte_of_an_entry_loses_and_reports_only_its_records(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def flip(number: int) -> int:
        caplog.clear()
        store = await written()
        place = entry_at(store.disk, JOURNAL, 1, 2)
        store.disk.flip_bit(JOURNAL, place[number], number % 8)
        await store.crash()
        assert f"{JOURNAL} is damaged at byte {place.start}" in errors(caplog)
        assert await values_of(store.log(0)) == store.written[0]
        assert await values_of(store.log(1), 3) == ["1-fourth"]
        assert await values_of(store.log(2)) == store.written[2]
        assert report(PartitionName("t", 1), store.log(1).losses).startswith("offsets 2 to 2 (")
        with pytest.raises(LogCorrupt):
            await values_of(store.log(1))
        assert store.logs.has_lost_records
        assert not store.log(0).losses
        assert not store.log(2).losses
        return len(place)

    async def run() -> None:
        for number in range(1, await flip(0)):
            await flip(number)

    asyncio.run(run())


@pytest.mark.parametrize("later_rounds", [0, 40])
@pytest.mark.parametrize("corrupted", [(1,), (2,), (3,), (1, 3), (2, 4)])
def test_records_written_after_lost_ones_survive_the_next_power_cut(
    corrupted: tuple[int, ...], later_rounds: int
) -> None:
    async def run() -> None:
        store = await Store.made(journal_bytes=SMALL_JOURNAL)
        for number in range(1, 6):
            await store.write(f"{number}")
        for place in [entry_at(store.disk, JOURNAL, 1, offset) for offset in corrupted]:
            store.disk.flip_bit(JOURNAL, place[ENTRY_BYTES + 5])
        for _ in range(2):
            await store.crash()
            assert lost_offsets(store) == list(corrupted)
            await store.write("after")
            for _ in range(later_rounds):  # enough to reuse the files of the journal
                await store.write("." * 1000, [0])
        assert await values_of(store.log(1), corrupted[-1] + 1) == store.written[1][corrupted[-1] + 1 :]

    asyncio.run(run())


@pytest.mark.parametrize("is_refused", [False, True])
def test_records_after_lost_ones_survive_the_next_power_cut_while_producers_are_unverified(
    is_refused: bool,
) -> None:
    """A committed record is corrupted too: the producer state that it held is unknown."""

    async def run() -> None:
        store = await Store.made(2)
        await store.write("." * 70_000, [1])
        await store.write("." * 70_000, [1])
        await store.logs.save_high_watermarks({PartitionName("t", 1): 3})
        for value in "abc":
            await store.write(value, [1])
        await store.write("later than those", [0])
        store.disk = store.disk.crash()
        store.disk.flip_bit(JOURNAL, entry_at(store.disk, JOURNAL, 1, 4)[ENTRY_BYTES + 5])
        store.disk.flip_bit(f"{DATA}/t-1/{0:020d}.log", 500)
        if is_refused:
            fault = store.disk.fail("create", f"{DATA}/t-1/{0:020d}.index")
            with pytest.raises(StorageError):
                await store.recover()
            store.disk.heal(fault)
            store.disk = store.disk.crash()
        for value in ("first after", "second after"):
            await store.recover()
            assert lost_offsets(store) == [4]
            assert store.log(1).producers.unverified_from is not None
            await store.write(value, [1])
            store.disk = store.disk.crash()
        await store.recover()
        assert await values_of(store.log(1), 5) == store.written[1][5:]
        assert len(store.written[1]) == 8

    asyncio.run(run())


def lost_offsets(store: Store) -> list[int]:
    ranges = [(each.damage.base_offset, each.damage.next_offset) for each in store.log(1).losses]
    return [offset for begin, end in ranges for offset in range(begin, end)]


def test_a_flipped_bit_in_the_journal_loses_nothing_when_the_segments_have_all_records(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        store = await written()
        place = entry_at(store.disk, JOURNAL, 1, 1)
        store.disk.flip_bit(JOURNAL, place[ENTRY_BYTES])
        await store.kill()
        assert f"{JOURNAL} is damaged at byte {place.start}" in errors(caplog)
        assert await store.values() == store.written
        assert not any(store.log(partition).losses for partition in store.partitions)
        assert store.logs.suspects is None  # it opens all logs

    asyncio.run(run())


def test_the_lost_last_records_of_a_partition_are_reported_when_later_entries_are_intact(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        store = await written()
        await store.write("last of others", [0, 2])
        await store.write("very last of others", [0, 2])
        store.disk.flip_bit(JOURNAL, entry_at(store.disk, JOURNAL, 1, 3)[ENTRY_BYTES + 20])
        await store.crash()
        assert f"{JOURNAL} is damaged" in errors(caplog)
        assert report(PartitionName("t", 1), store.log(1).losses).startswith("offsets 3 to 3 (")
        assert store.log(1).log_end_offset == 4  # no other record gets that offset
        assert [await values_of(store.log(each)) for each in (0, 2)] == [store.written[0], store.written[2]]

    asyncio.run(run())


def corrupt_headers(disk: FaultyDisk, path: str) -> None:
    disk.flip_bit(path, 20)
    disk.flip_bit(path, 532)


def test_a_journal_file_with_corrupted_headers_is_reported_and_all_logs_are_recovered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        store = await written()
        corrupt_headers(store.disk, JOURNAL)
        await store.kill()
        assert f"{JOURNAL} cannot be read" in errors(caplog)
        assert store.logs.suspects is None
        assert await store.values() == store.written
        await store.write("after")
        await store.crash()
        assert await store.values() == store.written

    asyncio.run(run())


def test_a_journal_file_that_the_disk_cannot_read_is_reported_and_all_logs_are_recovered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        store = await written()
        store.disk = store.disk.kill()
        store.disk.fail("read", JOURNAL, begin=HEADER_BYTES)
        await store.recover()
        assert f"{JOURNAL} cannot be read: " in errors(caplog)
        assert store.logs.suspects is None
        assert await store.values() == store.written

    asyncio.run(run())


def test_a_lost_journal_file_with_records_that_no_segment_has_is_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        store = await written()
        corrupt_headers(store.disk, JOURNAL)
        await store.crash()
        assert f"{JOURNAL} cannot be read" in errors(caplog)
        assert store.logs.has_lost_records
        assert await store.values() == [["0-first"], ["1-first"], ["2-first"]]

    asyncio.run(run())


async def with_two_files() -> Store:
    """The journal has filled its first file, and writes into the second."""
    store = await Store.made(journal_bytes=SMALL_JOURNAL)
    await fill_files(store, 1)
    while not store.disk.exists(OTHER):
        await asyncio.sleep(0)
    await store.write("." * 3000, [0])
    assert entry_at(store.disk, OTHER, 0, 2)
    return store


def test_a_removed_journal_file_is_reported_and_all_logs_are_recovered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        store = await with_two_files()
        store.disk = store.disk.kill()
        store.disk.remove(JOURNAL)
        await store.recover()
        assert f"{DATA} has 1 of 2 journal files: the others were removed" in errors(caplog)
        assert store.logs.suspects is None
        assert await store.values() == store.written

    asyncio.run(run())


def test_a_removed_journal_file_is_noticed_even_if_there_is_a_spare_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        store = await with_two_files()
        while not store.disk.exists(f"{DATA}/.journal.2"):
            await store.write("." * 2900, [0])
        await store.write("last", [0])
        found = read_journal(store.disk, DATA)
        assert found.files[-1].number not in found.written
        store.disk = store.disk.kill()
        store.disk.remove(JOURNAL)
        await store.recover()
        assert f"{DATA} has 2 of 3 journal files: the others were removed" in errors(caplog)
        assert store.logs.suspects is None

    asyncio.run(run())


def test_a_removed_journal_file_is_not_reported_again_once_the_loss_is_registered() -> None:
    async def run() -> None:
        store = await with_two_files()
        store.disk = store.disk.kill()
        store.disk.remove(JOURNAL)
        await store.recover()
        assert store.logs.journal_damage
        for _ in range(3):
            await store.write("after")
            await store.crash()
            await store.check()
        assert not store.disk.exists(OTHER)

    asyncio.run(run())


def test_records_of_a_removed_journal_file_are_reported_when_no_segment_has_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        store = await with_two_files()
        store.disk = store.disk.crash()
        store.disk.remove(JOURNAL)
        await store.recover()
        assert f"{DATA} has 1 of 2 journal files: the others were removed" in errors(caplog)
        assert report(PartitionName("t", 0), store.log(0).losses).startswith("offsets 1 to 1 (")
        assert await values_of(store.log(0), 2) == store.written[0][2:]

    asyncio.run(run())


def test_a_shortened_journal_file_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        store = await with_two_files()
        store.disk = store.disk.kill()
        file = store.disk.open(JOURNAL)
        file.truncate(HEADER_BYTES + ENTRY_BYTES)
        file.close()
        await store.recover()
        assert f"{JOURNAL} is damaged at byte" in errors(caplog)
        assert await store.values() == store.written

    asyncio.run(run())


def test_a_corrupted_entry_in_the_second_last_round_is_damage_and_the_last_round_is_used(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        store = await written()
        await store.write("last", [0])
        place = entry_at(store.disk, JOURNAL, 2, 3)
        store.disk.flip_bit(JOURNAL, place[ENTRY_BYTES + 5])
        await store.crash()
        assert f"{JOURNAL} is damaged at byte {place.start}" in errors(caplog)
        assert store.logs.has_lost_records
        assert [await values_of(store.log(each)) for each in (0, 1)] == store.written[:2]
        assert report(PartitionName("t", 2), store.log(2).losses).startswith("offsets 3 to 3 (")

    asyncio.run(run())


@pytest.mark.parametrize("can_sync_all", [True, False])
def test_records_with_a_corrupted_entry_are_durable_in_the_segments_before_they_are_served(
    can_sync_all: bool,
) -> None:
    """After a kill they are in the page cache only, and the journal no longer has them."""

    async def run() -> None:
        store = Store(5, journal_bytes=64 << 20)
        store.disk.can_sync_all = can_sync_all
        await store.write("x" * 70_000)
        await store.logs.checkpoint()
        for value in "yzwv":
            await store.write(value * 18_000)
        store.disk.flip_bit(JOURNAL, entry_at(store.disk, JOURNAL, 1, 1)[ENTRY_BYTES + 100])
        await store.kill()
        assert store.logs.journal_damage
        await store.crash()
        await store.check()

    asyncio.run(run())


def test_rounds_torn_by_two_power_cuts_are_not_reported_as_damage() -> None:
    """The second cut comes before the first file is free: a partition of it could not be opened."""

    async def run(seed: int) -> None:
        store = await Store.made(5, seed=seed, journal_bytes=64 << 20)
        await store.write("ok")
        busy = store.begin_write("alone", [0])
        store.begin_write("t" * 1500, [1, 2, 3, 4])
        while not busy[0].done():
            await asyncio.sleep(0)
        store.note_acknowledged()
        store.disk = store.disk.crash(Keep.PAGES, page_bytes=512)
        store.open()
        with store.logs.deferred_syncs():
            logs = [store.log(partition) for partition in range(1, 5)]
        await store.logs.sync_opened()
        await store.logs.recovered({PartitionId(store.topic_ids[0], 0)})
        journal = store.logs.journal
        assert journal is not None
        for log in logs:
            store.written[log.partition] = await values_of(log)
        while not journal._position:
            store.begin_write("u" * 1500, [1, 2, 3])
            await asyncio.sleep(0)
        await store.crash(Keep.PAGES, page_bytes=512)
        assert store.logs.journal_damage == ()

    for seed in range(60):
        asyncio.run(run(seed))


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_power_cut_during_the_removal_of_journal_files_is_not_reported_as_damage(
    is_clean: bool,
) -> None:
    async def run(operation: int, seed: int) -> bool:
        store = await Store.made(seed=seed, journal_bytes=SMALL_JOURNAL)
        await fill_files(store)
        if is_clean:
            await store.logs.close(store.flusher)
        else:
            await drop_all(store)
        store.journal_bytes = 0
        store.disk = store.disk.kill()
        store.disk.cut_power_at(operation)
        with contextlib.suppress(PowerCut):
            store.open()
        has_power = store.disk.has_power
        store.journal_bytes = SMALL_JOURNAL
        await store.crash(Keep.PREFIX)
        await store.check()
        return has_power

    for seed in range(5):
        operation = 0
        while not asyncio.run(run(operation, seed)):
            operation += 1


async def drop_all(store: Store) -> None:
    """The journal holds nothing that a recovery needs."""
    for partition in store.partitions:
        await store.logs.drop("t", store.topic_ids[partition], partition)
        store.written[partition] = store.acknowledged[partition] = []


def test_a_journal_file_of_another_data_directory_is_refused() -> None:
    async def run() -> None:
        store, other = await written(), await Store.made(seed=2)
        content = read_whole(other.disk, JOURNAL)
        store.disk = store.disk.kill()
        file = store.disk.open(JOURNAL)
        file.write((content,), 0)
        file.close()
        with pytest.raises(DirectoryMismatch, match=f"{JOURNAL} is a journal file of another data directory"):
            await store.recover()

    asyncio.run(run())


def corrupt_entry(store: Store) -> None:
    store.disk.flip_bit(JOURNAL, entry_at(store.disk, JOURNAL, 1, 2)[5])


def corrupt_both_headers(store: Store) -> None:
    corrupt_headers(store.disk, JOURNAL)


def remove_file(store: Store) -> None:
    store.disk.remove(JOURNAL)
    store.disk.sync_dir(DATA)


@pytest.mark.parametrize("journal_bytes", [SMALL_JOURNAL, 0])
@pytest.mark.parametrize("damage", [corrupt_entry, corrupt_both_headers, remove_file])
def test_a_crash_before_lost_records_are_registered_keeps_the_evidence_of_them(
    damage: Callable[[Store], None], journal_bytes: int
) -> None:
    """Until then the broker writes metadata, which may fill many files of the journal."""

    async def run() -> None:
        store = await with_two_files() if damage is remove_file else await written()
        store.disk = store.disk.crash()
        damage(store)
        store.journal_bytes = journal_bytes
        for _ in range(3):
            await store.open_and_sync()
            assert store.logs.has_lost_records
            await fill_files(store, 6)
            store.disk = store.disk.crash()
        await store.open_and_sync()
        assert store.logs.has_lost_records
        assert store.logs.suspects is None
        await store.logs.recovered()
        await fill_files(store, 6)
        store.disk = store.disk.crash()
        await store.open_and_sync()
        assert store.logs.journal_damage == ()

    asyncio.run(run())


@pytest.mark.parametrize("keep", [Keep.NOTHING, Keep.EVERYTHING])
@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_a_crash_at_any_operation_before_a_lost_end_is_registered_leaves_the_evidence_of_it(
    policy: str, keep: Keep
) -> None:
    """A compacted log may have gaps, so that the one behind its lost records proves nothing."""

    async def run(operation: int) -> bool:
        store = Store(2)
        store.configs[1] = config_of(cleanup_policy=[policy])
        for _ in range(4):
            await store.write("." * 70_000)  # too much for the journal
        await store.logs.checkpoint()
        await store.logs.save_high_watermarks({PartitionName("t", 1): 4})
        store.disk = store.disk.crash()
        path = f"{DATA}/t-1/{0:020d}.log"
        with contextlib.closing(store.disk.open(path)) as file:
            file.truncate(store.disk.size(path) // 2)
            file.sync()
        store.disk.cut_power_at(operation)
        await store.until_power_cut(store.open_and_sync())
        has_power = store.disk.has_power
        for _ in range(2):
            store.disk = store.disk.crash(keep)
            await store.open_and_sync()
            assert store.logs.has_lost_records, f"power cut at operation {operation}"
            assert lost_offsets(store) == [2, 3]
        return has_power

    operation = 0
    while not asyncio.run(run(operation)):
        operation += 1
