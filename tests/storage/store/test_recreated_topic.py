"""A topic is deleted and recreated, while code still holds the log of the deleted one.

The two logs have the same paths. No operation on the old log may reach the files of the new one.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from random import Random

import pytest

from penstock.runtime.offload import Offload, ThreadOffload
from penstock.storage.errors import LogError, is_disk_failure
from penstock.storage.files import read_whole
from penstock.storage.log.checkpoint import LogCheckpoint
from penstock.storage.log.log import Log
from penstock.storage.log.repair import LogRepair
from penstock_simulation.disk import FaultyDisk
from tests.storage.held_disk import HeldDisk, turns
from tests.storage.logs import NOW_MS, all_values, append, batch_of, config_of, sync
from tests.storage.stores import open_store

OLD_ID, NEW_ID = b"o" * 16, b"n" * 16
NEW = [f"new{number}" for number in range(10)]


class Topic:
    """A store with the log `old`, which holds ten records in segments of three, and later the log `new`."""

    def __init__(self, offload: Offload | None = None, **producer: int) -> None:
        self.held = HeldDisk()
        self.disk = FaultyDisk(Random(1))
        self.store = open_store(self.disk, offload=offload or self.held)
        self.old = self.store.open_or_create("t", OLD_ID, 0, config_of(segment_records=3))
        for number in range(10):
            append(self.old, f"old{number}", base_sequence=number if producer else -1, **producer)
        sync(self.old)

    def recreate(self) -> None:
        self.store.delete("t", OLD_ID, 0)
        self.new = self.store.open_or_create("t", NEW_ID, 0, config_of())
        for value in NEW:
            append(self.new, value)
        sync(self.new)
        self.files = self.files_of_new()

    def files_of_new(self) -> dict[str, bytes]:
        directory = self.new.directory
        return {name: read_whole(self.disk, f"{directory}/{name}") for name in self.disk.list(directory)}

    def check(self) -> None:
        """The new log is unchanged."""
        assert self.files_of_new() == self.files
        assert all_values(self.new) == NEW


Use = Callable[[Log], Awaitable[object]]


async def _truncate(log: Log) -> object:
    return log.truncate_to(4, now_ms=NOW_MS)


async def _start_over(log: Log) -> None:
    log.truncate_fully_and_start_at(40)


async def _advance_start(log: Log) -> None:
    log.advance_log_start(7)


async def _delete_oldest(log: Log) -> None:
    log.delete_oldest(9, now_ms=NOW_MS)


async def _roll(log: Log) -> None:
    log.roll(now_ms=NOW_MS)


async def _append(log: Log) -> object:
    return append(log, "late")


async def _append_replicated(log: Log) -> object:
    return log.append_replicated(bytes(batch_of("late", base_offset=10)), now_ms=NOW_MS)


async def _read(log: Log) -> object:
    return log.read(8, 1 << 20, offset_limit=10)


async def _read_at_the_end(log: Log) -> object:
    return log.read(10, 1 << 20, offset_limit=10)


async def _read_cold(log: Log) -> object:
    return await log.read_cold(0, 1 << 20, offset_limit=10)


async def _search(log: Log) -> object:
    return await log.offset_for_timestamp(0)


async def _find_aborted(log: Log) -> object:
    return log.aborted_transactions(0, 10)


@pytest.mark.parametrize(
    "use",
    [
        _truncate,
        _start_over,
        _advance_start,
        _delete_oldest,
        _roll,
        _append,
        _append_replicated,
        _read,
        _read_at_the_end,
        _read_cold,
        _search,
        _find_aborted,
    ],
)
def test_a_deleted_log_refuses_every_operation_and_reaches_no_file_of_the_recreated_topic(use: Use) -> None:
    async def scenario() -> None:
        topic = Topic()
        topic.recreate()
        with pytest.raises(LogError, match="its topic was deleted") as refused:
            await use(topic.old)
        assert not is_disk_failure(refused.value)
        topic.check()

    asyncio.run(scenario())


def test_a_repair_of_a_deleted_log_writes_nothing_into_the_recreated_topic() -> None:
    async def scenario() -> None:
        topic = Topic()
        segment = topic.old.segments[0]
        sound = segment.file().read(segment.size_bytes, 0)[: segment.size_bytes // 3]
        segment.file().write((b"\xff",), len(sound) - 2)
        await LogRepair(topic.old).check(segment, turns)
        [damage] = topic.old.damaged
        topic.recreate()
        with pytest.raises(LogError, match="its topic was deleted"):
            LogRepair(topic.old).repair(damage, sound)
        assert not await LogRepair(topic.old).rebuild_producer_state(now_ms=NOW_MS)
        topic.check()

    asyncio.run(scenario())


@pytest.mark.parametrize("is_read", [True, False])
def test_a_waiting_read_of_a_deleted_log_returns_nothing_of_the_recreated_topic(is_read: bool) -> None:
    async def scenario() -> None:
        topic = Topic()
        topic.old.release()
        topic.held.hold()
        waiting = asyncio.ensure_future(_read_cold(topic.old) if is_read else _search(topic.old))
        await turns()
        topic.recreate()
        topic.held.free()
        with pytest.raises(LogError, match="its topic was deleted"):
            await waiting
        topic.check()

    asyncio.run(scenario())


def test_a_truncation_that_waits_for_its_recovery_point_ends_when_the_topic_is_recreated() -> None:
    """The recovery point of the new log is above the offset: it is not what the truncation waits for."""

    async def scenario() -> None:
        topic = Topic()
        await topic.store.checkpoint()
        topic.held.hold()
        saving = asyncio.ensure_future(topic.store.save_offsets())
        await turns()
        truncating = asyncio.ensure_future(topic.store.allow_truncation(topic.old, 4))
        await turns()
        topic.recreate()
        job = LogCheckpoint(topic.new).begin()
        assert job is not None
        job.run()
        LogCheckpoint(topic.new).finish(job)
        topic.files = topic.files_of_new()
        topic.held.free()
        await turns(200)
        has_ended = truncating.done()
        truncating.cancel()
        outcome, _ = await asyncio.gather(truncating, saving, return_exceptions=True)
        assert has_ended
        assert isinstance(outcome, LogError)
        assert topic.new.recovery_point == 10
        topic.check()

    asyncio.run(scenario())


def test_a_running_checkpoint_deletes_and_writes_nothing_in_the_recreated_topic() -> None:
    async def scenario() -> None:
        topic = Topic(producer_id=7, producer_epoch=0)
        topic.held.hold()
        topic.old.advance_log_start(7)  # segments stay until their producers are in a snapshot
        await turns()
        assert topic.held.waiting_count == 1
        topic.recreate()
        topic.held.free()
        await turns()
        topic.check()
        await topic.store.checkpoint()  # and later checkpoints work
        assert topic.new.recovery_point == 10

    asyncio.run(scenario())


def test_a_checkpoint_with_a_slow_thread_writes_nothing_in_the_recreated_topic(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The topic is deleted between two of the files that the checkpoint writes, without a notification."""

    async def scenario() -> None:
        threads = ThreadOffload(4, "test")
        topic = Topic(threads)
        is_writing, may_go_on = threading.Event(), threading.Event()

        def wait(path: str) -> None:
            if path.endswith(".snapshot.tmp"):
                is_writing.set()
                assert may_go_on.wait(60)

        topic.disk.before_sync(wait)
        checkpoint = asyncio.ensure_future(topic.store.checkpoint())
        assert await asyncio.to_thread(is_writing.wait, 60)
        topic.recreate()
        may_go_on.set()
        await checkpoint
        topic.check()
        threads.close()

    asyncio.run(scenario())
    assert caplog.text == ""
