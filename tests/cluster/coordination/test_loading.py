"""A coordinator's log with damaged records: repaired by another replica if there is one, otherwise skipped."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from penstock.cluster.coordination.loading import IsOpen, PartitionLoad, describe_gaps
from penstock.cluster.repair import repair
from penstock.protocol.errors import ProtocolError
from penstock.protocol.records.record import Record
from penstock.storage.errors import LogCorrupt
from tests.cluster.stage import COUNT, NODE, SIZE, DamageStage

SKIPPED = "skipped"


class RecordedState:
    """State that records its calls."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def replay(self, record: Record, producer_id: int) -> None:
        self.seen.append(record.offset)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        self.seen.append((producer_id, is_commit))

    def skip_records(self, is_open: IsOpen) -> str:
        self.seen.append(SKIPPED)
        return "Some are missing."


class Stage(DamageStage):
    def __init__(self, directory: Path, *replicas: int) -> None:
        super().__init__(directory, replicas=replicas)
        self.state = RecordedState()
        self.load = PartitionLoad(self.replica, self.state, self.clock)

    async def run(self) -> None:
        await self.load.run(asyncio.Semaphore(1), COUNT)

    async def pass_time(self, duration_ms: int) -> None:
        for _ in range(duration_ms // 100):
            for _ in range(20):
                await asyncio.sleep(0)
            self.clock.advance(100)
        for _ in range(20):
            await asyncio.sleep(0)


def run(directory: Path, scenario: Callable[[Stage], Awaitable[None]], *replicas: int) -> None:
    async def played() -> None:
        stage = Stage(directory, *replicas)
        async with asyncio.timeout(20):
            await scenario(stage)
        await stage.store.close()

    asyncio.run(played())


def test_a_single_replica_skips_damaged_records_and_reports_them(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        for offset in (0, 2, 3, COUNT - 1):
            stage.damage(offset)
        await stage.run()
        assert stage.state.seen == [SKIPPED, 1, SKIPPED, 4, SKIPPED]
        described = describe_gaps(stage.replica, stage.load.gaps)
        assert f"offsets 2 to 3 (byte {2 * SIZE} of {stage.path})" in described
        assert described.endswith("are damaged and were skipped. Some are missing.")

    run(tmp_path, scenario, NODE)


def test_a_load_waits_until_another_replica_has_repaired_the_log(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.damage(2)
        loading = asyncio.ensure_future(stage.run())
        await stage.pass_time(5_000)
        assert (stage.state.seen, loading.done()) == ([0, 1], False)
        (damage,) = stage.replica.log.damaged
        assert repair(stage.replica, damage, stage.intact[2 * SIZE : 3 * SIZE])
        await stage.pass_time(100)
        await loading
        assert (stage.state.seen, stage.load.gaps) == (list(range(COUNT)), [])

    run(tmp_path, scenario, 1, NODE, 3)


def test_a_load_waits_for_a_repair_only_for_a_limited_time(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.damage(2)
        loading = asyncio.ensure_future(stage.run())
        await stage.pass_time(11_000)
        await loading
        assert stage.state.seen == [0, 1, SKIPPED, *range(3, COUNT)]

    run(tmp_path, scenario, 1, NODE, 3)


def test_other_partitions_are_loaded_while_one_waits_for_a_repair(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.damage(2)
        turn = asyncio.Semaphore(1)
        loading = asyncio.ensure_future(stage.load.run(turn, COUNT))
        await stage.pass_time(1_000)
        assert not loading.done()
        assert not turn.locked()
        loading.cancel()

    run(tmp_path, scenario, 1, NODE, 3)


def test_a_malformed_record_is_skipped_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Strict(RecordedState):
        def replay(self, record: Record, producer_id: int) -> None:
            if record.offset == 2:
                raise ProtocolError("no such version")
            super().replay(record, producer_id)

    async def scenario(stage: Stage) -> None:
        state = Strict()
        stage.load = PartitionLoad(stage.replica, state, stage.clock)
        await stage.run()
        assert state.seen == [each for each in range(COUNT) if each != 2]
        name = f"{stage.replica.topic}-{stage.replica.partition}"
        assert f"Skipped a malformed record in {name} at offset 2: no such version" in caplog.messages

    run(tmp_path, scenario, NODE)


def test_a_load_fails_if_records_cannot_be_read_without_known_damage(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        async def refuse(*_: object, **__: object) -> None:
            raise LogCorrupt("no reason")

        log = stage.replica.log
        stage.load = PartitionLoad(stage.replica, stage.state, stage.clock)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(log), "read_cold", refuse)
            with pytest.raises(LogCorrupt, match="no reason"):
                await stage.run()

    run(tmp_path, scenario, NODE)
