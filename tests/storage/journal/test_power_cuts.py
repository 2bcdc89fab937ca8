"""Power cuts during a journal's rounds, checkpoints, reuse of files, and recovery."""

import asyncio

import pytest

from penstock_simulation.disk import Keep
from tests.storage.journal.store import JOURNAL, Store
from tests.storage.logs import NOW_MS

LARGE = "." * 4000
SMALL_JOURNAL = 32_768
"""Its files hold 7,168 bytes of entries each: one round with one large record."""


async def store_in_a_round(seed: int = 1) -> Store:
    """Some rounds of the journal are durable, the next, with two entries, is written and not synced.

    No segment has any of these records.
    """
    store = await Store.made(2, seed=seed)
    await store.write("journaled")
    busy = store.begin_write("alone", [0])
    store.begin_write("torn")
    while not busy[0].done():
        await asyncio.sleep(0)
    store.note_acknowledged()
    return store


def test_a_power_cut_at_any_byte_of_a_round_loses_no_acknowledged_record() -> None:
    async def cut(kept_bytes: int) -> int:
        """The number of partitions that then have the records of the torn round."""
        store = await store_in_a_round()
        store.disk = store.disk.crash(torn={JOURNAL: kept_bytes})
        await store.recover()
        await store.check()
        return sum(values[-1].endswith("torn") for values in store.written)

    async def run() -> list[int]:
        round_bytes = (await store_in_a_round()).disk.unsynced_bytes(JOURNAL)
        return [await cut(kept_bytes) for kept_bytes in range(round_bytes + 1)]

    counts = asyncio.run(run())
    assert counts == sorted(counts)  # a round is cut behind its last whole entry
    assert set(counts) == {0, 1, 2}


@pytest.mark.parametrize("page_bytes", [16, 128])
def test_a_round_written_in_part_and_in_any_order_is_cut_and_not_reported_as_damage(
    page_bytes: int,
) -> None:
    async def run(seed: int) -> None:
        store = await store_in_a_round(seed)
        await store.crash(Keep.PAGES, page_bytes=page_bytes)
        await store.check()
        await store.write("after")
        await store.crash()
        await store.check()

    for seed in range(40):
        asyncio.run(run(seed))


async def fill_files(store: Store, rounds: int = 12) -> None:
    """The records of partition 0 are in the first file only: nothing but its checkpoint syncs their segment."""
    await store.write("in the first file", [0])
    for number in range(rounds):
        await store.write(f"{number}{LARGE}", [1 + number % 2])


def test_a_power_cut_at_any_operation_of_checkpoints_and_reuse_loses_no_acknowledged_record() -> None:
    async def cut(operation: int, keep: Keep) -> int:
        store = await Store.made(journal_bytes=SMALL_JOURNAL)
        first = store.disk.operation_count
        store.disk.cut_power_at(operation)
        await store.until_power_cut(fill_files(store))
        count = store.disk.operation_count - first
        store.note_acknowledged()
        assert not store.disk.has_power or store.is_journal_used_again()
        await store.crash(keep)
        await store.check()
        return count

    async def run() -> None:
        count = await cut(1 << 60, Keep.NOTHING)
        for operation in range(count):
            for keep in (Keep.NOTHING, Keep.PREFIX, Keep.EVERYTHING):
                await cut(operation, keep)

    asyncio.run(run())


def test_entries_of_an_earlier_use_of_a_file_are_ignored() -> None:
    """All entries have one length, so that those of an earlier use begin where the last new one ends."""

    async def run(count: int) -> bool:
        store = await Store.made(journal_bytes=SMALL_JOURNAL)
        for number in range(count):
            await store.write(f"{number:02}{LARGE[:1000]}", [number % 3])
        is_used_again = store.is_journal_used_again()
        await store.crash()
        await store.check()
        return is_used_again

    used_again = [asyncio.run(run(count)) for count in range(15, 40)]
    assert any(used_again)


def test_a_recovery_interrupted_by_a_power_cut_at_any_operation_is_completed_by_the_next() -> None:
    async def crashed() -> Store:
        store = await Store.made(journal_bytes=SMALL_JOURNAL)
        await fill_files(store, 5)
        await store.write("last")
        store.disk = store.disk.crash()
        return store

    async def cut(operation: int, keep: Keep) -> int:
        store = await crashed()
        store.disk.cut_power_at(operation)
        await store.until_power_cut(store.recover())
        count = store.disk.operation_count
        await store.crash(keep)
        await store.check()
        await store.write("after")
        await store.crash()
        await store.check()
        return count

    async def run() -> None:
        count = await cut(1 << 60, Keep.NOTHING)
        for operation in range(count):
            for keep in (Keep.NOTHING, Keep.PREFIX, Keep.EVERYTHING):
                await cut(operation, keep)

    asyncio.run(run())


def test_a_broker_stopped_before_it_has_recovered_leaves_the_journal_to_the_next_start() -> None:
    async def run() -> None:
        store = await Store.made()
        await store.write("journaled")
        store.disk = store.disk.crash()
        store.open()
        store.log(0)
        await store.logs.close(store.flusher)
        await store.recover()
        await store.check()

    asyncio.run(run())


@pytest.mark.parametrize("value", ["small", "." * 100_000])
def test_a_segment_started_just_before_a_kill_survives_a_later_power_cut(value: str) -> None:
    """Its name is in the page cache only."""

    async def run() -> None:
        store = await Store.made()
        await store.logs.checkpoint()
        await store.write("second")
        store.log(1).roll(now_ms=NOW_MS)
        await store.kill()
        await store.write(value)
        await store.crash()
        await store.check()

    asyncio.run(run())


def test_no_record_goes_into_the_journal_while_the_name_of_its_segment_is_being_synced() -> None:
    async def run() -> None:
        store = await Store.made(1)
        log = store.log(0)
        log.roll(now_ms=NOW_MS)
        checkpoint = log.begin_sync()
        (waiter,) = store.begin_write("second")
        for _ in range(20):
            await asyncio.sleep(0)
        assert log.durable_offset == 1
        checkpoint.run()
        log.finish_sync(checkpoint)
        await waiter
        assert log.durable_offset == 2

    asyncio.run(run())
