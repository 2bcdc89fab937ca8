"""Truncated records and records of deleted partitions do not reappear from the journal."""

import asyncio
import errno
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from penstock.storage.directory.checkpoints import HIGH_WATERMARKS, RECOVERY_POINTS, PartitionName
from penstock.storage.errors import StorageError
from penstock.storage.journal.reading import PartitionId, list_files, read_journal
from penstock.storage.log.log import Log
from penstock.testing.offload import LoopOffload
from penstock_simulation.disk import FaultyDisk, Keep
from tests.storage.journal.store import DATA, OTHER_TOPIC_ID, TOPIC_ID, Store
from tests.storage.journal.test_journal_model import values_of
from tests.storage.journal.test_power_cuts import LARGE, SMALL_JOURNAL
from tests.storage.logs import NOW_MS, append, config_of

T = TypeVar("T")

CRASHES: list[Callable[[FaultyDisk], FaultyDisk]] = [
    FaultyDisk.kill,
    lambda disk: disk.crash(Keep.EVERYTHING),
]


async def written() -> Store:
    store = await Store.made()
    await store.write("second")
    await store.write("third")
    return store


async def truncate(store: Store, partition: int, offset: int) -> None:
    """As a follower whose log diverged from its new leader's."""
    log = store.log(partition)
    await store.logs.allow_truncation(log, offset)
    store.acknowledged[partition] = store.acknowledged[partition][:offset]
    log.truncate_to(offset, now_ms=NOW_MS)
    store.written[partition] = store.written[partition][:offset]


@pytest.mark.parametrize("crash", CRASHES)
def test_records_truncated_for_a_new_leader_do_not_reappear(
    crash: Callable[[FaultyDisk], FaultyDisk],
) -> None:
    async def run() -> None:
        store = await written()
        await truncate(store, 1, 1)
        store.disk = crash(store.disk)
        await store.recover()
        assert [len(each) for each in await store.values()] == [3, 1, 3]
        await store.check()

    asyncio.run(run())


def test_records_of_the_new_leader_after_a_truncation_are_kept() -> None:
    async def run() -> None:
        store = await written()
        await truncate(store, 1, 1)
        await store.write("of the new leader", epoch=1)
        await store.write("and more", epoch=1)
        await store.crash()
        await store.check()
        assert store.written[1] == ["1-first", "1-of the new leader", "1-and more"]
        assert [len(each) for each in store.written] == [5, 3, 5]

    asyncio.run(run())


def test_a_power_cut_at_any_operation_of_a_truncation_leaves_one_history_or_the_other() -> None:
    async def cut(operation: int, keep: Keep) -> int:
        store = await written()
        before = store.written[1]
        first = store.disk.operation_count

        async def truncate_and_write() -> None:
            await truncate(store, 1, 1)
            await store.write("of the new leader", [1], epoch=1)
            await store.write("and more", [1], epoch=1)

        store.disk.cut_power_at(operation)
        await store.until_power_cut(truncate_and_write())
        count = store.disk.operation_count - first
        was_acknowledged = store.acknowledged[1]
        await store.crash(keep)
        found = (await store.values())[1]
        assert found[: len(was_acknowledged)] == was_acknowledged
        assert found in (before[: len(found)], store.written[1][: len(found)])
        assert store.logs.journal_damage == ()
        return count

    async def run() -> None:
        count = await cut(1 << 60, Keep.NOTHING)
        for operation in range(count):
            for keep in Keep:
                await cut(operation, keep)

    asyncio.run(run())


@pytest.mark.parametrize("refused", [None, RECOVERY_POINTS, HIGH_WATERMARKS])
@pytest.mark.parametrize("journal_bytes", [0, 1 << 20])
def test_a_retried_truncation_lowers_the_checkpoints_that_the_disk_refused_at_first(
    refused: str | None, journal_bytes: int
) -> None:
    async def run() -> None:
        store = await Store.made(2, journal_bytes=journal_bytes)
        for number in range(5):
            await store.write(f"{number}")
        await store.logs.checkpoint()
        await store.logs.save_high_watermarks({PartitionName("t", 1): 6})
        if refused is not None:
            fault = store.disk.fail("write", refused, error=errno.ENOSPC)
            with pytest.raises((StorageError, OSError)):
                await truncate(store, 1, 2)
            store.disk.heal(fault)
        await truncate(store, 1, 2)
        await store.write("of the new leader", [1], epoch=1)
        await store.write("and more", [1], epoch=1)
        await store.crash()
        await store.check()
        assert [len(each) for each in store.written] == [6, 4]

    asyncio.run(run())


def test_a_retried_truncation_waits_until_the_journal_has_released_the_log() -> None:
    async def run() -> None:
        store = await written()
        store.slow_down_journal()
        log, journal = store.log(1), store.logs.journal
        assert journal is not None
        first = asyncio.ensure_future(store.logs.allow_truncation(log, 1))
        while any(log in each.logs for each in journal._live):
            await asyncio.sleep(0)
        first.cancel()  # the leader has changed, before the journal's note was durable
        await asyncio.wait([first])
        await store.logs.allow_truncation(log, 1)
        found = read_journal(store.disk.crash(), DATA)
        assert log.partition_id not in found.pieces

    asyncio.run(run())


def test_a_truncation_waits_for_one_round_of_the_journal_and_not_for_all_writers() -> None:
    async def run() -> None:
        store = await written()
        store.slow_down_journal()
        truncation: asyncio.Future[None] | None = None
        journal = store.logs.journal
        assert journal is not None

        async def produce(partition: int, lag: int) -> None:
            for _ in range(lag):
                await asyncio.sleep(0)
            while (truncation is None or not truncation.done()) and journal._round < 100:
                await store.write("more", [partition])

        producers = [asyncio.ensure_future(produce(number % 2, 3 * number)) for number in range(6)]
        for _ in range(50):
            await asyncio.sleep(0)
        truncation = asyncio.ensure_future(store.logs.allow_truncation(store.log(2), 1))
        await asyncio.gather(*producers)
        assert journal._round < 100
        await truncation

    asyncio.run(run())


def is_syncing(log: Log) -> bool:
    return log.syncing is not None


def test_a_cancelled_truncation_releases_the_files_that_it_syncs() -> None:
    async def run() -> None:
        store = await written()
        log = store.log(1)
        truncation = asyncio.ensure_future(store.logs.allow_truncation(log, 1))
        while not is_syncing(log):
            await asyncio.sleep(0)
        truncation.cancel()
        for _ in range(30):
            await asyncio.sleep(0)
        assert not is_syncing(log)
        assert log.segments_durable_offset == 3
        log.release()
        assert not [path for path in log.cache._handles if "t-1" in path]

    asyncio.run(run())


async def save_high_watermark(store: Store) -> None:
    await store.logs.save_high_watermarks({PartitionName("t", 1): store.log(1).log_end_offset})


def test_a_truncation_within_a_batch_leaves_no_high_watermark_above_the_end_of_the_log() -> None:
    async def run() -> None:
        store = await Store.made(2)
        log = store.log(1)
        append(log, "a", "b", "c")
        await store.flusher.sync(log)
        await save_high_watermark(store)
        await store.logs.allow_truncation(log, 3)
        assert log.truncate_to(3, now_ms=NOW_MS) == 1
        await store.crash()
        assert (store.log(1).losses, store.log(1).log_end_offset) == ((), 1)

    asyncio.run(run())


async def checkpoint(store: Store) -> None:
    await store.logs.checkpoint()


@pytest.mark.parametrize("turns", range(0, 40, 2))
@pytest.mark.parametrize("save", [checkpoint, save_high_watermark])
def test_a_checkpoint_saved_while_a_truncation_waits_for_the_journal_excludes_the_truncated_records(
    save: Callable[[Store], Awaitable[None]], turns: int
) -> None:
    async def run() -> None:
        store = await written()
        await save_high_watermark(store)
        store.slow_down_journal()
        truncation = asyncio.ensure_future(truncate(store, 1, 1))
        for _ in range(turns):
            await asyncio.sleep(0)
        if not truncation.done():
            await save(store)
        await truncation
        await store.write("of the new leader", [1], epoch=1)
        await store.crash()
        await store.check()
        assert [len(each) for each in store.written] == [3, 2, 3]

    asyncio.run(run())


@pytest.mark.parametrize("crash", [*CRASHES, FaultyDisk.crash])
def test_a_recreated_topic_has_no_records_of_the_deleted_one(
    crash: Callable[[FaultyDisk], FaultyDisk],
) -> None:
    async def run() -> None:
        store = await written()
        store.logs.delete("t", TOPIC_ID, 1)
        store.topic_ids[1] = OTHER_TOPIC_ID
        store.written[1] = []
        await store.write("of the new topic")
        await store.write("second of the new topic")
        store.disk = crash(store.disk)
        await store.recover()
        await store.check()
        assert store.written[1] == ["1-of the new topic", "1-second of the new topic"]
        assert [len(each) for each in store.written] == [5, 2, 5]

    asyncio.run(run())


@pytest.mark.parametrize("crash", [*CRASHES, FaultyDisk.crash])
def test_a_topic_recreated_just_before_a_crash_has_no_records_of_the_deleted_one(
    crash: Callable[[FaultyDisk], FaultyDisk],
) -> None:
    async def run() -> None:
        store = await written()
        store.logs.delete("t", TOPIC_ID, 1)
        store.topic_ids[1] = OTHER_TOPIC_ID
        store.written[1] = store.acknowledged[1] = []
        store.log(1)
        store.disk = crash(store.disk)
        await store.recover()
        await store.check()
        assert [len(each) for each in store.written] == [3, 0, 3]

    asyncio.run(run())


@pytest.mark.parametrize("crash", [*CRASHES, FaultyDisk.crash])
def test_a_reassigned_partition_has_no_records_of_its_earlier_assignment(
    crash: Callable[[FaultyDisk], FaultyDisk],
) -> None:
    async def run() -> None:
        store = await written()
        await store.logs.drop("t", TOPIC_ID, 1)
        store.written[1] = []
        await store.write("from the leader")
        await store.write("second from the leader")
        store.disk = crash(store.disk)
        await store.recover()
        await store.check()
        assert store.written[1] == ["1-from the leader", "1-second from the leader"]

    asyncio.run(run())


@pytest.mark.parametrize("crash", CRASHES)
def test_a_partition_dropped_just_before_a_crash_starts_empty(
    crash: Callable[[FaultyDisk], FaultyDisk],
) -> None:
    async def run() -> None:
        store = await written()
        await store.logs.drop("t", TOPIC_ID, 1)
        store.written[1] = store.acknowledged[1] = []
        store.disk = crash(store.disk)
        await store.recover()
        await store.check()
        assert store.written[1] == []

    asyncio.run(run())


@pytest.mark.parametrize("offset", [0, 1, 2])
@pytest.mark.parametrize("before", ["writing", "a checkpoint", "a clean stop"])
def test_a_truncation_left_unsynced_by_a_kill_removes_no_later_record(offset: int, before: str) -> None:
    """After the kill the new length of the file is in the page cache only, and the next power cut undoes it."""

    async def end_at(operation: int) -> int:
        store = await written()
        if before == "a checkpoint":
            await store.logs.checkpoint()
        elif before == "a clean stop":
            await store.logs.close(store.flusher)
            await store.kill()
        first = store.disk.operation_count
        store.disk.cut_power_at(operation)
        await store.until_power_cut(truncate(store, 1, offset))
        count = store.disk.operation_count - first
        await store.kill()
        store.written[1] = await values_of(store.log(1))
        await store.write("of the new leader", [1], epoch=1)
        await store.crash()
        await store.check()
        assert store.written[1][-1] == "1-of the new leader"
        return count

    async def run() -> None:
        for operation in range(await end_at(1 << 60)):
            await end_at(operation)

    asyncio.run(run())


def test_a_disabled_journal_has_its_files_removed_when_they_are_no_longer_needed() -> None:
    async def run() -> None:
        store = await Store.made()
        await store.write("journaled")
        store.disk = store.disk.crash()
        store.journal_bytes = 0
        await store.recover()
        await store.check()
        assert list_files(store.disk, DATA)  # they were needed
        await store.logs.close(store.flusher)
        await store.recover()
        assert list_files(store.disk, DATA) == []
        await store.write("synced by itself")
        await store.crash()
        await store.check()

    asyncio.run(run())


def test_a_truncation_counts_while_a_file_with_the_records_is_being_invalidated() -> None:
    async def run() -> None:
        store = await Store.made(journal_bytes=SMALL_JOURNAL)
        for value in "abc":
            await store.write(value, [0])
        await store.logs.checkpoint()
        journal = store.logs.journal
        assert journal is not None
        held = HeldOffload(journal._files.begin_use)
        journal._offload = held
        for number in range(40):
            await store.write(f"{number}{LARGE}", [1 + number % 2])
            if held.has_begun:
                break
        assert held.has_begun
        await truncate(store, 0, 2)
        await store.crash()
        await store.check()
        assert len(store.written[0]) == 2

    asyncio.run(run())


class HeldOffload(LoopOffload):
    """Work of one kind starts and never completes."""

    def __init__(self, held: Callable[..., None]) -> None:
        super().__init__()
        self._held = held
        self.has_begun = False

    async def run(self, work: Callable[[], T]) -> T:
        if getattr(work, "func", None) == self._held:
            self.has_begun = True
            await asyncio.get_running_loop().create_future()
        return await super().run(work)


def test_a_partition_dropped_while_it_could_not_be_opened_starts_empty() -> None:
    async def run() -> None:
        store = await written()
        store.disk = store.disk.crash()
        store.open()
        fault = store.disk.fail("open", "/t-1/", error=errno.EIO)
        with pytest.raises((StorageError, OSError)):
            store.log(1)
        store.disk.heal(fault)
        with store.logs.deferred_syncs():
            for partition in (0, 2):
                store.log(partition)
        await store.logs.sync_opened()
        await store.logs.recovered({PartitionId(store.topic_ids[1], 1)})
        await store.logs.drop("t", TOPIC_ID, 1)
        assert store.log(1).log_end_offset == 0
        store.written[1] = store.acknowledged[1] = []
        await store.write("from the leader", [1])
        await store.crash()
        await store.check()
        assert store.written[1] == ["1-from the leader"]

    asyncio.run(run())


async def lacking_directory() -> Store:
    """After a crash the directory of a partition is missing, and cannot be created."""
    store = await written()
    store.disk = store.disk.crash()
    store.disk.remove_tree(f"{DATA}/t-1")
    store.disk.sync_dir(DATA)
    store.open()
    fault = store.disk.fail("make_dirs", "/t-1", error=errno.ENOSPC)
    with pytest.raises((StorageError, OSError)):
        store.log(1)
    store.disk.heal(fault)
    with store.logs.deferred_syncs():
        for partition in (0, 2):
            store.log(partition)
    await store.logs.sync_opened()
    await store.logs.recovered({PartitionId(TOPIC_ID, 1)})
    return store


def test_a_partition_dropped_while_its_directory_was_missing_starts_empty() -> None:
    async def run() -> None:
        store = await lacking_directory()
        await store.logs.drop("t", TOPIC_ID, 1)
        assert store.log(1).log_end_offset == 0
        store.written[1] = store.acknowledged[1] = []
        await store.write("from the leader", [1])
        await store.crash()
        await store.check()
        assert store.written[1] == ["1-from the leader"]

    asyncio.run(run())


def test_a_stop_keeps_the_records_of_a_partition_whose_directory_could_not_be_created() -> None:
    async def run() -> None:
        store = await lacking_directory()
        await store.logs.close(store.flusher)
        await store.kill()
        assert not store.logs.was_clean
        assert await values_of(store.log(1), 1) == store.written[1][1:]

    asyncio.run(run())


def test_the_journal_of_a_partition_that_could_not_be_opened_is_kept_for_a_later_start() -> None:
    async def run() -> None:
        store = await written()
        store.disk = store.disk.crash()
        store.open()
        fault = store.disk.fail("open", "/t-1/", error=errno.EIO)
        with pytest.raises((StorageError, OSError)):
            store.log(1)
        with store.logs.deferred_syncs():
            logs = [store.log(0), store.log(2)]
        await store.logs.sync_opened()
        for log in logs:
            await store.flusher.sync(log)
        await store.logs.recovered({PartitionId(store.topic_ids[1], 1)})
        for _ in range(30):
            await store.write("more", [0, 2])
        store.disk.heal(fault)
        await store.crash()
        await store.check()
        assert len(store.written[1]) == 3

    asyncio.run(run())


def test_a_partition_is_not_reported_as_dropped_when_the_journal_cannot_note_it() -> None:
    async def run() -> None:
        store = await written()
        store.disk.fail("sync", ".journal.")
        with pytest.raises(StorageError, match="t-1 may come back after a crash"):
            await store.logs.drop("t", TOPIC_ID, 1)

    asyncio.run(run())


def test_partitions_without_journal_entries_come_and_go_without_a_journal_write() -> None:
    async def run() -> None:
        store = await written()
        journal = store.logs.journal
        assert journal is not None
        for number in range(100):
            store.logs.open_or_create("u", OTHER_TOPIC_ID, number, config_of())
            store.logs.delete("u", OTHER_TOPIC_ID, number)
            await store.write("." * 70_000, [0])  # synced by itself
        assert journal._resets == []

    asyncio.run(run())


@pytest.mark.parametrize("is_checkpointing", [False, True])
def test_records_deleted_up_to_the_middle_of_a_batch_leave_the_rest_of_it(is_checkpointing: bool) -> None:
    async def run() -> None:
        store = await Store.made(2)
        log = store.log(0)
        append(log, *[f"{number}" for number in range(1, 11)])  # one batch, in the journal alone
        await store.flusher.sync(log)
        if is_checkpointing:
            await store.logs._checkpointer._checkpointing.acquire()  # a pass over many logs takes a while
        log.advance_log_start(5)
        assert await store.logs.save_offsets()
        await store.crash()
        assert await values_of(store.log(0)) == [f"{number}" for number in range(5, 11)]

    asyncio.run(run())


def test_a_log_start_is_not_saved_while_the_records_around_it_cannot_be_synced() -> None:
    async def run() -> None:
        store = await Store.made(2)
        log = store.log(0)
        append(log, *[f"{number}" for number in range(1, 11)])
        await store.flusher.sync(log)
        log.release()
        fault = store.disk.fail("open", f"{0:020d}.log", error=errno.EMFILE)
        log.advance_log_start(5)
        assert not await store.logs.save_offsets()
        store.disk.heal(fault)
        await store.crash()
        assert len(await values_of(store.log(0))) == 11

    asyncio.run(run())
