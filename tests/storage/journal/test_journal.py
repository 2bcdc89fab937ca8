"""A journal on a failing or full disk: only durable records are acknowledged, and reads continue."""

import asyncio
import contextlib
import errno
from collections.abc import Callable
from typing import Literal

import pytest

from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.storage.errors import StorageError, StorageFailure
from penstock.storage.sync import SyncJob
from penstock_simulation.disk import Keep
from tests.storage.journal.store import Store
from tests.storage.logs import NOW_MS, append, read, values_in

FAULTS: list[tuple[Literal["sync", "write"], int, str]] = [
    ("sync", errno.EIO, "Input/output error"),
    ("write", errno.ENOSPC, "No space left on device"),
]


@pytest.mark.parametrize(("operation", "error", "reason"), FAULTS)
def test_a_journal_that_cannot_be_written_refuses_the_writes_of_every_partition_and_reads_continue(
    operation: Literal["sync", "write"], error: int, reason: str
) -> None:
    async def run() -> None:
        store = await Store.made()
        await store.write("second")
        store.disk.fail(operation, ".journal.", error=error)
        with pytest.raises(StorageFailure, match=rf"^the journal in /data could not be written \({reason}\)"):
            await store.write("refused", [0])
        store.disk.heal()
        for partition in store.partitions:
            with pytest.raises(StorageFailure, match="journal"):
                await store.write("refused too", [partition])
            with pytest.raises(StorageFailure, match="journal"):
                append(store.log(partition), "refused at once")
            found = read(store.log(partition), 0)
            assert values_in(found) == [f"{partition}-first", f"{partition}-second"]

    asyncio.run(run())


@pytest.mark.parametrize(("operation", "error", "reason"), FAULTS)
def test_a_journal_that_cannot_be_written_refuses_large_records_and_new_partitions_too(
    operation: Literal["sync", "write"], error: int, reason: str
) -> None:
    async def run() -> None:
        store = await Store.made()
        store.disk.fail(operation, ".journal.", error=error)
        with pytest.raises(StorageFailure, match=reason):
            await store.write("refused", [0])
        with pytest.raises(StorageFailure, match=reason):
            await store.write("." * 100_000, [1])
        store.topic_ids.append(store.topic_ids[0])
        store.written.append([])
        store.acknowledged.append([])
        with pytest.raises(StorageFailure, match=reason):
            await store.write("first of a new partition", [3])

    asyncio.run(run())


def test_all_acknowledged_records_are_recovered_after_a_failed_sync_of_the_journal() -> None:
    async def run() -> None:
        store = await Store.made()
        await store.write("second")
        fault = store.disk.fail("sync", ".journal.")
        with pytest.raises(StorageFailure):
            await store.write("refused")
        store.disk.heal(fault)
        await store.kill()
        await store.check()
        await store.write("after")
        await store.crash()
        await store.check()

    asyncio.run(run())


def test_a_failed_sync_of_the_file_system_leaves_no_hole_in_a_log_that_relied_on_the_journal() -> None:
    """The kernel marks pages that it could not write as clean: the next sync of the segment succeeds."""

    async def run() -> None:
        store = await Store.made()
        await store.write("journaled")
        fault = store.disk.fail("sync", "/t-0/")
        await store.logs.sync_opened()
        store.disk.heal(fault)
        with contextlib.suppress(StorageFailure):
            await store.write("behind it")
        await store.logs.checkpoint()
        await store.crash()
        await store.check()
        assert [len(each) for each in store.written] == [2, 2, 2]

    asyncio.run(run())


def test_after_a_failed_sync_of_the_file_system_every_partition_refuses_writes_and_serves_reads() -> None:
    async def run() -> None:
        store = await Store.made()
        await store.write("journaled")
        store.disk.fail("sync_all", times=1)
        await store.logs.sync_opened()
        reason = r"^the file system of /data could not be synced \(Input/output error\)"
        for partition in store.partitions:
            with pytest.raises(StorageFailure, match=reason):
                append(store.log(partition), "refused")
            assert values_in(read(store.log(partition), 0)) == [
                f"{partition}-first",
                f"{partition}-journaled",
            ]
        store.topic_ids.append(store.topic_ids[0])
        store.written.append([])
        with pytest.raises(StorageFailure, match=reason):
            await store.write("first of a new partition", [3])

    asyncio.run(run())


def test_a_round_is_not_acknowledged_when_a_sync_of_the_file_system_fails_during_it() -> None:
    """The pages that it could not write may be those of the journal."""

    async def run() -> None:
        store = await Store.made()
        store.slow_down_journal()
        store.disk.fail("sync", ".journal.", times=1)
        syncing = asyncio.ensure_future(store.logs.sync_opened())
        await asyncio.sleep(0)  # it has begun, without a log that needs it
        waiters = store.begin_write("refused")
        await syncing
        results = await asyncio.gather(*waiters, return_exceptions=True)
        assert [type(each) for each in results] == [StorageFailure] * 3
        await store.crash()
        await store.check()
        assert [len(each) for each in store.written] == [1, 1, 1]

    asyncio.run(run())


@pytest.mark.parametrize("seed", range(20))
def test_a_partial_write_on_a_full_disk_does_not_replace_later_records(
    seed: int,
) -> None:
    async def run() -> None:
        store = await Store.made(1, seed=seed)
        await store.write("second")
        log = store.log(0)
        batches = [build_batch([NewRecord(value=b"taken back")], base_offset=offset) for offset in (2, 3)]
        store.disk.set_capacity(store.disk.used_bytes + len(batches[0]) + 10, writes_in_part=True)
        with pytest.raises(StorageError):
            log.append_replicated(b"".join(batches), now_ms=NOW_MS)
        store.disk.set_capacity(None)
        await store.write("third")
        await store.write("fourth")
        await store.crash(Keep.PREFIX)
        await store.check()

    asyncio.run(run())


def refuse_write_during_sync(store: Store, then: Callable[[], object]) -> None:
    """The disk is full during the next sync of partition 0, and writes part of the batch at offset 2."""
    log = store.log(0)

    def refuse(path: str) -> None:
        if not path.endswith("0.log"):
            return
        store.disk.before_sync(None)
        batches = [build_batch([NewRecord(value=b"taken back")], base_offset=offset) for offset in (2, 3)]
        store.disk.set_capacity(store.disk.used_bytes + len(batches[0]) + 10, writes_in_part=True)
        with pytest.raises(StorageError):
            log.append_replicated(b"".join(batches), now_ms=NOW_MS)
        store.disk.set_capacity(None)
        then()

    store.disk.before_sync(refuse)


@pytest.mark.parametrize("keep", [Keep.PREFIX, Keep.PAGES])
@pytest.mark.parametrize("seed", range(20))
def test_a_partial_write_during_a_sync_does_not_replace_later_records_either(seed: int, keep: Keep) -> None:
    async def run() -> None:
        store = await Store.made(1, seed=seed)
        refuse_write_during_sync(store, lambda: None)
        await store.write("." * 100_000)  # too large for the journal: the segment is synced
        await store.write("third")
        await store.write("fourth")
        await store.crash(keep)
        await store.check()

    asyncio.run(run())


def test_after_a_partial_write_the_journal_gets_no_records_until_a_later_sync_has_ended() -> None:
    async def run() -> None:
        store = await Store.made(1)
        log = store.log(0)
        jobs: list[SyncJob] = []
        refuse_write_during_sync(store, lambda: jobs.append(log.begin_sync()))  # as a checkpoint does
        await store.write("." * 100_000)
        (waiter,) = store.begin_write("third")
        for _ in range(20):
            await asyncio.sleep(0)
        assert log.durable_offset == 2
        jobs[0].run()
        log.finish_sync(jobs[0])
        await waiter
        assert log.durable_offset == 3

    asyncio.run(run())


async def fill_journal(store: Store) -> None:
    """Write to partition 0 until the journal has to reuse a file."""
    for number in range(2000):
        await store.write(f"{number}" + "." * 200, [0])
        if number > 600 and store.is_journal_used_again():
            break


def test_no_journal_file_is_reused_while_a_segment_with_its_records_cannot_be_opened_for_a_sync() -> None:
    async def run() -> None:
        store = await Store.made(3, journal_bytes=64 << 10)
        await store.write("only in the journal", [1, 2])
        store.log(2).release()  # it was idle: its file is closed
        fault = store.disk.fail("open", "/t-2/", error=errno.EMFILE)
        await fill_journal(store)
        assert not store.is_journal_used_again()
        synced = store.log(1)
        assert synced.syncing is None  # the log before the bad one in the list
        assert synced.segments_durable_offset == synced.log_end_offset
        store.disk.heal(fault)
        await fill_journal(store)
        assert store.is_journal_used_again()
        await store.crash()
        await store.check()

    asyncio.run(run())


def test_records_in_a_journal_whose_segment_cannot_be_opened_survive_a_power_cut() -> None:
    async def run() -> None:
        store = await Store.made(2, journal_bytes=64 << 10)
        await store.write("only in the journal", [1])
        store.log(1).release()
        store.disk.fail("open", "/t-1/", error=errno.EMFILE)
        await fill_journal(store)
        await store.crash()
        await store.check()

    asyncio.run(run())


def test_a_log_whose_segment_cannot_be_opened_is_not_truncated_and_keeps_its_records() -> None:
    async def run() -> None:
        store = await Store.made(2)
        await store.write("second")
        await store.write("third")
        store.log(1).release()
        fault = store.disk.fail("open", "/t-1/", times=1)
        with pytest.raises(StorageError, match="could not be synced: nothing is truncated"):
            await store.logs.allow_truncation(store.log(1), 2)
        store.disk.heal(fault)
        await store.crash()
        await store.check()
        assert [len(each) for each in store.written] == [3, 3]
        await store.logs.allow_truncation(store.log(1), 2)

    asyncio.run(run())
