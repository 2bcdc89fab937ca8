"""Transactional batches that are checked on a thread, while their transaction ends or its producer sends more."""

import asyncio
import contextlib
import itertools
import threading
from collections.abc import AsyncIterator

import pytest

from penstock.cluster.replica import Replica
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.produce import ProduceResponse
from penstock.storage.log.append import EVENT_LOOP_BYTES_MAX
from tests.server.live import Client, Live, TopicHandle, batch, begin_epoch, code, produce_request
from tests.transactions.live_producer import LiveProducer
from tests.transactions.live_transactions import at_rest, committed_values, latest_offsets

LARGE = bytes(EVENT_LOOP_BYTES_MAX)
BOTH = pytest.mark.parametrize("is_v2", [False, True], ids=["version-1", "version-2"])
_numbers = itertools.count()


async def new_producer(client: Client, *, is_v2: bool = False) -> LiveProducer:
    producer = LiveProducer(client, f"large-{next(_numbers)}", is_v2=is_v2)
    assert await producer.init() is ErrorCode.NONE
    return producer


def send(
    client: Client, producer: LiveProducer, topic: TopicHandle, value: bytes, sequence: int
) -> "asyncio.Future[ProduceResponse]":
    version = 13 if producer.is_v2 else 11
    records = batch(
        value,
        codec=Codec.ZSTD,
        timestamp=producer.clock.now_ms(),
        producer_id=producer.producer_id,
        epoch=producer.epoch,
        sequence=sequence,
        is_transactional=True,
    )
    request = produce_request(
        topic, {0: records}, version=version, transactional_id=producer.transactional_id
    )
    return client.send(request, version)


def outcome(response: ProduceResponse) -> tuple[str, int]:
    partition = response.responses[0].partition_responses[0]
    return code(partition.error_code), partition.base_offset


@contextlib.asynccontextmanager
async def checks_held(live: Live) -> AsyncIterator[threading.Event]:
    """No batch is checked on the thread before the event is set."""
    may_go_on = threading.Event()
    holding = live.services.checks.start(may_go_on.wait)
    try:
        yield may_go_on
    finally:
        may_go_on.set()
        await holding


@BOTH
@pytest.mark.parametrize("sequence", [0, 1], ids=["first-batch", "second-batch"])
async def test_a_batch_whose_transaction_was_aborted_while_it_was_checked_is_never_shown(
    live: Live, client: Client, is_v2: bool, sequence: int
) -> None:
    topic = await client.create_topic()
    producer = await new_producer(client, is_v2=is_v2)
    if not is_v2:
        assert await producer.add(topic, 0) is ErrorCode.NONE
    if sequence == 1:
        assert await producer.produce(topic, b"small") is ErrorCode.NONE
    sender = await live.connect()
    async with checks_held(live) as may_go_on:
        late = send(sender, producer, topic, LARGE, sequence)
        await until_being_checked(live, client)
        assert await producer.end(commit=False) is ErrorCode.NONE
        await at_rest(live, producer)
        may_go_on.set()
        assert outcome(await late)[0] in {"INVALID_TXN_STATE", "INVALID_PRODUCER_EPOCH"}
    await sender.close()

    assert await producer.init() is ErrorCode.NONE
    await producer.write(topic, b"next")
    assert await producer.end(commit=True) is ErrorCode.NONE
    await at_rest(live, producer)
    assert await committed_values(client, topic) == [b"next"]
    end, stable_end = await latest_offsets(client, topic)
    assert end == stable_end, "the last stable offset moves on"


async def until_being_checked(live: Live, client: Client) -> None:
    """A request that was sent earlier has reached its check when later ones on other connections are answered."""
    other = await live.connect()
    for each in (other, client):
        await each.create_topic()
    await other.close()


async def test_a_late_batch_of_an_aborted_transaction_does_not_join_the_next_one(
    live: Live, client: Client
) -> None:
    topic = await client.create_topic()
    producer = await new_producer(client)
    await producer.write(topic, b"first")
    sender = await live.connect()
    async with checks_held(live) as may_go_on:
        late = send(sender, producer, topic, LARGE, 2)
        await until_being_checked(live, client)
        assert await producer.end(commit=False) is ErrorCode.NONE
        await at_rest(live, producer)
        await producer.write(topic, b"of the next transaction")
        may_go_on.set()
        assert outcome(await late)[0] == "INVALID_TXN_STATE"
    await sender.close()
    assert await producer.end(commit=True) is ErrorCode.NONE
    await at_rest(live, producer)
    assert await committed_values(client, topic) == [b"of the next transaction"]


@BOTH
async def test_a_small_batch_does_not_overtake_the_large_one_before_it_that_opens_the_transaction(
    live: Live, client: Client, is_v2: bool
) -> None:
    topic = await client.create_topic()
    producer = await new_producer(client, is_v2=is_v2)
    if not is_v2:
        assert await producer.add(topic, 0) is ErrorCode.NONE
    sender = await live.connect()
    async with checks_held(live) as may_go_on:
        answers = [send(sender, producer, topic, LARGE, 0), send(sender, producer, topic, b"small", 1)]
        await until_being_checked(live, client)
        may_go_on.set()
        assert [outcome(each) for each in await asyncio.gather(*answers)] == [("NONE", 0), ("NONE", 1)]
    await sender.close()
    assert await producer.end(commit=True) is ErrorCode.NONE
    await at_rest(live, producer)


async def test_a_batch_is_refused_when_the_leadership_was_lost_and_regained_while_it_was_checked(
    live: Live, client: Client
) -> None:
    """The other leader may have ended the transaction."""
    topic = await client.create_topic()
    producer = await new_producer(client)
    await producer.write(topic, b"first")
    leader = live.services.replicas.leader_of(topic.name, 0)
    assert isinstance(leader, Replica)
    sender = await live.connect()
    async with checks_held(live) as may_go_on:
        late = send(sender, producer, topic, LARGE, 1)
        await until_being_checked(live, client)
        begin_epoch(leader, leader.leader_epoch + 2)
        may_go_on.set()
        assert outcome(await late)[0] == "NOT_LEADER_OR_FOLLOWER"
    await sender.close()
    assert await producer.end(commit=False) is ErrorCode.NONE
