"""Log lines about a disk that is full or has failed."""

import asyncio
import errno
import logging

import pytest

from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import InlineOffload
from penstock.server.broker.disk_watch import DiskWatch
from penstock.storage.directory.disk_space import DiskSpace, DiskState
from penstock.storage.files import Usage

TOTAL = 24_000_000


class Watched:
    """A directory whose free space the test sets."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.space = DiskSpace()
        self.free_bytes = TOTAL
        self.reserve = 1_000_000
        self.error: OSError | None = None
        self.measured = 0
        self.watch = DiskWatch(
            "/data",
            self.space,
            self._usage,
            reserve=lambda: self.reserve,
            offload=InlineOffload(),
            clock=self.clock,
        )

    def _usage(self) -> Usage:
        self.measured += 1
        if self.error is not None:
            raise self.error
        return Usage(TOTAL, self.free_bytes)

    async def look(self, *, free_bytes: int, after_ms: int = 1_000) -> None:
        self.clock.advance(after_ms)
        self.free_bytes = free_bytes
        await self.watch.measure()


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture) -> Watched:
    caplog.set_level(logging.INFO, logger="penstock.server.broker.disk_watch")
    return Watched()


def test_a_full_disk_is_logged_once_a_minute_and_its_end_once(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        await watched.look(free_bytes=TOTAL)
        assert not caplog.records
        for _ in range(59):
            await watched.look(free_bytes=400_000)
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        assert caplog.messages[0].startswith(
            "Disk full: /data has 0.4 MB free of 24.0 MB, reserve 1.0 MB. Clients' writes are refused. Delete topics, "
        )
        for _ in range(60):
            await watched.look(free_bytes=400_000)
        assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
        for _ in range(60):
            await watched.look(free_bytes=5_000_000)
        assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR", "WARNING"]
        assert caplog.messages[-1].startswith(
            "Disk space recovered on /data; writes resumed: 5.0 MB free of 24.0 MB"
        )

    asyncio.run(scenario())


def test_a_disk_that_is_full_again_and_again_is_logged_once_a_minute(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        for _ in range(20):
            await watched.look(free_bytes=400_000)
            await watched.look(free_bytes=5_000_000)
        assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]

    asyncio.run(scenario())


def test_a_changed_reserve_applies_from_the_next_measurement(watched: Watched) -> None:
    async def scenario() -> None:
        await watched.look(free_bytes=500_000)
        assert watched.space.room_bytes == 0
        watched.reserve = 0
        await watched.look(free_bytes=500_000)
        assert (watched.space.state, watched.space.room_bytes > TOTAL) == (DiskState.OK, True)

    asyncio.run(scenario())


def test_a_failed_disk_is_logged_once_as_an_error_with_its_remedy(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        watched.space.failed(OSError(errno.EIO, "Input/output error"))
        for _ in range(120):
            await watched.look(free_bytes=TOTAL)
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        assert caplog.messages[0] == (
            "Disk of /data failed ([Errno 5] Input/output error): check the disk, then restart the broker"
        )

    asyncio.run(scenario())


def test_a_disk_that_cannot_be_measured_is_logged_once_a_minute_and_changes_nothing(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        await watched.look(free_bytes=400_000)
        caplog.clear()
        watched.error = OSError(errno.EIO, "Input/output error")
        await watched.look(free_bytes=TOTAL)
        await watched.look(free_bytes=TOTAL)
        assert watched.space.state is DiskState.FULL
        assert caplog.messages == ["Cannot measure the free space of /data: Input/output error"]

    asyncio.run(scenario())


def test_a_refused_write_is_followed_by_a_measurement_at_once(watched: Watched) -> None:
    async def scenario() -> None:
        await watched.look(free_bytes=TOTAL)
        running = asyncio.create_task(watched.watch.run())
        await asyncio.sleep(0)
        before = watched.measured
        watched.space.refused(watched.clock.monotonic_ms())
        while watched.measured == before:  # the clock stands still
            await asyncio.sleep(0)
        running.cancel()

    asyncio.run(asyncio.wait_for(scenario(), 10))
