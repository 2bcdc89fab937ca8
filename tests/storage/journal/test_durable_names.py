"""Records go into the journal only once the names of their segment's files are durable: recovery needs those files."""

import asyncio

import pytest

from penstock.storage.log.checkpoint import LogCheckpoint
from tests.storage.journal.store import Store
from tests.storage.journal.test_power_cuts import LARGE, SMALL_JOURNAL
from tests.storage.logs import NOW_MS, append, config_of

CAN_SYNC_ALL = pytest.mark.parametrize("can_sync_all", [True, False])


async def fill_journal(store: Store) -> None:
    """Write, without a record of partition 0, until files of the journal are reused."""
    for number in range(20):
        await store.write(f"{number}{LARGE}", [1 + number % 2])
        for _ in range(5):
            await asyncio.sleep(0)
    assert store.is_journal_used_again()


async def large_store(*, can_sync_all: bool) -> Store:
    """No segment has preallocated room: a sync of it would cover more than the records."""
    store = Store(3, journal_bytes=SMALL_JOURNAL)
    store.disk.can_sync_all = can_sync_all
    await store.write("first" + "x" * 20_000)
    await store.logs.checkpoint()
    return store


@CAN_SYNC_ALL
def test_a_segment_started_by_a_recovery_survives_the_reuse_of_the_journal(
    can_sync_all: bool,
) -> None:
    async def run() -> None:
        store = await large_store(can_sync_all=can_sync_all)
        await store.write("second", [0])
        await store.write("third", [0])
        store.configs[0] = config_of(segment_records=1)  # altered just before the crash
        await store.crash()
        await store.check()
        assert len(store.log(0).segments) > 1
        await fill_journal(store)
        await store.crash()
        await store.check()

    asyncio.run(run())


@CAN_SYNC_ALL
def test_records_of_a_new_segment_do_not_go_into_the_journal_while_a_checkpoint_syncs_its_names(
    can_sync_all: bool,
) -> None:
    async def run() -> None:
        store = await large_store(can_sync_all=can_sync_all)
        log = store.log(0)
        await store.write("second", [0])
        log.roll(now_ms=NOW_MS)
        append(log, "rolled")
        store.written[0].append("rolled")
        job = LogCheckpoint(log).begin()
        assert job is not None
        waiter = store.flusher.sync(log)
        for _ in range(10):
            await asyncio.sleep(0)
        assert not waiter.done()  # its sync waits for that of the checkpoint
        assert not log.may_journal
        job.run()
        LogCheckpoint(log).finish(job)
        await waiter
        store.note_acknowledged()
        await fill_journal(store)
        await store.crash()
        await store.check()

    asyncio.run(run())


@CAN_SYNC_ALL
def test_records_written_to_an_empty_segment_whose_name_a_kill_left_unsynced_are_kept(
    can_sync_all: bool,
) -> None:
    async def run() -> None:
        store = Store(1)
        store.disk.can_sync_all = can_sync_all
        await store.write("first" + "x" * 70_000)
        await store.logs.checkpoint()
        await store.write("journaled")
        store.log(0).roll(now_ms=NOW_MS)  # as compaction and retention do
        await store.kill()
        await store.write("y" * 70_000)  # synced by itself
        await store.crash()
        await store.check()

    asyncio.run(run())


@pytest.mark.parametrize("value", ["small", "y" * 70_000])
def test_records_written_to_an_empty_segment_of_a_clean_stop_are_kept(value: str) -> None:
    async def run() -> None:
        store = Store(1)
        await store.write("x" * 70_000)
        await store.logs.checkpoint()
        store.log(0).roll(now_ms=NOW_MS)
        await store.logs.close(store.flusher)
        store.disk = store.disk.kill()
        store.open()
        assert store.logs.was_clean
        await store.write(value)
        await store.crash()
        await store.check()

    asyncio.run(run())
