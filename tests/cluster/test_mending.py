"""A log that lost bytes, and other brokers that the test plays."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from penstock.cluster.mending import Mender, rebuild_producer_state
from penstock.cluster.peers import Peers
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from penstock.storage.damage import Damage
from penstock.storage.log.repair import LogRepair
from tests.cluster.rotting import COUNT, NODE, SIZE, TOPIC_ID, Rotting
from tests.storage.logs import batch_of


class PlayedPeer:
    """Another replica; `content` is what it holds, a batch for each offset."""

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


class Stage(Rotting):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.peers = {1: PlayedPeer(self.sound), 3: PlayedPeer(self.sound)}
        self.mender = Mender(NODE, cast("Peers", self), self.clock)

    def channel(self, broker_id: int) -> Any:
        return self.peers[broker_id]

    async def rots(self, *offsets: int) -> None:
        for offset in offsets:
            self.rot(offset)

        async def rest() -> None:
            pass

        await LogRepair(self.replica.log).check(self.replica.log.segments[0], rest)
        self.mender.note(self.replica)
        await self.pass_time(0)

    async def pass_time(self, duration_ms: int) -> None:
        for _ in range(30):
            await asyncio.sleep(0)
        self.clock.advance(duration_ms)
        for _ in range(30):
            await asyncio.sleep(0)

    @property
    def is_sound(self) -> bool:
        return self.content() == self.sound and not self.replica.log.damaged


def run(directory: Path, scenario: Callable[[Stage], Awaitable[None]]) -> None:
    async def played() -> None:
        stage = Stage(directory)
        running = asyncio.ensure_future(stage.mender.run())
        try:
            async with asyncio.timeout(20):
                await scenario(stage)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await stage.store.close()

    asyncio.run(played())


@pytest.mark.parametrize("offsets", [(0,), (2, 3), (1, 4, COUNT - 1)])
def test_what_rotted_is_replaced_by_what_the_leader_has(tmp_path: Path, offsets: tuple[int, ...]) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.rots(*offsets)
        assert stage.is_sound
        assert not stage.replica.log.has_unsynced, "and synced"
        assert stage.peers[3].asked == []

    run(tmp_path, scenario)


@pytest.mark.parametrize("begin", [0, COUNT - 2])
def test_an_end_that_is_missing_is_fetched_though_its_size_is_not_known(tmp_path: Path, begin: int) -> None:
    async def scenario(stage: Stage) -> None:
        log = stage.replica.log
        stage.peers[1].content += batch_of("more", base_offset=COUNT)
        log.segments[0].truncate_to(begin, begin * SIZE)
        missing = Damage(segment=0, position=begin * SIZE, size_bytes=0, base_offset=begin, next_offset=COUNT)
        log.damaged.set_found(0, [missing])
        stage.mender.note(stage.replica)
        await stage.pass_time(0)
        assert stage.is_sound

    run(tmp_path, scenario)


def test_what_recovery_could_not_tell_of_producers_is_settled_with_the_last_batch(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.replica.log.producers.mark_unverified(2)
        stage.peers[1].error = stage.peers[3].error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        await stage.rots(2)
        assert stage.replica.last_stable_offset == 2
        stage.peers[1].error = None
        await stage.pass_time(60_000)
        assert stage.is_sound
        assert stage.replica.last_stable_offset == COUNT

    run(tmp_path, scenario)


@pytest.mark.parametrize("error", [ConnectionResetError(), ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_another_is_asked_when_the_first_does_not_answer(
    tmp_path: Path, error: ErrorCode | Exception
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.peers[1].error = error
        await stage.rots(2)
        assert stage.is_sound
        assert stage.peers[1].asked

    run(tmp_path, scenario)


def test_who_is_not_in_sync_is_asked_too(tmp_path: Path) -> None:
    """Cluster seed 263, rot and crashes only: followers could not get past the damage, and were not in sync."""

    async def scenario(stage: Stage) -> None:
        assert stage.replica.state is not None
        stage.replica.follow(msgspec.structs.replace(stage.replica.state, isr=(NODE,)))
        await stage.rots(2)
        assert stage.is_sound

    run(tmp_path, scenario)


def test_another_is_asked_when_the_first_has_lost_the_same(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        rotten = bytearray(stage.sound)
        rotten[3 * SIZE - 1] ^= 1
        stage.peers[1].content = bytes(rotten)
        await stage.rots(2)
        assert stage.is_sound

    run(tmp_path, scenario)


def test_while_nobody_helps_nothing_is_changed_it_is_said_once_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(stage: Stage) -> None:
        for peer in stage.peers.values():
            peer.error = ConnectionRefusedError()
        await stage.rots(2)
        rotten = stage.content()
        for _ in range(5):
            await stage.pass_time(60_000)
        assert stage.content() == rotten
        assert stage.replica.log.log_end_offset == COUNT
        assert len(stage.peers[3].asked) == 6
        stage.peers[3].error = None
        await stage.pass_time(60_000)
        assert stage.is_sound

    with caplog.at_level(logging.ERROR):
        run(tmp_path, scenario)
    (said,) = [each.message for each in caplog.records if "no other replica" in each.message]
    assert "offsets 2 to 2" in said


def test_a_replica_alone_says_so_and_keeps_what_it_has(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(stage: Stage) -> None:
        assert stage.replica.state is not None
        stage.replica.follow(
            msgspec.structs.replace(
                stage.replica.state, replicas=(NODE,), isr=(NODE,), leader=NODE, leader_epoch=1
            )
        )
        await stage.rots(2)
        assert [each.base_offset for each in stage.replica.log.damaged] == [2]
        assert stage.peers[1].asked == []

    with caplog.at_level(logging.ERROR):
        run(tmp_path, scenario)
    assert "Restore the file from a backup" in caplog.text


def test_what_is_not_committed_is_not_mended_for_another_may_take_its_place(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.replica.high_watermark = 2
        await stage.rots(2)
        assert stage.peers[1].asked == []
        stage.replica.high_watermark = 3
        await stage.pass_time(60_000)
        assert stage.is_sound

    run(tmp_path, scenario)


def test_what_a_lone_replica_knows_of_producers_has_to_do(tmp_path: Path) -> None:
    async def scenario() -> None:
        alone = Rotting(tmp_path, replicas=(NODE,))
        alone.replica.log.producers.mark_unverified(2)
        assert alone.replica.last_stable_offset == 2
        await rebuild_producer_state(alone.replica)
        assert alone.replica.last_stable_offset == COUNT
        await alone.store.close()

    asyncio.run(scenario())
