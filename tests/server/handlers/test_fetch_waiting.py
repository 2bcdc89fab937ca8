"""Waiting fetches: the events that wake or end them, and that they leave nothing behind."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest

from penstock.cluster.replica import Replica
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse
from penstock.protocol.messages.metadata import MetadataRequest
from penstock.server.connections import Peer
from penstock.server.context import RequestContext
from penstock.server.handlers import fetch
from tests.server.live import (
    Client,
    Live,
    TopicHandle,
    batch,
    begin_epoch,
    code,
    fetch_request,
    fetch_topic,
    one,
    running_broker,
    until,
    values_in,
    versions,
)

VERSIONS = versions(FetchRequest)
FOREVER_MS = 100_000
UNKNOWN = TopicHandle("no-such-topic", b"\x09" * 16)


def leader_of(live: Live, topic: TopicHandle) -> Replica:
    leader = live.services.replicas.leader_of(topic.name, 0)
    assert isinstance(leader, Replica)
    return leader


def waiting(live: Live, topic: TopicHandle) -> int:
    return len(leader_of(live, topic)._readers)


async def poll(
    live: Live, client: Client, topic: TopicHandle, *, version: int = 18, min_bytes: int = 1, offset: int = 0
) -> "asyncio.Task[object]":
    """Begin a fetch and return when it waits."""
    before = waiting(live, topic)
    task: asyncio.Task[object] = asyncio.ensure_future(
        client.fetch(topic, offset, version=version, max_wait_ms=FOREVER_MS, min_bytes=min_bytes)
    )
    await until(lambda: waiting(live, topic) > before)
    return task


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_produce_wakes_waiting_fetches(live: Live, client: Client, version: int) -> None:
    topic = await client.create_topic()
    polled = await poll(live, client, topic, version=version)
    producer = await live.connect()
    await producer.produce(topic, batch(b"news"))
    assert values_in(await polled) == [b"news"]
    assert waiting(live, topic) == 0
    await producer.close()


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_empty_fetch_is_answered_after_its_wait_time(
    live: Live, client: Client, version: int
) -> None:
    topic = await client.create_topic()
    data = await client.fetch(topic, version=version, max_wait_ms=20)
    assert (data.error_code, data.high_watermark, len(data.records or b"")) == (0, 0, 0)
    assert waiting(live, topic) == 0


async def test_fewer_bytes_than_min_bytes_are_returned_after_the_wait_time(client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"little"))
    data = await client.fetch(topic, max_wait_ms=20, min_bytes=10_000)
    assert values_in(data) == [b"little"]


async def test_a_fetch_waits_until_there_are_min_bytes(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    one_size = len(batch(b"x"))
    polled = await poll(live, client, topic, min_bytes=3 * one_size)
    producer = await live.connect()
    for _ in range(2):
        await producer.produce(topic, batch(b"x"))
        await until(lambda: waiting(live, topic) == 1)
        assert not polled.done()
    await producer.produce(topic, batch(b"x"))
    assert len(values_in(await polled)) == 3
    await producer.close()


async def test_min_bytes_beyond_max_bytes_do_not_make_a_fetch_wait(client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"v" * 200))
    data = await client.fetch(topic, max_wait_ms=FOREVER_MS, min_bytes=1 << 30, max_bytes=100)
    assert len(values_in(data)) == 1


async def test_bytes_beyond_the_limits_count_towards_min_bytes(client: Client) -> None:
    topic = await client.create_topic()
    for _ in range(3):
        await client.produce(topic, batch(b"x" * 600))
    one_size = len(batch(b"x" * 600))
    limits = {"max_wait_ms": FOREVER_MS, "partition_max_bytes": 2 * one_size - 1}
    data = await client.fetch(topic, min_bytes=2 * one_size - 1, **limits)
    assert len(values_in(data)) == 1  # two are not within the limit, and it is no use to wait for more


async def test_min_bytes_of_zero_does_not_make_a_fetch_wait(client: Client) -> None:
    topic = await client.create_topic()
    assert values_in(await client.fetch(topic, max_wait_ms=FOREVER_MS, min_bytes=0)) == []


async def test_a_fetch_of_unknown_topics_only_does_not_wait(client: Client) -> None:
    data = await client.fetch(UNKNOWN, max_wait_ms=FOREVER_MS)
    assert code(data.error_code) == "UNKNOWN_TOPIC_ID"


async def test_a_fetch_of_an_unknown_and_a_known_topic_waits(live: Live, client: Client) -> None:
    """Otherwise a client that fetches both would retry without a pause."""
    topic = await client.create_topic()
    wanted = {0: FetchPartition(partition=0, partition_max_bytes=1 << 20)}
    answer = client.send(
        fetch_request(
            [fetch_topic(UNKNOWN, 18, wanted), fetch_topic(topic, 18, wanted)], max_wait_ms=FOREVER_MS
        )
    )
    await until(lambda: waiting(live, topic) == 1)
    producer = await live.connect()
    await producer.produce(topic, batch(b"news"))
    response: FetchResponse = await answer
    assert [code(one(t.partitions).error_code) for t in response.responses] == ["UNKNOWN_TOPIC_ID", "NONE"]
    await producer.close()


@pytest.mark.parametrize("version", VERSIONS)
async def test_deleting_a_topic_ends_waiting_fetches_at_once(
    live: Live, client: Client, version: int
) -> None:
    topic, other = await client.create_topic(), await client.create_topic()
    wanted = {0: FetchPartition(partition=0, partition_max_bytes=1 << 20)}
    answer = client.send(
        fetch_request(
            [fetch_topic(topic, version, wanted), fetch_topic(other, version, wanted)], max_wait_ms=FOREVER_MS
        ),
        version,
    )
    await until(lambda: waiting(live, topic) == 1)
    admin = await live.connect()
    await admin.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic.name)]))
    response: FetchResponse = await answer
    codes = [code(one(t.partitions).error_code) for t in response.responses]
    assert codes == ["UNKNOWN_TOPIC_ID" if version >= 13 else "UNKNOWN_TOPIC_OR_PARTITION", "NONE"]
    assert waiting(live, other) == 0
    await admin.close()


async def test_a_leader_change_ends_the_waiting_fetches_that_it_fences(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    polled = asyncio.ensure_future(client.fetch(topic, max_wait_ms=FOREVER_MS, current_leader_epoch=0))
    await until(lambda: waiting(live, topic) == 1)
    begin_epoch(leader_of(live, topic), 7)
    assert code((await polled).error_code) == "FENCED_LEADER_EPOCH"


async def test_a_disconnected_client_leaves_no_waiting_fetch_behind(live: Live) -> None:
    client = await live.connect()
    topic = await client.create_topic()
    polls = [await poll(live, client, topic) for _ in range(3)]
    tasks_before = len(asyncio.all_tasks())
    client.connection._transport.abort()
    await asyncio.gather(*polls, return_exceptions=True)
    await until(lambda: waiting(live, topic) == 0)
    await until(lambda: len(asyncio.all_tasks()) <= tasks_before - 6)


async def test_a_client_that_closes_its_side_is_still_answered(live: Live) -> None:
    client = await live.connect()
    topic = await client.create_topic()
    polled = await poll(live, client, topic)
    client.connection._transport.write_eof()
    assert values_in(await polled) == []


async def test_requests_sent_after_a_waiting_fetch_are_answered_after_it(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    wanted = {0: FetchPartition(partition=0, partition_max_bytes=1 << 20)}
    first = client.send(fetch_request([fetch_topic(topic, 18, wanted)], max_wait_ms=FOREVER_MS))
    later = client.send(MetadataRequest())
    order: list[str] = []
    first.add_done_callback(lambda _: order.append("fetch"))
    later.add_done_callback(lambda _: order.append("metadata"))
    await until(lambda: waiting(live, topic) == 1)
    producer = await live.connect()
    await producer.produce(topic, batch(b"news"))
    await until(lambda: len(order) == 2)
    assert order == ["fetch", "metadata"]
    await producer.close()


async def test_a_stopping_broker_answers_waiting_fetches(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic()
        await client.produce(topic, batch(b"little"))
        polled = await poll(live, client, topic, min_bytes=1000)
        producing = client.send(MetadataRequest())
    assert values_in(await polled) == [b"little"]
    assert (await producing).brokers


async def test_one_produce_wakes_many_fetches(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    others = [await live.connect() for _ in range(20)]
    polls = [await poll(live, other, topic) for other in others]
    await client.produce(topic, batch(b"news"))
    assert [values_in(await p) for p in polls] == [[b"news"]] * 20
    assert waiting(live, topic) == 0
    for other in others:
        await other.close()


async def test_records_appended_between_the_read_and_the_wait_are_not_missed(
    live: Live, client: Client
) -> None:
    topic = await client.create_topic()
    peer = Peer("PLAINTEXT", "127.0.0.1", 1)
    peer.turns.accepted = 1
    version = VERSIONS[-1]
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    wanted = fetch_topic(topic, version, {0: partition})
    request = fetch_request([wanted], max_wait_ms=FOREVER_MS)
    answer = fetch.handle(
        RequestContext(live.services, peer, version, "a client", peer.turns.accepted), request
    )
    assert isinstance(answer, Awaitable), "it has read, and found nothing"
    await client.produce(topic, batch(b"late"))
    answered = asyncio.ensure_future(answer)
    await asyncio.wait({answered}, timeout=10)
    assert answered.done(), "it would wait for the next record"
    response = answered.result()
    assert values_in(one(one(response.responses).partitions)) == [b"late"]
