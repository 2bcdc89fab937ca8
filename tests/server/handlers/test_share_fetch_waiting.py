"""Waiting share fetches: the events that wake or end them; each partition is read for one of them at a time."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.cluster.replica import Replica
from penstock.protocol.messages.share_fetch import PartitionData
from penstock.runtime.clock import ManualClock
from penstock.share.led_partition import LedPartition
from penstock.share.sessions import MemberKey
from penstock.share.state.values import SharePartitionKey
from penstock.storage.log.log import Log
from penstock.storage.log.values import COLD, Cold, LogSlice
from tests.server.handlers.share_support import (
    ACCEPT,
    FOREVER_MS,
    RELEASE,
    RENEW,
    Member,
    acquired,
    led,
    partitions_of,
    prepared,
)
from tests.server.live import Client, Live, TopicHandle, batch, code, one, running_broker, until, values_in


def waiting(live: Live, group_id: str, topic: TopicHandle) -> int:
    return len(led(live, group_id, topic)._watchers)


async def poll(live: Live, member: Member, **fields: Any) -> "asyncio.Task[PartitionData]":
    """Begin a fetch and return when it waits."""
    before = waiting(live, member.group_id, member.topic)
    task = asyncio.ensure_future(member.take(**fields))
    await until(lambda: waiting(live, member.group_id, member.topic) > before)
    return task


async def begun(live: Live, client: Client, topic: TopicHandle, group_id: str) -> Member:
    """A member with an open session and a loaded share partition."""
    member = Member(client, group_id, topic)
    await member.fetch(max_records=0)
    shares = live.services.shares
    shares.partitions.led(SharePartitionKey(group_id, topic.id, 0), shares.settings(group_id))
    await until(lambda: led(live, group_id, topic).state is not None)
    return member


async def test_a_produce_wakes_waiting_fetches(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    member = await begun(live, client, topic, await prepared(live, topic))
    polled = await poll(live, member)
    producer = await live.connect()
    await producer.produce(topic, batch(b"news"))
    assert values_in(await polled) == [b"news"]
    assert waiting(live, member.group_id, topic) == 0
    await producer.close()


async def test_a_group_ahead_of_the_log_waits_until_the_log_has_grown(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    member = await begun(live, client, topic, await prepared(live, topic, start_offset=3))
    polled = await poll(live, member)
    producer = await live.connect()
    await producer.produce(topic, batch(b"0", b"1"))
    await until(lambda: waiting(live, member.group_id, topic) == 1)
    assert not polled.done()
    await producer.produce(topic, batch(b"2", b"3", b"4"))
    assert acquired(await polled) == [(3, 4, 1)]
    await producer.close()


async def test_a_fetch_waits_until_there_are_min_bytes(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    member = await begun(live, client, topic, await prepared(live, topic))
    polled = await poll(live, member, min_bytes=2 * len(batch(b"x")))
    producer = await live.connect()
    await producer.produce(topic, batch(b"x"))
    await until(lambda: waiting(live, member.group_id, topic) == 1)
    assert not polled.done()
    await producer.produce(topic, batch(b"x"))
    assert acquired(await polled) == [(0, 1, 1)]
    await producer.close()


async def test_fewer_bytes_than_min_bytes_are_returned_after_the_wait_time(
    live: Live, client: Client
) -> None:
    topic = await client.create_topic()
    member = await begun(live, client, topic, await prepared(live, topic))
    await client.produce(topic, batch(b"little"))
    assert acquired(await member.take(max_wait_ms=20, min_bytes=10_000)) == [(0, 0, 1)]


async def test_released_records_wake_the_fetches_of_other_members(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"x", b"y"))
    holder = await begun(live, client, topic, await prepared(live, topic))
    await holder.take()
    other = await live.connect()
    taker = await begun(live, other, topic, holder.group_id)
    polled = await poll(live, taker)
    assert await holder.done_with(1, 1, RELEASE) == 0
    assert acquired(await polled) == [(1, 1, 2)]
    await other.close()


async def test_records_with_an_expired_lock_are_delivered_to_others(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock) as live:
        client, other = await live.connect(), await live.connect()
        topic = await client.create_topic()
        await client.produce(topic, batch(b"x", b"y", b"z", timestamp=clock.now_ms()))
        holder = await begun(live, client, topic, await prepared(live, topic))
        await holder.take()
        polled = await poll(live, await begun(live, other, topic, holder.group_id))
        clock.advance(20_000)
        renewed = await holder.acknowledge({0: [(1, 1, [RENEW])]}, is_renew_ack=True)
        assert one(renewed.responses[0].partitions).error_code == 0
        clock.advance(10_000)
        assert acquired(await polled) == [(0, 0, 2), (2, 2, 2)]
        assert code(await holder.done_with(0, 0)) == "INVALID_RECORD_STATE"
        assert code(await holder.done_with(1, 1)) == "NONE"
        await client.close()
        await other.close()


async def test_a_fetch_waits_for_a_full_partition_and_other_partitions_are_served(tmp_path: Path) -> None:
    async with running_broker(tmp_path, {"group.share.partition.max.record.locks": "100"}) as live:
        client, producer = await live.connect(), await live.connect()
        topic = await client.create_topic(partitions=2)
        for _ in range(2):
            await client.produce(topic, batch(*[b"x"] * 100))
        member = Member(client, await prepared(live, topic, 2), topic)
        first = await member.fetch((0, 1), max_wait_ms=FOREVER_MS)
        assert acquired(partitions_of(first)[0]) == [(0, 99, 1)]
        polled = await poll(live, member)
        await producer.produce(topic, batch(b"y"), partition=1)
        data = await polled
        assert (data.partition_index, acquired(data)) == (1, [(0, 0, 1)])
        assert await member.done_with(0, 99) == 0
        assert acquired(await member.take()) == [(100, 199, 1)]
        await client.close()
        await producer.close()


async def test_a_client_that_disconnects_while_waiting_acquires_nothing(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    group_id = await prepared(live, topic)
    stays = await begun(live, client, topic, group_id)
    short_lived = await live.connect()
    polled = await poll(live, await begun(live, short_lived, topic, group_id))
    await short_lived.close()
    await until(lambda: waiting(live, group_id, topic) == 0)
    await asyncio.wait((polled,))
    await client.produce(topic, batch(b"x"))
    assert acquired(await stays.take()) == [(0, 0, 1)]
    assert polled.exception() is not None


async def test_only_one_fetch_reads_a_share_partition_at_a_time(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"x"))
    member = await begun(live, client, topic, await prepared(live, topic))
    partition: LedPartition = led(live, member.group_id, topic)
    assert partition.begin_reading()  # as one that waits for the disk does
    polled = await poll(live, member)
    partition.end_reading()
    assert acquired(await polled) == [(0, 0, 1)]


async def test_records_that_are_only_on_disk_are_read_from_disk(
    live: Live, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"x"))
    replica = live.services.replicas.leader_of(topic.name, 0)
    assert isinstance(replica, Replica)
    log, read = replica.log, type(replica.log).read

    def not_cached(of: Log, *args: Any, **kwargs: Any) -> LogSlice | Cold:
        return COLD if of is log else read(of, *args, **kwargs)

    monkeypatch.setattr(type(log), "read", not_cached)
    assert acquired(await Member(client, await prepared(live, topic), topic).take()) == [(0, 0, 1)]


@pytest.mark.parametrize("is_fetch", [False, True], ids=["acknowledge", "fetch"])
async def test_the_last_request_of_a_session_that_waits_for_the_persister_does_not_end_the_next_session(
    live: Live, client: Client, monkeypatch: pytest.MonkeyPatch, is_fetch: bool
) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"a", b"b"))
    member = await begun(live, client, topic, await prepared(live, topic))
    await member.take(max_records=1, batch_size=1, share_acquire_mode=1)
    persister, may_write = live.services.persister, asyncio.Event()
    write = persister.write

    async def write_slowly(*what: Any, **how: Any) -> None:
        await may_write.wait()
        await write(*what, **how)

    monkeypatch.setattr(persister, "write", write_slowly)
    accepted = {0: [(0, 0, [ACCEPT])]}
    last = asyncio.ensure_future(
        member.fetch(acks=accepted, share_session_epoch=-1)
        if is_fetch
        else member.acknowledge(accepted, epoch=-1)
    )
    await until(lambda: live.services.shares.partitions._writes)
    other = await live.connect()
    again = Member(other, member.group_id, topic, member.name)
    assert acquired(await again.take()) == [(1, 1, 1)]

    may_write.set()
    await last

    assert code((await again.fetch()).error_code) == "NONE"
    assert await again.done_with(1, 1) == 0
    await other.close()


@pytest.mark.parametrize("is_begun_anew", [False, True], ids=["ended", "begun anew"])
async def test_a_fetch_that_waits_acquires_nothing_once_its_session_is_over(
    live: Live, client: Client, is_begun_anew: bool
) -> None:
    topic = await client.create_topic()
    member = await begun(live, client, topic, await prepared(live, topic))
    polled = asyncio.ensure_future(member.fetch(max_wait_ms=FOREVER_MS))
    await until(lambda: waiting(live, member.group_id, topic) == 1)
    session = live.services.shares.sessions.get(MemberKey(member.group_id, member.name))
    other = await live.connect()
    stays = await begun(live, other, topic, member.group_id)
    again = Member(other, member.group_id, topic, member.name)
    over = asyncio.ensure_future(
        again.fetch(max_records=0) if is_begun_anew else member.acknowledge({}, epoch=-1)
    )
    await until(lambda: not live.services.shares.sessions.is_open(session))

    await other.produce(topic, batch(b"x"))

    assert partitions_of(await polled) == {}
    assert acquired(await stays.take()) == [(0, 0, 1)]
    await over
    await other.close()
