"""Fetches of a follower, played by the test: throttled while it lags, and never answered with corrupt batches."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.cluster.in_sync import WantedSet
from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import FetchPartition, PartitionData, ReplicaState
from penstock.storage.log.log import Log
from penstock.storage.log.values import COLD, LogSlice
from tests.server.live import (
    Client,
    Live,
    TopicHandle,
    batch,
    begin_epoch,
    fetch_request,
    fetch_topic,
    one,
    running_broker,
    values_in,
)

FOLLOWER = 9
VERSION = 17


def has_follower(live: Live, topic: TopicHandle, *, is_in_sync: bool) -> Replica:
    leader = live.services.replicas.leader_of(topic.name, 0)
    assert isinstance(leader, Replica)
    state = leader.state
    assert state is not None
    leader.follow(
        msgspec.structs.replace(
            state,
            replicas=(1, FOLLOWER),
            isr=(1, FOLLOWER) if is_in_sync else (1,),
            leader_epoch=state.leader_epoch + 1,
        )
    )
    return leader


async def fetch(
    client: Client, topic: TopicHandle, offset: int = 0, *, error: ErrorCode = ErrorCode.NONE
) -> PartitionData:
    wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = fetch_request(
        [fetch_topic(topic, VERSION, {0: wanted})], replica_state=ReplicaState(replica_id=FOLLOWER)
    )
    response = await client.send(request, VERSION)
    found: PartitionData = one([p for t in response.responses for p in t.partitions])
    assert found.error_code == error
    return found


async def test_a_lagging_follower_is_throttled_to_the_replication_rate(
    tmp_path: Path,
) -> None:
    async with running_broker(tmp_path, {"leader.replication.throttled.rate": "10"}) as live:
        client = await live.connect_as_broker()
        throttled = await client.create_topic(configs={"leader.replication.throttled.replicas": "0:1"})
        free = await client.create_topic()
        for topic in (throttled, free):
            await client.produce(topic, batch(b"v"))
            has_follower(live, topic, is_in_sync=False)
        assert values_in(await fetch(client, throttled)) == [b"v"], "nothing was given before"
        held_back = await fetch(client, throttled)
        assert (held_back.records, held_back.high_watermark) == (b"", 1)
        assert values_in(await fetch(client, free)) == [b"v"]
        has_follower(live, throttled, is_in_sync=True)
        assert values_in(await fetch(client, throttled)) == [b"v"], "or it would fall out of sync"
        await client.close()


async def test_a_corrupted_batch_is_not_served_and_is_repaired_from_another_replica(
    tmp_path: Path,
) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect_as_broker()
        topic = await client.create_topic()
        for value in (b"a", b"b", b"c"):
            await client.produce(topic, batch(value))
    size = len(batch(b"a"))
    with (tmp_path / f"{topic.name}-0" / f"{0:020d}.log").open("r+b") as file:
        file.seek(2 * size - 2)
        file.write(b"?")
    async with running_broker(tmp_path) as live:
        client = await live.connect_as_broker()
        leader = has_follower(live, topic, is_in_sync=False)
        assert values_in(await fetch(client, topic)) == [b"a"]
        await fetch(client, topic, 1, error=ErrorCode.KAFKA_STORAGE_ERROR)
        async with asyncio.timeout(10):
            while not leader.log.damaged:
                await asyncio.sleep(0.001)
        assert values_in(await client.fetch(topic, 2)) == [b"c"]
        assert (await client.fetch(topic, 1)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        state = leader.state
        assert state is not None
        leader.follow(
            msgspec.structs.replace(state, replicas=(1,), isr=(1,), leader_epoch=state.leader_epoch + 1)
        )
        assert (await client.fetch(topic, 1)).error_code == ErrorCode.CORRUPT_MESSAGE
        await client.close()


def wanted_in_sync(leader: Replica) -> WantedSet | None:
    assert leader.followers is not None
    now_ms = leader.deps.clock.monotonic_ms()
    return leader.followers.wanted(leader.log.log_end_offset, leader.high_watermark, now_ms)


async def test_an_in_sync_follower_that_fetches_committed_records_again_leaves_the_set(
    tmp_path: Path,
) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect_as_broker()
        topic = await client.create_topic()
        await client.produce(topic, batch(b"v"))
        leader = has_follower(live, topic, is_in_sync=True)
        noted: list[
            tuple[Replica, WantedSet | None]
        ] = []  # at once, before the broker asks its controller for it
        live.services.replicas.in_sync_changes.subscribe(
            lambda replica: noted.append((replica, wanted_in_sync(replica)))
        )
        await fetch(client, topic, 1)
        assert (noted, wanted_in_sync(leader)) == ([], None)
        await fetch(client, topic, 0)
        replica, wanted = noted[0]
        assert replica is leader
        assert wanted is not None
        assert [each for each, _ in wanted.members] == [1]
        await client.close()


async def test_records_read_during_a_leadership_change_are_not_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log may have been truncated and written to by the next leader before the disk answered."""
    async with running_broker(tmp_path) as live:
        client = await live.connect_as_broker()
        topic = await client.create_topic()
        await client.produce(topic, batch(b"v"))
        leader = has_follower(live, topic, is_in_sync=True)
        read_cold = Log.read_cold

        async def read_while_replaced(log: Log, *args: Any, **limits: Any) -> LogSlice:
            found = await read_cold(log, *args, **limits)
            begin_epoch(leader, leader.leader_epoch + 2)
            return found

        monkeypatch.setattr(Log, "read", lambda *_, **__: COLD)
        monkeypatch.setattr(Log, "read_cold", read_while_replaced)
        assert (await fetch(client, topic, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)).records == b""
        await client.close()
