"""Reading on and on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from penstock.client.cluster import BrokerError, Client, FetchLimits, TopicPartition
from penstock.client.cluster.reader import Reader
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.builder import NewRecord
from tests.server.live import Live

LIMITS = FetchLimits(wait_ms=500)


@contextlib.asynccontextmanager
async def reading(live: Live, topic: str, partitions: int = 1) -> AsyncIterator[tuple[Client, Reader]]:
    async with Client(f"127.0.0.1:{live.port}") as client:
        await client.create_topic(topic, partitions=partitions)
        reader = Reader(client.branch(), LIMITS)
        try:
            yield client, reader
        finally:
            await reader.close()


async def put(client: Client, topic: str, partition: int, *values: bytes) -> None:
    await client.produce(topic, partition, [NewRecord(value=value) for value in values])


async def read(reader: Reader, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    while len(found) < count:
        for fetched in (await reader.next()).values():
            found += [record.value for record in fetched.records]
    return found


async def test_each_record_comes_once_and_waiting_may_be_interrupted(live: Live) -> None:
    async with reading(live, "reader-once") as (client, reader):
        where = TopicPartition("reader-once", 0)
        reader.assign({where: 0})
        waiting = asyncio.create_task(reader.next())
        await asyncio.sleep(0.01)
        waiting.cancel()
        await put(client, "reader-once", 0, b"a", b"b")
        assert await read(reader, 2) == [b"a", b"b"]
        assert reader.positions == {where: 2}
        await put(client, "reader-once", 0, b"c")
        assert await read(reader, 1) == [b"c"]


async def test_a_partition_that_is_added_while_waiting_is_read(live: Live) -> None:
    async with reading(live, "reader-added", 2) as (client, reader):
        waiting = asyncio.create_task(read(reader, 1))
        await asyncio.sleep(0)
        await put(client, "reader-added", 1, b"a")
        reader.assign({TopicPartition("reader-added", 1): 0})
        assert await waiting == [b"a"]


async def test_what_was_fetched_for_a_partition_that_is_given_up_is_dropped(live: Live) -> None:
    async with reading(live, "reader-dropped", 2) as (client, reader):
        gone, kept = TopicPartition("reader-dropped", 0), TopicPartition("reader-dropped", 1)
        reader.assign({gone: 0, kept: 0})
        waiting = asyncio.create_task(read(reader, 1))
        await asyncio.sleep(0.01)
        reader.revoke(gone)
        await put(client, "reader-dropped", 0, b"nobody's")
        await put(client, "reader-dropped", 1, b"mine")
        assert await waiting == [b"mine"]
        assert reader.positions == {kept: 1}


async def test_an_error_that_stays_is_given_once_and_the_others_are_read_on(live: Live) -> None:
    async with reading(live, "reader-error", 2) as (client, reader):
        bad, good = TopicPartition("reader-error", 0), TopicPartition("reader-error", 1)
        reader.assign({bad: 77, good: 0})
        found = await reader.next()
        assert found[bad].error == ErrorCode.OFFSET_OUT_OF_RANGE
        await put(client, "reader-error", 1, b"a")
        assert await read(reader, 1) == [b"a"]
        assert bad not in reader.positions


async def test_a_topic_that_is_deleted_ends_the_reading(live: Live) -> None:
    async with reading(live, "reader-deleted") as (client, reader):
        reader.assign({TopicPartition("reader-deleted", 0): 0})
        waiting = asyncio.create_task(reader.next())
        await asyncio.sleep(0.01)
        await client.delete_topic("reader-deleted")
        with pytest.raises(BrokerError) as refused:
            await waiting
        assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
