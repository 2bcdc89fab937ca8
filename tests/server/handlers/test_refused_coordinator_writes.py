"""When a coordinator's log refuses a write, clients get an error, and the state is unchanged."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.state import Topic
from penstock.groups.services.base import Shard
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.describe_groups import DescribeGroupsRequest
from penstock.protocol.messages.heartbeat import HeartbeatRequest
from penstock.protocol.messages.list_groups import ListGroupsRequest
from penstock.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from penstock.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from penstock.share.state.values import PersisterError, SharePartitionKey
from tests.groups.group_client import GroupClient
from tests.groups.services.consumer.members import Consumer
from tests.groups.services.share.members import ShareConsumer, group_of
from tests.server.live import Client, Live, code, one, running_broker
from tests.transactions.live_producer import LiveProducer
from tests.transactions.live_transactions import at_rest

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "group.consumer.assignment.interval.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "share.coordinator.state.topic.num.partitions": "1",
}


def run(story: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30):
            await story

    asyncio.run(bounded())


@contextlib.asynccontextmanager
async def broker(directory: Path, **settings: str) -> AsyncIterator[tuple[Live, Client]]:
    """A broker with one partition for all groups, which is loaded."""
    async with running_broker(directory, {**SETTINGS, **settings}) as live:
        client = await live.connect()
        await GroupClient(client, "g").find()
        yield live, client


def home(live: Live, group: str = "g") -> Shard:
    shard = live.services.groups.find(group)
    assert not isinstance(shard, ErrorCode)
    return shard


@contextlib.contextmanager
def taking_no_more_than(size_bytes: int, live: Live) -> Iterator[None]:
    """The offsets topic takes no larger records meanwhile; its partition is not loaded anew."""
    shard = home(live)
    log, end_offset = shard.replica.log, shard.replica.log.log_end_offset
    before = log.config
    log.configure(msgspec.structs.replace(before, max_message_bytes=size_bytes))
    yield
    log.configure(before)
    assert home(live) is shard
    assert log.log_end_offset == end_offset


async def listed(client: Client) -> dict[str, str]:
    return {each.group_id: each.group_type for each in (await client.send(ListGroupsRequest())).groups}


# -- offsets ----------------------------------------------------------------------------------------------


def test_a_refused_commit_is_not_fetched_and_creates_no_group(tmp_path: Path) -> None:
    async def story() -> None:
        async with broker(tmp_path) as (live, client):
            topic, member = await client.create_topic(partitions=2), GroupClient(client, "g")
            with taking_no_more_than(500, live):
                refused = await member.commit(topic, {0: 5, 1: 6}, metadata="m" * 600)
                assert refused == {0: "UNKNOWN_SERVER_ERROR", 1: "UNKNOWN_SERVER_ERROR"}
                assert await member.committed(topic, 0, 1) == {0: (-1, -1, ""), 1: (-1, -1, "")}
                assert await listed(client) == {}
            assert await member.commit(topic, {0: 7}) == {0: "NONE"}
            assert (await member.committed(topic, 0))[0][0] == 7

    run(story())


def test_a_refused_commit_keeps_the_previous_offset(tmp_path: Path) -> None:
    async def story() -> None:
        async with broker(tmp_path) as (live, client):
            topic, member = await client.create_topic(), GroupClient(client, "g")
            assert await member.commit(topic, {0: 3}) == {0: "NONE"}
            with taking_no_more_than(500, live):
                await member.commit(topic, {0: 5}, metadata="m" * 600)
            assert (await member.committed(topic, 0))[0] == (3, -1, "")

    run(story())


def test_a_commit_in_a_transaction_is_stored_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    async def story() -> None:
        async with broker(tmp_path) as (live, client):
            topic, member = await client.create_topic(partitions=3), GroupClient(client, "g")
            producer = LiveProducer(client, "app", is_v2=True)
            assert await producer.init() is ErrorCode.NONE
            with taking_no_more_than(500, live):
                request = TxnOffsetCommitRequest(
                    transactional_id="app",
                    group_id="g",
                    producer_id=producer.producer_id,
                    producer_epoch=producer.epoch,
                    topics=[
                        TxnOffsetCommitRequestTopic(
                            name=topic.name,
                            partitions=[
                                TxnOffsetCommitRequestPartition(
                                    partition_index=n, committed_offset=n, committed_metadata="m" * size
                                )
                                for n, size in enumerate((600, 0, 0))
                            ],
                        )
                    ],
                )
                answer = await client.send(request)
                codes = {code(each.error_code) for each in one(answer.topics).partitions}
                assert codes == {"UNKNOWN_SERVER_ERROR"}
            shard = home(live)
            assert not any(shard.state.offsets.is_unstable("g", topic.name, n) for n in range(3))
            assert (await producer.end(commit=True)).name == "NONE"
            await at_rest(live, producer)
            found = await member.committed(topic, 0, 1, 2)
            assert {each[0] for each in found.values()} == {-1}

    run(story())


def test_a_replaced_leader_neither_stores_nor_returns_offsets(tmp_path: Path) -> None:
    async def story() -> None:
        async with broker(tmp_path) as (live, client):
            topic, member = await client.create_topic(), GroupClient(client, "g")
            assert await member.commit(topic, {0: 3}) == {0: "NONE"}
            replica = home(live).replica
            end_offset, state = replica.log.log_end_offset, replica.state
            assert state is not None
            # The metadata says so; the coordinators are told after the other partitions have been.
            replica.follow(msgspec.structs.replace(state, leader=2, leader_epoch=state.leader_epoch + 1))

            assert await member.commit(topic, {0: 4}) == {0: "NOT_COORDINATOR"}
            assert replica.log.log_end_offset == end_offset
            group = OffsetFetchRequestGroup(group_id="g", topics=None)
            fetched = one((await client.send(OffsetFetchRequest(groups=[group]))).groups)
            assert code(fetched.error_code) == "NOT_COORDINATOR"

    run(story())


def test_offsets_of_a_recreated_topic_are_kept_when_those_of_the_old_one_are_deleted(tmp_path: Path) -> None:
    """As in a metadata snapshot, which contains both changes, when a commit comes before the groups know of them."""

    async def story() -> None:
        async with broker(tmp_path) as (live, client):
            topic, member = await client.create_topic(), GroupClient(client, "g")
            assert await member.commit(topic, {0: 42}) == {0: "NONE"}
            delta = MetadataDelta(0)
            delta.topic_deleted(Topic(topic.name, b"o" * 16))
            delta.topic_created(live.services.controller.image.topics[topic.name])
            live.services.groups.apply(delta)
            assert (await member.committed(topic, 0))[0][0] == 42

    run(story())


# -- classic groups ---------------------------------------------------------------------------------------


def test_a_refused_rejoin_of_a_static_member_keeps_its_previous_member_id(tmp_path: Path) -> None:
    async def story() -> None:
        async with broker(tmp_path) as (live, client):
            old = GroupClient(client, "g")
            await old.join(group_instance_id="i")
            await old.sync(assignments={old.member_id: b"a"})
            before = await client.send(DescribeGroupsRequest(groups=["g"]))
            with taking_no_more_than(200, live):
                new = GroupClient(await live.connect(), "g")
                answer = await new.begin_join(9, group_instance_id="i", session_timeout_ms=20_000)
                assert code(answer.error_code) == "UNKNOWN_SERVER_ERROR"
            request = HeartbeatRequest(
                group_id="g", generation_id=old.generation, member_id=old.member_id, group_instance_id="i"
            )
            assert code((await client.send(request)).error_code) == "NONE"
            assert await client.send(DescribeGroupsRequest(groups=["g"])) == before
            answer = await new.begin_join(9, group_instance_id="i")
            assert code(answer.error_code) == "NONE"

    run(story())


def test_a_refused_join_creates_no_group(tmp_path: Path) -> None:
    async def story() -> None:
        async with broker(tmp_path) as (live, client):
            member = GroupClient(client, "g" * 200)
            with taking_no_more_than(200, live):
                answer = await member.begin_join(9)
                assert code(answer.error_code) == "UNKNOWN_SERVER_ERROR"
                assert await listed(client) == {}
            await member.make_stable()

    run(story())


# -- KIP-848 groups ---------------------------------------------------------------------------------------


def test_an_oversized_heartbeat_is_refused_and_other_groups_are_unaffected(tmp_path: Path) -> None:
    async def story() -> None:
        async with broker(tmp_path, **{"group.initial.rebalance.delay.ms": "1000"}) as (live, client):
            waiting = GroupClient(client, "g")
            first = await waiting.begin_join(9)
            waiting.member_id = first.member_id
            parked = asyncio.ensure_future(waiting.begin_join(9))
            rude = Consumer(await live.connect(), "rude", "m1")
            answer = await rude.join(subscribed_topic_names=[f"{n:0240}" for n in range(5000)])
            assert code(answer.error_code) == "UNKNOWN_SERVER_ERROR"
            assert code((await parked).error_code) == "NONE"
            assert "max.message.bytes" in (answer.error_message or "")
            assert await listed(client) == {"g": "classic"}

    run(story())


def test_a_refused_heartbeat_changes_nothing_in_the_group(tmp_path: Path) -> None:
    async def story() -> None:
        async with broker(tmp_path) as (live, client):
            topic, other = await client.create_topic(partitions=4), await client.create_topic()
            first, second = Consumer(client, "g", "m1", topic), Consumer(client, "g", "m2", topic)
            await first.join()
            await second.join()
            await first.beat()
            before = await first.describe()
            with taking_no_more_than(1000, live):
                answer = await second.beat(
                    subscribed_topic_names=[topic.name, other.name, *(f"{n:0100}" for n in range(10))]
                )
                assert code(answer.error_code) == "UNKNOWN_SERVER_ERROR"
                third = await Consumer(client, "g", "m3", topic).join(rack_id="r" * 1000)
                assert code(third.error_code) == "UNKNOWN_SERVER_ERROR"
            assert await first.describe() == before
            shard = home(live)
            live.services.groups.shards._reload(shard)
            await live.services.groups.shards.wait_until_loaded()
            assert await first.describe() == before
            for each in (first, second, first, second):
                assert code((await each.beat()).error_code) == "NONE"
            assert sorted(len(each.held[topic.id]) for each in (first, second)) == [2, 2]

    run(story())


def test_a_classic_group_whose_upgrade_is_refused_continues(tmp_path: Path) -> None:
    async def story() -> None:
        async with broker(tmp_path) as (live, client):
            topic = await client.create_topic()
            member = GroupClient(client, "g")
            await member.join(topics=[topic.name])
            await member.sync(assignments={member.member_id: b""})
            with taking_no_more_than(1000, live):
                answer = await Consumer(client, "g", "new", topic).join(rack_id="r" * 1000)
                assert code(answer.error_code) == "UNKNOWN_SERVER_ERROR"
                assert await member.heartbeat() == "NONE"
                assert await listed(client) == {"g": "classic"}

    run(story())


# -- share groups -----------------------------------------------------------------------------------------


def test_a_refused_offset_change_of_a_share_group_does_not_reach_the_share_coordinator(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with broker(tmp_path) as (live, client):
            topic = await client.create_topic(partitions=60)
            consumer = ShareConsumer(client, "g", "m1", topic)
            key = SharePartitionKey("g", topic.id, 0)
            await live.services.share_state.ensure_ready(key)
            with taking_no_more_than(300, live):
                answer = await consumer.alter(topic.name, dict.fromkeys(range(60), 7))
                assert code(answer.error_code) == "UNKNOWN_SERVER_ERROR"
                assert await listed(client) == {}
                assert not live.services.groups.shares._initializations
            with pytest.raises(PersisterError):
                await live.services.persister.read(key, 0)

    run(story())


def test_a_refused_heartbeat_changes_nothing_in_a_share_group(tmp_path: Path) -> None:
    async def story() -> None:
        async with broker(tmp_path) as (live, client):
            topic, many = await client.create_topic(partitions=4), await client.create_topic(partitions=100)
            first = ShareConsumer(client, "g", "m1", topic)
            await first.join()
            await first.beat()
            before = await first.describe()
            states = group_of(live, "g").state_partitions
            with taking_no_more_than(400, live):
                answer = await first.beat(subscribed_topic_names=[topic.name, many.name])
                assert code(answer.error_code) == "UNKNOWN_SERVER_ERROR"
                assert "max.message.bytes" in (answer.error_message or "")
                assert await first.describe() == before
                assert group_of(live, "g").state_partitions == states
                assert not group_of(live, "g").in_flight
            assert code((await first.beat()).error_code) == "NONE"
            assert first.numbers == [0, 1, 2, 3]

    run(story())
