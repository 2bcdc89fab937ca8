"""A damaged log, and other brokers that the test plays."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from penstock.cluster.peers import Peers
from penstock.cluster.repair import DamageRepairer, rebuild_producer_state
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from penstock.storage.damage.damage import Damage
from penstock.storage.log.repair import LogRepair
from tests.cluster.stage import COUNT, NODE, SIZE, TOPIC_ID, DamageStage, play
from tests.storage.logs import batch_of


class PlayedPeer:
    """Another replica; `content` is its log, a batch for each offset."""

    def __init__(self, content: bytes, error: ErrorCode | Exception | None = None) -> None:
        self.content = content
        self.error = error
        self.asked: list[int] = []

    async def call(self, _api_key: int, _version: int, request: FetchRequest) -> FetchResponse:
        wanted = request.topics[0].partitions[0]
        assert request.topics[0].topic_id == TOPIC_ID
        self.asked.append(wanted.fetch_offset)
        if isinstance(self.error, Exception):
            raise self.error
        begin = wanted.fetch_offset * SIZE
        count = max(1, wanted.partition_max_bytes // SIZE)
        data = PartitionData(
            partition_index=0,
            error_code=self.error or 0,
            records=self.content[begin : begin + count * SIZE],
        )
        return FetchResponse(responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])])


class Stage(DamageStage):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.peers = {1: PlayedPeer(self.intact), 3: PlayedPeer(self.intact)}
        self.repairer = DamageRepairer(NODE, cast("Peers", self), self.clock)

    def channel(self, broker_id: int) -> Any:
        return self.peers[broker_id]

    async def damage_all(self, *offsets: int) -> None:
        for offset in offsets:
            self.damage(offset)

        async def rest() -> None:
            pass

        await LogRepair(self.replica.log).check(self.replica.log.segments[0], rest)
        self.repairer.on_damage(self.replica)
        await self.pass_time(0)

    @property
    def is_intact(self) -> bool:
        return self.content() == self.intact and not self.replica.log.damaged


def run(directory: Path, scenario: Callable[[Stage], Awaitable[None]]) -> None:
    play(lambda: Stage(directory), scenario, lambda stage: stage.repairer.run())


@pytest.mark.parametrize("offsets", [(0,), (2, 3), (1, 4, COUNT - 1)])
def test_damaged_batches_are_replaced_by_those_of_the_leader(
    tmp_path: Path, offsets: tuple[int, ...]
) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.damage_all(*offsets)
        assert stage.is_intact
        assert not stage.replica.log.has_unsynced, "and synced"
        assert stage.peers[3].asked == []

    run(tmp_path, scenario)


@pytest.mark.parametrize("begin", [0, COUNT - 2])
def test_a_missing_end_is_fetched_although_its_size_is_unknown(tmp_path: Path, begin: int) -> None:
    async def scenario(stage: Stage) -> None:
        log = stage.replica.log
        stage.peers[1].content += batch_of("more", base_offset=COUNT)
        log.segments[0].truncate_to(begin, begin * SIZE)
        missing = Damage(segment=0, position=begin * SIZE, size_bytes=0, base_offset=begin, next_offset=COUNT)
        log.damaged.set_found(0, [missing])
        stage.repairer.on_damage(stage.replica)
        await stage.pass_time(0)
        assert stage.is_intact

    run(tmp_path, scenario)


def test_unverified_producer_state_is_rebuilt_when_the_last_damaged_batch_is_repaired(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.replica.log.producers.mark_unverified(2)
        stage.peers[1].error = stage.peers[3].error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        await stage.damage_all(2)
        assert stage.replica.last_stable_offset == 2
        stage.peers[1].error = None
        await stage.pass_time(60_000)
        assert stage.is_intact
        assert stage.replica.last_stable_offset == COUNT

    run(tmp_path, scenario)


@pytest.mark.parametrize("error", [ConnectionResetError(), ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_another_replica_is_asked_when_the_first_does_not_answer(
    tmp_path: Path, error: ErrorCode | Exception
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.peers[1].error = error
        await stage.damage_all(2)
        assert stage.is_intact
        assert stage.peers[1].asked

    run(tmp_path, scenario)


def test_replicas_out_of_sync_are_asked_too(tmp_path: Path) -> None:
    """Cluster seed 263, corruption and crashes only: followers could not get past the damage, and were not in sync."""

    async def scenario(stage: Stage) -> None:
        assert stage.replica.state is not None
        stage.replica.follow(msgspec.structs.replace(stage.replica.state, isr=(NODE,)))
        await stage.damage_all(2)
        assert stage.is_intact

    run(tmp_path, scenario)


def test_another_replica_is_asked_when_the_first_has_the_same_damage(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        corrupted = bytearray(stage.intact)
        corrupted[3 * SIZE - 1] ^= 1
        stage.peers[1].content = bytes(corrupted)
        await stage.damage_all(2)
        assert stage.is_intact

    run(tmp_path, scenario)


def test_without_an_undamaged_replica_nothing_changes_and_the_repair_is_logged_once_and_retried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(stage: Stage) -> None:
        for peer in stage.peers.values():
            peer.error = ConnectionRefusedError()
        await stage.damage_all(2)
        corrupted = stage.content()
        for _ in range(5):
            await stage.pass_time(60_000)
        assert stage.content() == corrupted
        assert stage.replica.log.log_end_offset == COUNT
        assert len(stage.peers[3].asked) == 6
        stage.peers[3].error = None
        await stage.pass_time(60_000)
        assert stage.is_intact

    with caplog.at_level(logging.ERROR):
        run(tmp_path, scenario)
    (logged,) = [each.message for each in caplog.records if "no other replica" in each.message]
    assert "offsets 2 to 2" in logged


def test_a_single_replica_logs_the_damage_and_keeps_its_records(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(stage: Stage) -> None:
        assert stage.replica.state is not None
        stage.replica.follow(
            msgspec.structs.replace(
                stage.replica.state, replicas=(NODE,), isr=(NODE,), leader=NODE, leader_epoch=1
            )
        )
        await stage.damage_all(2)
        assert [each.base_offset for each in stage.replica.log.damaged] == [2]
        assert stage.peers[1].asked == []

    with caplog.at_level(logging.ERROR):
        run(tmp_path, scenario)
    assert "Restore the file from a backup" in caplog.text


def test_uncommitted_records_are_not_repaired_because_others_may_replace_them(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.replica.high_watermark = 2
        await stage.damage_all(2)
        assert stage.peers[1].asked == []
        stage.replica.high_watermark = 3
        await stage.pass_time(60_000)
        assert stage.is_intact

    run(tmp_path, scenario)


def test_a_single_replica_trusts_its_producer_state(tmp_path: Path) -> None:
    async def scenario() -> None:
        alone = DamageStage(tmp_path, replicas=(NODE,))
        alone.replica.log.producers.mark_unverified(2)
        assert alone.replica.last_stable_offset == 2
        await rebuild_producer_state(alone.replica)
        assert alone.replica.last_stable_offset == COUNT
        await alone.store.close()

    asyncio.run(scenario())
