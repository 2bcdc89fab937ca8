import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from penstock.cluster.replica import Replica
from penstock.cluster.scrubbing import Scrubber
from penstock.storage.log.errors import LogCorrupt
from tests.cluster.rotting import COUNT, Rotting

INTERVAL_MS = 60_000


class Stage(Rotting):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.interval_ms = INTERVAL_MS
        self.told: list[Replica] = []
        self.scrubber = Scrubber(
            lambda: [self.replica],
            self.told.append,
            self.clock,
            interval_ms=lambda: self.interval_ms,
            is_unopened_suspect=self.store.is_unopened_suspect,
        )

    async def pass_time(self, duration_ms: int) -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        self.clock.advance(duration_ms)
        for _ in range(20):
            await asyncio.sleep(0)
            self.clock.advance(0)


def run(
    directory: Path, scenario: Callable[[Stage], Awaitable[None]], interval_ms: int = INTERVAL_MS
) -> None:
    async def played() -> None:
        stage = Stage(directory)
        stage.interval_ms = interval_ms
        running = asyncio.ensure_future(stage.scrubber.run())
        try:
            async with asyncio.timeout(20):
                await scenario(stage)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await stage.store.close()

    asyncio.run(played())


def offsets(stage: Stage) -> list[int]:
    return [each.base_offset for each in stage.replica.log.damaged]


def test_every_log_is_looked_through_once_in_an_interval(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.pass_time(INTERVAL_MS)
        assert (offsets(stage), stage.told) == ([], [])
        stage.rot(2)
        await stage.pass_time(INTERVAL_MS - 1)
        assert not stage.told
        await stage.pass_time(1)
        assert (offsets(stage), stage.told) == ([2], [stage.replica])

    run(tmp_path, scenario)


def test_a_suspect_is_looked_at_now(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(stage: Stage) -> None:
        stage.rot(2)
        stage.rot(4)
        stage.scrubber.suspect(stage.replica)
        await stage.pass_time(0)
        assert offsets(stage) == [2, 4]
        stage.scrubber.suspect(stage.replica)
        await stage.pass_time(0)
        assert stage.told == [stage.replica] * 2

    with caplog.at_level(logging.ERROR):
        run(tmp_path, scenario)
    assert len([each for each in caplog.records if "are not what was written" in each.message]) == 2


def test_without_an_interval_only_suspects_are_looked_at(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.rot(2)
        await stage.pass_time(10**9)
        assert not stage.told
        stage.scrubber.suspect(stage.replica)
        await stage.pass_time(0)
        assert stage.told

    run(tmp_path, scenario, interval_ms=0)


def test_a_read_that_meets_rot_makes_its_log_suspect(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.suspicions.subscribe(stage.scrubber.suspect)
        stage.rot(2)
        with pytest.raises(LogCorrupt):
            await stage.replica.log.read_cold(2, 1 << 20, offset_limit=COUNT)
        await stage.pass_time(0)
        assert (offsets(stage), stage.told) == ([2], [stage.replica])

    run(tmp_path, scenario)


def test_a_log_whose_producers_are_in_doubt_is_told_of_though_nothing_in_it_is_damaged(
    tmp_path: Path,
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.replica.log.producers.mark_unverified(2)
        stage.scrubber.suspect(stage.replica)
        await stage.pass_time(0)
        assert stage.told == [stage.replica]

    run(tmp_path, scenario)


def test_a_changed_interval_applies_at_once(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.pass_time(INTERVAL_MS)
        stage.rot(2)
        await stage.pass_time(1_000)
        stage.interval_ms = 500
        stage.scrubber.on_settings_change()
        await stage.pass_time(0)
        assert stage.told == [stage.replica]

    run(tmp_path, scenario)


def test_an_interval_that_was_zero_applies_at_once(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.rot(2)
        await stage.pass_time(1_000)
        stage.interval_ms = 500
        stage.scrubber.on_settings_change()
        await stage.pass_time(0)
        assert stage.told == [stage.replica]

    run(tmp_path, scenario, interval_ms=0)
