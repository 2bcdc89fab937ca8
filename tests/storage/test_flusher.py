import asyncio
import errno
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from penstock.observability.clock import ManualClock
from penstock.observability.offload import InlineOffload, Then, ThreadOffload
from penstock.storage.directory_files import write_topic_id
from penstock.storage.file_cache import FileCache
from penstock.storage.flusher import Flusher
from penstock.storage.log import Log
from penstock.storage.log_errors import StorageFailure
from penstock.storage.recovery import create_log
from penstock.testing.disk import FaultyDisk
from tests.storage.logs import append, config_of


class HeldOffload(InlineOffload):
    """Work begins when the test says so."""

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
    return Log(name, 0, f"/data/{name}", config, cache=cache, loaded=loaded, is_new=True)


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk(Random(1))


def test_one_sync_serves_everybody_who_waited_for_it(disk: FaultyDisk) -> None:
    async def scenario() -> None:
        offload = HeldOffload()
        flusher = Flusher(offload, ManualClock())
        log = new_log(disk)
        append(log, "a")
        first = flusher.request(log)
        append(log, "b")
        second = flusher.request(log)
        append(log, "c")
        third = flusher.request(log)
        assert len(offload.held) == 1
        await offload.release()
        assert (first.done(), second.done(), log.durable_offset) == (True, False, 1)
        await offload.release()
        assert (second.done(), third.done(), log.durable_offset) == (True, True, 3)
        assert offload.held == []

    asyncio.run(scenario())


def test_logs_sync_side_by_side(disk: FaultyDisk) -> None:
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


def test_syncs_that_begin_in_one_turn_share_the_way_to_the_threads_but_not_their_failures(
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
            waiting.append(flusher.request(log))
        await asyncio.sleep(0)
        assert len(offload.held) == 9  # the first one did not wait for company
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
            waiting.append(flusher.request(log))
        append(logs[9], "b")
        assert flusher.request(logs[9]) is waiting[9], (
            "one that has not begun serves whoever comes until then"
        )
        logs[8].abandon("its topic was deleted")
        await asyncio.sleep(0)
        while offload.held:
            assert len(cache) <= 4, "three that are synced, and the newest"
            await offload.release()
            await asyncio.sleep(0)
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(outcome).__name__ for outcome in outcomes] == ["NoneType"] * 8 + [
            "StorageFailure",
            "NoneType",
        ]
        assert [log.durable_offset for log in logs] == [1] * 8 + [0, 2]
        await flusher.drain()

    asyncio.run(scenario())


def test_the_first_sync_of_a_new_log_makes_its_names_durable(disk: FaultyDisk) -> None:
    async def scenario() -> None:
        log = new_log(disk)
        disk.sync_dir("/")
        append(log, "a")
        await Flusher(InlineOffload(), ManualClock()).request(log)

    asyncio.run(scenario())
    survived = disk.crash()
    assert survived.size("/data/t-0/00000000000000000000.log") > 0


def test_a_failed_sync_fails_everybody_who_waits_and_every_later_append(disk: FaultyDisk) -> None:
    async def scenario() -> None:
        offload = HeldOffload()
        flusher = Flusher(offload, ManualClock())
        log = new_log(disk)
        told: list[object] = []
        log.on_durable = lambda: told.append(log.failure)
        append(log, "a")
        first = flusher.request(log)
        append(log, "b")
        second = flusher.request(log)
        disk.fail("sync", times=1, error=errno.EIO)
        await offload.release()
        for waiter in (first, second, flusher.request(log)):
            with pytest.raises(StorageFailure):
                await waiter
        with pytest.raises(StorageFailure, match="check the disk"):
            append(log, "c")
        assert told == [log.failure]
        assert (log.durable_offset, offload.held) == (0, [])

    asyncio.run(scenario())


def test_nothing_new_to_sync_is_done_at_once(disk: FaultyDisk) -> None:
    async def scenario() -> None:
        flusher = Flusher(InlineOffload(), ManualClock())
        log = new_log(disk)
        append(log, "a")
        await flusher.request(log)
        assert flusher.request(log).done()

    asyncio.run(scenario())


def test_a_topic_that_waives_the_wait_is_synced_by_count(disk: FaultyDisk) -> None:
    async def scenario() -> None:
        flusher = Flusher(InlineOffload(), ManualClock())
        log = new_log(disk, flush_messages=3)
        for value, durable in (("a", 0), ("b", 0), ("c", 3)):
            append(log, value)
            await flusher.request(log)
            await asyncio.sleep(0)
            assert log.durable_offset == durable

    asyncio.run(scenario())


def test_a_topic_that_waives_the_wait_is_synced_after_its_time(disk: FaultyDisk) -> None:
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


def test_draining_waits_for_what_is_in_flight(disk: FaultyDisk) -> None:
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
