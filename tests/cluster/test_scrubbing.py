import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from penstock.cluster.replica import Replica
from penstock.cluster.scrubbing import Scrubber
from penstock.storage.errors import LogCorrupt
from tests.cluster.stage import COUNT, DamageStage, play

INTERVAL_MS = 60_000


class Stage(DamageStage):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.interval_ms = INTERVAL_MS
        self.damaged_replicas: list[Replica] = []
        self.scrubber = Scrubber(
            lambda: [self.replica],
            self.damaged_replicas.append,
            self.clock,
            interval_ms=lambda: self.interval_ms,
            is_unopened_suspect=self.store.is_unopened_suspect,
        )


def run(
    directory: Path, scenario: Callable[[Stage], Awaitable[None]], interval_ms: int = INTERVAL_MS
) -> None:
    def make_stage() -> Stage:
        stage = Stage(directory)
        stage.interval_ms = interval_ms
        return stage

    play(make_stage, scenario, lambda stage: stage.scrubber.run())


def offsets(stage: Stage) -> list[int]:
    return [each.base_offset for each in stage.replica.log.damaged]


def test_every_log_is_scrubbed_once_in_an_interval(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.pass_time(INTERVAL_MS)
        assert (offsets(stage), stage.damaged_replicas) == ([], [])
        stage.damage(2)
        await stage.pass_time(INTERVAL_MS - 1)
        assert not stage.damaged_replicas
        await stage.pass_time(1)
        assert (offsets(stage), stage.damaged_replicas) == ([2], [stage.replica])

    run(tmp_path, scenario)


def test_a_suspect_log_is_scrubbed_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(stage: Stage) -> None:
        stage.damage(2)
        stage.damage(4)
        stage.scrubber.suspect(stage.replica)
        await stage.pass_time(0)
        assert offsets(stage) == [2, 4]
        stage.scrubber.suspect(stage.replica)
        await stage.pass_time(0)
        assert stage.damaged_replicas == [stage.replica] * 2

    with caplog.at_level(logging.ERROR):
        run(tmp_path, scenario)
    assert len([each for each in caplog.records if "do not match their checksums" in each.message]) == 2


def test_without_an_interval_only_suspect_logs_are_scrubbed(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.damage(2)
        await stage.pass_time(10**9)
        assert not stage.damaged_replicas
        stage.scrubber.suspect(stage.replica)
        await stage.pass_time(0)
        assert stage.damaged_replicas

    run(tmp_path, scenario, interval_ms=0)


def test_a_read_of_damaged_bytes_makes_its_log_suspect(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.suspicions.subscribe(stage.scrubber.suspect)
        stage.damage(2)
        with pytest.raises(LogCorrupt):
            await stage.replica.log.read_cold(2, 1 << 20, offset_limit=COUNT)
        await stage.pass_time(0)
        assert (offsets(stage), stage.damaged_replicas) == ([2], [stage.replica])

    run(tmp_path, scenario)


def test_a_log_with_unverified_producers_is_reported_even_without_damage(
    tmp_path: Path,
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.replica.log.producers.mark_unverified(2)
        stage.scrubber.suspect(stage.replica)
        await stage.pass_time(0)
        assert stage.damaged_replicas == [stage.replica]

    run(tmp_path, scenario)


def test_a_changed_interval_applies_at_once(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.pass_time(INTERVAL_MS)
        stage.damage(2)
        await stage.pass_time(1_000)
        stage.interval_ms = 500
        stage.scrubber.on_settings_change()
        await stage.pass_time(0)
        assert stage.damaged_replicas == [stage.replica]

    run(tmp_path, scenario)


def test_an_interval_that_was_zero_applies_at_once(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.damage(2)
        await stage.pass_time(1_000)
        stage.interval_ms = 500
        stage.scrubber.on_settings_change()
        await stage.pass_time(0)
        assert stage.damaged_replicas == [stage.replica]

    run(tmp_path, scenario, interval_ms=0)
