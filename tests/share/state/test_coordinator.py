"""The five requests about the state of share partitions, and FindCoordinator for it, with a live broker."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.cluster.metadata.topic_names import SHARE_GROUP_STATE
from penstock.cluster.replica import Replica
from penstock.protocol.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.records.batch import BatchHeader, iter_batches
from penstock.share.state.keys import coordinator_key
from penstock.share.state.values import SharePartitionKey
from penstock.storage.log.log import Log
from penstock.storage.log.values import LogSlice
from penstock_simulation.disk import FaultyDisk
from tests.groups.group_client import unique_group
from tests.server.live import Client, Live, TopicHandle, code, one, running_broker, until, versions

SETTINGS = {
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.snapshot.update.records.per.snapshot": "2",
}


class StateClient:
    """A broker, as the share coordinator sees it, for one share partition."""

    def __init__(self, client: Client, topic: TopicHandle, group: str = "", partition: int = 0) -> None:
        self.client = client
        self.topic = topic
        self.key = SharePartitionKey(group or unique_group(), topic.id, partition)

    def at(self, client: Client) -> "StateClient":
        """The same, on another connection."""
        return StateClient(client, self.topic, self.key.group_id, self.key.partition)

    async def find(self, version: int | None = None) -> Any:
        request = FindCoordinatorRequest(key_type=2, coordinator_keys=[coordinator_key(self.key)])
        return one((await self.client.send(request, version)).coordinators)

    async def initialize(self, state_epoch: int = 0, start_offset: int = 0) -> str:
        api = initialize_share_group_state
        partition = api.PartitionData(
            partition=self.key.partition, state_epoch=state_epoch, start_offset=start_offset
        )
        topic = api.InitializeStateData(topic_id=self.key.topic_id, partitions=[partition])
        return code(
            (
                await self._send(
                    api.InitializeShareGroupStateRequest(group_id=self.key.group_id, topics=[topic])
                )
            ).error_code
        )

    async def read(self, leader_epoch: int = 0) -> read_share_group_state.PartitionResult:
        api = read_share_group_state
        partition = api.PartitionData(partition=self.key.partition, leader_epoch=leader_epoch)
        topic = api.ReadStateData(topic_id=self.key.topic_id, partitions=[partition])
        result: api.PartitionResult = await self._send(
            api.ReadShareGroupStateRequest(group_id=self.key.group_id, topics=[topic])
        )
        return result

    async def write(
        self,
        first: int,
        last: int,
        *,
        version: int = 1,
        state: int = 2,
        start: int = -1,
        done: int = -1,
        epoch: int = 0,
    ) -> str:
        api = write_share_group_state
        partition = api.PartitionData(
            partition=self.key.partition,
            state_epoch=epoch,
            start_offset=start,
            delivery_complete_count=done,
            state_batches=[
                api.StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=1)
            ],
        )
        topic = api.WriteStateData(topic_id=self.key.topic_id, partitions=[partition])
        request = api.WriteShareGroupStateRequest(group_id=self.key.group_id, topics=[topic])
        return code((await self._send(request, version)).error_code)

    async def summary(self, version: int = 1) -> read_share_group_state_summary.PartitionResult:
        api = read_share_group_state_summary
        partition = api.PartitionData(partition=self.key.partition)
        topic = api.ReadStateSummaryData(topic_id=self.key.topic_id, partitions=[partition])
        request = api.ReadShareGroupStateSummaryRequest(group_id=self.key.group_id, topics=[topic])
        result: api.PartitionResult = await self._send(request, version)
        return result

    async def delete(self) -> str:
        api = delete_share_group_state
        partition = api.PartitionData(partition=self.key.partition)
        topic = api.DeleteStateData(topic_id=self.key.topic_id, partitions=[partition])
        request = api.DeleteShareGroupStateRequest(group_id=self.key.group_id, topics=[topic])
        return code((await self._send(request)).error_code)

    async def _send(self, request: Any, version: int | None = None) -> Any:
        """Gives the result for the only partition."""
        response = await self.client.send(request, version)
        topic = one(response.results)
        assert topic.topic_id == self.key.topic_id
        result = one(topic.partitions)
        assert result.partition == self.key.partition
        return result


def batches(result: read_share_group_state.PartitionResult) -> list[tuple[int, int, int, int]]:
    return [
        (each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in result.state_batches
    ]


@contextlib.asynccontextmanager
async def connected(live: Live) -> AsyncIterator[Client]:
    client = await live.connect_as_broker()
    yield client
    await client.close()


async def a_state(client: Client) -> StateClient:
    """A broker's connection, once the share coordinator is available."""
    state = StateClient(client, await client.create_topic())
    assert code((await state.find()).error_code) == "NONE"
    return state


@pytest.mark.parametrize("version", versions(FindCoordinatorRequest)[4:])
async def test_the_coordinator_of_a_share_partition_is_found_from_version_6_on(
    other_broker: Client, live: Live, version: int
) -> None:
    state = StateClient(other_broker, await other_broker.create_topic())

    found = await state.find(version)

    if version < 6:
        assert (code(found.error_code), found.node_id) == ("INVALID_REQUEST", -1)
    else:
        assert (code(found.error_code), found.node_id, found.port) == ("NONE", 1, live.port)


async def test_an_invalid_share_partition_key_has_no_coordinator(other_broker: Client) -> None:
    answer = await other_broker.send(FindCoordinatorRequest(key_type=2, coordinator_keys=["group:topic:0"]))

    assert code(one(answer.coordinators).error_code) == "INVALID_REQUEST"


@pytest.mark.parametrize("version", versions(write_share_group_state.WriteShareGroupStateRequest))
async def test_a_written_state_is_read_and_summarized(other_broker: Client, version: int) -> None:
    state = await a_state(other_broker)
    assert await state.initialize(state_epoch=3, start_offset=5) == "NONE"

    assert await state.write(7, 9, version=version, epoch=3, start=6, done=3) == "NONE"

    read = await state.read(leader_epoch=2)
    assert (code(read.error_code), read.state_epoch, read.start_offset) == ("NONE", 3, 6)
    assert batches(read) == [(7, 9, 2, 1)]
    summary = await state.summary()
    known = 3 if version >= 1 else -1
    assert (summary.state_epoch, summary.leader_epoch, summary.start_offset) == (3, 2, 6)
    assert summary.delivery_complete_count == known
    assert (await state.summary(version=0)).delivery_complete_count == -1


async def test_refused_requests_have_an_error_message(other_broker: Client) -> None:
    state = await a_state(other_broker)

    assert await state.write(0, 1) == "INVALID_REQUEST", "nobody initialized it"
    unread = await state.read()
    assert unread.error_message == "Read operation on uninitialized share partition not allowed."
    assert await state.initialize() == "NONE"
    assert await state.write(0, 1, state=3) == "INVALID_REQUEST", "there is no such state"
    assert await state.write(2, 1) == "INVALID_REQUEST", "a batch has at least one record"
    assert await state.delete() == "NONE"
    assert await state.delete() == "NONE", "what is gone can be deleted again"
    assert (await state.summary()).start_offset == -1


async def test_a_request_without_a_group_has_an_empty_response(other_broker: Client) -> None:
    api = read_share_group_state
    topic = api.ReadStateData(topic_id=bytes(16), partitions=[api.PartitionData()])

    assert (await other_broker.send(api.ReadShareGroupStateRequest(topics=[topic]))).results == []


async def test_the_state_of_a_deleted_topic_is_deleted(other_broker: Client, live: Live) -> None:
    state = await a_state(other_broker)
    await state.initialize()
    shard = live.services.share_state.shards.find(coordinator_key(state.key))
    assert not isinstance(shard, int)
    before = len(shard.state)

    await other_broker.send(DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=state.key.topic_id)]))

    assert await state.write(0, 1) == "INVALID_REQUEST"
    assert len(shard.state) == before - 1


async def test_the_state_is_restored_after_a_restart_and_the_log_is_pruned(tmp_path: Path) -> None:
    async with running_broker(tmp_path, SETTINGS) as live, connected(live) as client:
        state = await a_state(client)
        await state.initialize()
        for offset in range(10):
            assert await state.write(offset * 2, offset * 2, start=1) == "NONE"
        before = await state.read()
        await live.services.share_state.prune()
        log = _log_of(live, state)
        assert log.log_start_offset > 0, "snapshots made the first records redundant"
        assert log.log_end_offset - log.log_start_offset <= 4

    async with running_broker(tmp_path, SETTINGS) as live, connected(live) as client:
        state = state.at(client)
        assert code((await state.find()).error_code) == "NONE"

        assert await state.read() == before
        assert batches(before) == [(offset * 2, offset * 2, 2, 1) for offset in range(1, 10)]


async def test_an_idle_share_partition_does_not_prevent_pruning_of_the_log(tmp_path: Path) -> None:
    settings = {**SETTINGS, "share.coordinator.state.topic.num.partitions": "1"}
    settings["share.coordinator.cold.partition.snapshot.interval.ms"] = "1"
    async with running_broker(tmp_path, settings) as live, connected(live) as client:
        resting, busy = await a_state(client), await a_state(client)
        await resting.initialize(start_offset=42)
        await busy.initialize()
        for offset in range(10):
            await busy.write(offset, offset)
        coordinator = live.services.share_state

        await coordinator.snapshot_cold()
        await coordinator.prune()

        log = _log_of(live, resting)
        assert log.log_start_offset >= 10
        assert (await resting.read()).start_offset == 42
        assert batches(await busy.read()) == [(0, 9, 2, 1)]


async def test_the_log_is_pruned_at_a_batch_boundary(tmp_path: Path) -> None:
    settings = {**SETTINGS, "share.coordinator.state.topic.num.partitions": "1"}
    async with running_broker(tmp_path, settings) as live, connected(live) as client:
        states = [await a_state(client) for _ in range(4)]
        for several in (states, states, states[:2]):  # each time all together, in one batch
            for written in [live.services.share_state.initialize(each.key, 0, 0) for each in several]:
                await written
        first_offsets = {each.base_offset for each in headers_of(_log_of(live, states[0]))}

    async with running_broker(tmp_path, settings) as live, connected(live) as client:
        assert code((await states[0].at(client).find()).error_code) == "NONE"
        shard = live.services.share_state.shards.led(0)
        assert not isinstance(shard, int)
        assert shard.state.needed_from(100) not in first_offsets

        await live.services.share_state.prune()

        log_start_offset = shard.replica.log.log_start_offset
        assert log_start_offset > 0
        assert log_start_offset in first_offsets


class StuckDisk:
    """Syncs of the coordinator's log wait until they are let go; `live` brokers sync in threads of their own."""

    def __init__(self) -> None:
        self.disk = FaultyDisk(Random(1))
        self._may_sync = threading.Event()
        self._may_sync.set()
        self.disk.before_sync(self._wait)

    def _wait(self, path: str) -> None:
        if SHARE_GROUP_STATE in path or ".journal" in path:
            self._may_sync.wait(20)

    @contextlib.contextmanager
    def stuck(self) -> Iterator[None]:
        self._may_sync.clear()
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        self._may_sync.set()


async def test_uncommitted_state_is_neither_returned_nor_pruned() -> None:
    stuck = StuckDisk()
    async with running_broker(Path("/data"), SETTINGS, files=stuck.disk) as live, connected(live) as client:
        state = await a_state(client)
        await state.initialize()
        await state.read()
        log = _log_of(live, state)
        with stuck.stuck():
            initialized = asyncio.ensure_future(state.initialize(start_offset=7))
            await until(lambda: log.log_end_offset == 2)
            async with connected(live) as other:
                reading = asyncio.ensure_future(state.at(other).read())
                pruned = asyncio.ensure_future(live.services.share_state.prune())
                async with connected(live) as third:
                    assert (await state.at(third).find()).node_id == 1
                assert not any(each.done() for each in (initialized, reading, pruned))
                assert log.log_start_offset == 0
                stuck.release()
                assert (await reading).start_offset == 7
        await pruned
        assert log.log_start_offset == 1


async def test_a_request_that_waits_too_long_for_the_log_gets_a_retriable_error() -> None:
    stuck = StuckDisk()
    settings = {**SETTINGS, "share.coordinator.write.timeout.ms": "1"}
    async with running_broker(Path("/data"), settings, files=stuck.disk) as live, connected(live) as client:
        state = await a_state(client)
        with stuck.stuck():
            assert await state.initialize() == "COORDINATOR_NOT_AVAILABLE"


async def test_the_state_of_a_topic_that_was_deleted_during_an_outage_is_deleted_later() -> None:
    disk = FaultyDisk(Random(1))
    async with running_broker(Path("/data"), SETTINGS, files=disk) as live, connected(live) as client:
        state = await a_state(client)
        await state.initialize()
        disk.fail("write", SHARE_GROUP_STATE)
        await client.send(DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=state.key.topic_id)]))
    async with running_broker(Path("/data"), SETTINGS, files=disk.crash()) as live, connected(live) as client:
        assert code((await state.at(client).find()).error_code) == "NONE"
        assert sum(len(shard.state) for shard in live.services.share_state.shards) == 0


def headers_of(log: Log) -> list[BatchHeader]:
    piece = log.read(0, 1 << 20, offset_limit=log.log_end_offset)
    assert isinstance(piece, LogSlice)
    return [header for _, header in iter_batches(bytes(piece.records))]


def _log_of(live: Live, state: StateClient) -> Log:
    shard = live.services.share_state.shards.find(coordinator_key(state.key))
    assert not isinstance(shard, int)
    leader = live.services.replicas.leader_of(SHARE_GROUP_STATE, shard.number)
    assert isinstance(leader, Replica)
    return leader.log
