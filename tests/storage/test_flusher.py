import asyncio
import errno
import gc
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import InlineOffload, Then, ThreadOffload
from penstock.storage.directory.metadata_files import write_topic_id
from penstock.storage.errors import StorageFailure
from penstock.storage.file_cache import FileCache
from penstock.storage.files import File, RealFile, RealFileSystem
from penstock.storage.flusher import Flusher
from penstock.storage.log.checkpoint import LogCheckpoint
from penstock.storage.log.log import Log
from penstock.storage.recovery.loader import create_log
from penstock.storage.ring import Ended, SyncRing, open_ring
from penstock_simulation.disk import FaultyDisk
from tests.storage.logs import append, config_of


class HeldOffload(InlineOffload):
    """Offloaded work begins when the test releases it."""

    def __init__(self) -> None:
        self.held: list[tuple[Callable[[], object], Then]] = []

    def call(self, work: Callable[[], object], then: Then) -> None:
        self.held.append((work, then))

    async def release(self) -> None:
        work, then = self.held.pop(0)
        then(work(), None)
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def new_log(disk: FaultyDisk, name: str = "t-0", cache: FileCache | None = None, **settings: Any) -> Log:
    disk.make_dirs(f"/data/{name}")
    write_topic_id(disk, f"/data/{name}", bytes(16))
    config = config_of(**settings)
    cache = FileCache(disk) if cache is None else cache
    loaded = create_log(cache, f"/data/{name}", config)
    return Log(name, 0, f"/data/{name}", config, loaded=loaded, is_new=True)


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk(Random(1))


def test_one_sync_serves_all_waiters(disk: FaultyDisk) -> None:
    async def scenario() -> None:
        offload = HeldOffload()
        flusher = Flusher(offload, ManualClock())
        log = new_log(disk)
        append(log, "a")
        first = flusher.sync(log)
        append(log, "b")
        second = flusher.sync(log)
        append(log, "c")
        third = flusher.sync(log)
        assert len(offload.held) == 1
        await offload.release()
        assert (first.done(), second.done(), log.durable_offset) == (True, False, 1)
        await offload.release()
        assert (second.done(), third.done(), log.durable_offset) == (True, True, 3)
        assert offload.held == []

    asyncio.run(scenario())


@pytest.mark.parametrize("count", [1, 3])
def test_the_next_syncs_are_under_way_when_the_waiters_are_notified(disk: FaultyDisk, count: int) -> None:
    """Answering the waiters takes as long as a sync, and a slow disk must not idle meanwhile."""

    async def scenario() -> None:
        offload = HeldOffload()
        flusher = Flusher(offload, ManualClock())
        logs = [new_log(disk, f"t-{number}") for number in range(count)]
        under_way_when_notified: list[int] = []
        for log in logs:
            append(log, "a")
            flusher.request(log)
            log.on_durable = lambda: under_way_when_notified.append(len(offload.held))
        await asyncio.sleep(0)
        for log in logs:
            append(log, "b")
            flusher.request(log)
        begun, offload.held = offload.held, []
        for work, then in begun:
            then(work(), None)
        await asyncio.sleep(0)
        assert under_way_when_notified == [count] * count
        while offload.held:
            await offload.release()
        assert [log.durable_offset for log in logs] == [2] * count

    asyncio.run(scenario())


@pytest.mark.parametrize("drops", [True, False])
def test_records_kept_by_a_truncation_during_a_sync_become_durable(disk: FaultyDisk, drops: bool) -> None:
    """That sync does not count, whether the truncation succeeds or is cancelled. No append follows."""

    async def scenario() -> None:
        offload = HeldOffload()
        flusher = Flusher(offload, ManualClock())
        log = new_log(disk)
        notified: list[int] = []
        log.on_durable = lambda: notified.append(log.durable_offset)
        append(log, "a")
        append(log, "b")
        waiting = flusher.sync(log)
        log.lower_recovery_point(1)
        if drops:
            log.truncate_to(1, now_ms=0)
        while offload.held:
            await offload.release()
        assert waiting.done()
        assert log.durable_offset == log.log_end_offset == (1 if drops else 2)
        assert notified == [log.log_end_offset]
        await flusher.drain()

    asyncio.run(scenario())


def test_logs_sync_concurrently(disk: FaultyDisk) -> None:
    async def scenario() -> None:
        offload = HeldOffload()
        flusher = Flusher(offload, ManualClock())
        logs = [new_log(disk, name) for name in ("t-0", "t-1")]
        for log in logs:
            append(log, "a")
            flusher.request(log)
        await asyncio.sleep(0)
        assert len(offload.held) == 2

    asyncio.run(scenario())


def test_syncs_that_begin_in_one_turn_share_an_offload_but_not_their_failures(
    disk: FaultyDisk,
) -> None:
    async def scenario() -> None:
        offload = HeldOffload()
        flusher = Flusher(offload, ManualClock())
        logs = [new_log(disk, f"t-{number}") for number in range(30)]
        disk.fail("sync", "t-17/")
        waiting = []
        for log in logs:
            append(log, "a")
            waiting.append(flusher.sync(log))
        await asyncio.sleep(0)
        assert len(offload.held) == 9  # the first one did not wait for the others
        while offload.held:
            await offload.release()
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        failed = [number for number, outcome in enumerate(outcomes) if outcome is not None]
        assert failed == [17]
        assert [log.durable_offset for log in logs] == [0 if n == 17 else 1 for n in range(30)]

    asyncio.run(scenario())


def test_no_more_logs_than_allowed_are_synced_at_once_and_all_get_their_turn(disk: FaultyDisk) -> None:
    async def scenario() -> None:
        offload = HeldOffload()
        flusher = Flusher(offload, ManualClock(), in_flight_max=3)
        cache = FileCache(disk, open_files_max=1)
        logs = [new_log(disk, f"t-{number}", cache=cache) for number in range(10)]
        waiting = []
        for log in logs:
            append(log, "a")
            waiting.append(flusher.sync(log))
        append(logs[9], "b")
        late = flusher.sync(logs[9])
        together: list[bool] = []
        waiting[9].add_done_callback(lambda _: together.append(late.done()))
        logs[8].abandon("its topic was deleted")
        await asyncio.sleep(0)
        while offload.held:
            assert len(cache) <= 4, "three that are synced, and the newest"
            await offload.release()
            await asyncio.sleep(0)
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(outcome).__name__ for outcome in outcomes] == ["NoneType"] * 8 + [
            "LogClosed",
            "NoneType",
        ]
        assert [log.durable_offset for log in logs] == [1] * 8 + [0, 2]
        assert together == [True], "one that has not begun serves all waiters until it does"
        await flusher.drain()

    asyncio.run(scenario())


def test_the_first_sync_of_a_new_log_makes_its_names_durable(disk: FaultyDisk) -> None:
    async def scenario() -> None:
        log = new_log(disk)
        disk.sync_dir("/")
        append(log, "a")
        await Flusher(InlineOffload(), ManualClock()).sync(log)

    asyncio.run(scenario())
    survived = disk.crash()
    assert survived.size("/data/t-0/00000000000000000000.log") > 0


def test_a_failed_sync_fails_all_waiters_and_every_later_append(disk: FaultyDisk) -> None:
    async def scenario() -> None:
        offload = HeldOffload()
        flusher = Flusher(offload, ManualClock())
        log = new_log(disk)
        notified: list[object] = []
        log.on_durable = lambda: notified.append(log.failure)
        append(log, "a")
        first = flusher.sync(log)
        append(log, "b")
        second = flusher.sync(log)
        disk.fail("sync", times=1, error=errno.EIO)
        await offload.release()
        for waiter in (first, second, flusher.sync(log)):
            with pytest.raises(StorageFailure):
                await waiter
        with pytest.raises(StorageFailure, match="check the disk"):
            append(log, "c")
        assert notified == [log.failure]
        assert (log.durable_offset, offload.held) == (0, [])

    asyncio.run(scenario())


def test_a_sync_without_new_records_completes_at_once(disk: FaultyDisk) -> None:
    async def scenario() -> None:
        flusher = Flusher(InlineOffload(), ManualClock())
        log = new_log(disk)
        append(log, "a")
        await flusher.sync(log)
        assert flusher.sync(log).done()

    asyncio.run(scenario())


def test_a_topic_with_asynchronous_syncs_is_synced_by_count(disk: FaultyDisk) -> None:
    async def scenario() -> None:
        flusher = Flusher(InlineOffload(), ManualClock())
        log = new_log(disk, flush_messages=3)
        for value, durable in (("a", 0), ("b", 0), ("c", 3)):
            append(log, value)
            flusher.request(log)
            await asyncio.sleep(0)
            assert log.durable_offset == durable

    asyncio.run(scenario())


def test_a_topic_with_asynchronous_syncs_is_synced_after_its_interval(disk: FaultyDisk) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        flusher = Flusher(InlineOffload(), clock)
        log = new_log(disk, flush_messages=1_000, flush_ms=500)
        append(log, "a")
        flusher.request(log)
        await asyncio.sleep(0)
        clock.advance(499)
        await asyncio.sleep(0)
        append(log, "b")
        flusher.request(log)
        durable_before = log.durable_offset
        clock.advance(1)
        for _ in range(3):
            await asyncio.sleep(0)
        assert (durable_before, log.durable_offset) == (0, 2)

    asyncio.run(scenario())


def test_draining_waits_for_syncs_in_flight(disk: FaultyDisk) -> None:
    async def scenario() -> None:
        offload = ThreadOffload(2, "sync")
        flusher = Flusher(offload, ManualClock())
        log = new_log(disk)
        append(log, "a")
        flusher.request(log)
        append(log, "b")
        flusher.request(log)
        await flusher.drain()
        assert log.durable_offset == 2
        offload.close()

    asyncio.run(scenario())


# -- syncs by the kernel; where it refuses, the same must hold with threads


class HeldRing(SyncRing):
    """Accepts as many syncs as the test allows, and ends them when the test releases them."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.held: list[Ended] = []
        self.descriptor, self._other_end = os.pipe()
        self._loop = None

    def begin(self, syncs: Sequence[tuple[int, Ended]]) -> int:
        taken = [ended for _, ended in syncs[: self.room]]
        self.held += taken
        return len(taken)

    def close(self) -> None:
        os.close(self.descriptor)
        os.close(self._other_end)


class FileOfNoDisk(RealFile):
    """A sync of it always fails: the descriptor is a pipe's."""

    @property
    def descriptor(self) -> int:
        return NO_DISK[0]

    def sync(self) -> None:
        os.fdatasync(self.descriptor)


NO_DISK = os.pipe()


class NoDisk(RealFileSystem):
    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        flags = os.O_RDWR | (os.O_CREAT if create else 0)
        return (FileOfNoDisk if path.endswith(".log") else RealFile)(os.open(path, flags, 0o644))


def real_log(directory: Path, files: RealFileSystem, *, is_new: bool = False) -> Log:
    path = str(directory)
    files.make_dirs(path)
    write_topic_id(files, path, bytes(16))
    cache = FileCache(files)
    config = config_of()
    log = Log("t", 0, path, config, loaded=create_log(cache, path, config), is_new=is_new)
    log.chain.names_unsynced = is_new
    return log


def test_awaited_records_become_durable_with_or_without_a_ring(tmp_path: Path) -> None:
    async def scenario() -> None:
        offload = ThreadOffload(2, "sync")
        ring = open_ring()
        flusher = Flusher(offload, ManualClock(), ring=ring)
        logs = [real_log(tmp_path / str(number), RealFileSystem(), is_new=True) for number in range(8)]
        for _ in range(3):
            for log in logs:
                append(log, "a")
                flusher.request(log)
            await asyncio.gather(*(flusher.sync(log) for log in logs))
        assert [log.durable_offset for log in logs] == [3] * 8
        await flusher.drain()
        if ring is not None:
            ring.close()
        offload.close()

    asyncio.run(scenario())


def test_a_sync_that_fails_in_the_kernel_takes_the_log_offline(tmp_path: Path) -> None:
    async def scenario() -> None:
        ring = open_ring()
        flusher = Flusher(InlineOffload(), ManualClock(), ring=ring)
        log = real_log(tmp_path / "t-0", NoDisk())
        append(log, "a")
        first = flusher.sync(log)
        append(log, "b")
        for waiter in (first, flusher.sync(log)):
            with pytest.raises(StorageFailure, match="Invalid argument"):
                await waiter
        with pytest.raises(StorageFailure):
            append(log, "c")
        assert log.durable_offset == 0
        await flusher.drain()
        if ring is not None:
            ring.close()

    asyncio.run(scenario())


def test_a_thread_syncs_file_names_and_the_files_that_the_kernel_does_not_accept(tmp_path: Path) -> None:
    async def scenario() -> None:
        offload = HeldOffload()
        ring = HeldRing(room=2)
        flusher = Flusher(offload, ManualClock(), ring=ring)
        logs = [real_log(tmp_path / str(number), RealFileSystem(), is_new=number == 1) for number in range(5)]
        for log in logs:
            append(log, "a")
            flusher.request(log)
        await asyncio.sleep(0)
        assert (len(ring.held), len(offload.held)) == (1 + 2, 2)  # the first began alone
        while offload.held:
            await offload.release()
        assert [log.durable_offset for log in logs] == [0, 1, 0, 0, 1]
        for ended in ring.held:
            ended(None)
        assert [log.durable_offset for log in logs] == [1] * 5
        await flusher.drain()
        ring.close()

    asyncio.run(scenario())


def test_a_file_stays_open_while_the_kernel_syncs_it_and_draining_waits_for_that(tmp_path: Path) -> None:
    async def scenario() -> None:
        ring = HeldRing(room=1)
        flusher = Flusher(InlineOffload(), ManualClock(), ring=ring)
        log = real_log(tmp_path / "t-0", RealFileSystem())
        append(log, "a")
        flusher.request(log)
        file = log.chain.active.file()
        log.abandon("its topic was deleted")
        draining = asyncio.ensure_future(flusher.drain())
        await asyncio.sleep(0)
        assert (file.size() > 0, draining.done()) == (True, False)
        ring.held[0](None)
        await draining
        with pytest.raises(OSError, match="Bad file descriptor"):
            file.size()
        ring.close()

    asyncio.run(scenario())


def test_a_checkpoint_waits_for_a_sync_in_the_kernel_and_fails_with_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        offload = ThreadOffload(1, "checkpoint")
        ring = HeldRing(room=1)
        flusher = Flusher(InlineOffload(), ManualClock(), ring=ring)
        log = real_log(tmp_path / "t-0", RealFileSystem())
        append(log, "a")
        flusher.request(log)
        append(log, "b")
        job = LogCheckpoint(log).begin()
        assert job is not None
        running = offload.start(job.run)
        ring.held[0](OSError(errno.EIO, "Input/output error"))
        with pytest.raises(OSError, match="Input/output"):
            await running
        LogCheckpoint(log).finish(job, job.sync.failure)
        assert (log.durable_offset, log.recovery_point) == (0, 0)
        assert log.failure is not None
        await flusher.drain()
        ring.close()
        offload.close()

    asyncio.run(scenario())


def test_a_failed_sync_without_waiters_is_not_reported_as_an_unretrieved_exception(disk: FaultyDisk) -> None:
    complaints: list[dict[str, Any]] = []

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        flusher = Flusher(InlineOffload(), ManualClock())
        log = new_log(disk)
        disk.fail("sync", times=1, error=errno.EIO)
        append(log, "a")
        flusher.request(log)
        await flusher.drain()
        assert log.failure is not None
        flusher.request(log)

    asyncio.run(scenario())
    gc.collect()
    assert complaints == []
