"""Continuous reading."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

import pytest

from penstock.client.aio import (
    BrokerError,
    Client,
    ClientSettings,
    FetchedPartition,
    FetchLimits,
    TimedOut,
    TopicPartition,
)
from penstock.client.aio.reader import Reader
from penstock.client.errors import Retry
from penstock.client.metadata import Partition
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.builder import NewRecord
from penstock.protocol.records.record import Record
from penstock.runtime.clock import ManualClock
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


async def test_each_record_is_returned_once_and_a_wait_may_be_interrupted(live: Live) -> None:
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


async def test_a_partition_added_during_a_wait_is_read(live: Live) -> None:
    async with reading(live, "reader-added", 2) as (client, reader):
        waiting = asyncio.create_task(read(reader, 1))
        await asyncio.sleep(0)
        await put(client, "reader-added", 1, b"a")
        reader.assign({TopicPartition("reader-added", 1): 0})
        assert await waiting == [b"a"]


async def test_records_fetched_for_a_removed_partition_are_dropped(live: Live) -> None:
    async with reading(live, "reader-dropped", 2) as (client, reader):
        gone, kept = TopicPartition("reader-dropped", 0), TopicPartition("reader-dropped", 1)
        reader.assign({gone: 0, kept: 0})
        waiting = asyncio.create_task(read(reader, 1))
        await asyncio.sleep(0.01)
        reader.revoke(gone)
        await put(client, "reader-dropped", 0, b"unassigned")
        await put(client, "reader-dropped", 1, b"mine")
        assert await waiting == [b"mine"]
        assert reader.positions == {kept: 1}


async def test_a_permanent_error_is_reported_once_and_the_others_are_still_read(live: Live) -> None:
    async with reading(live, "reader-error", 2) as (client, reader):
        bad, good = TopicPartition("reader-error", 0), TopicPartition("reader-error", 1)
        reader.assign({bad: 77, good: 0})
        found = await reader.next()
        assert found[bad].error == ErrorCode.OFFSET_OUT_OF_RANGE
        await put(client, "reader-error", 1, b"a")
        assert await read(reader, 1) == [b"a"]
        assert bad not in reader.positions


async def test_a_deleted_topic_ends_the_reading(live: Live) -> None:
    async with reading(live, "reader-deleted") as (client, reader):
        reader.assign({TopicPartition("reader-deleted", 0): 0})
        waiting = asyncio.create_task(reader.next())
        await asyncio.sleep(0.01)
        await client.delete_topic("reader-deleted")
        with pytest.raises(BrokerError) as refused:
            await waiting
        assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class Scripted:
    """A client whose brokers follow the test's script."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.settings = ClientSettings(bootstrap_servers=(("h", 1),), deadline_ms=10_000)
        self.leaders: dict[TopicPartition, int] = {}
        self.answers: dict[int, asyncio.Future[dict[TopicPartition, FetchedPartition]]] = {}
        self.asked: list[tuple[int, set[int]]] = []
        self.takes_ms = 0

    async def leader(self, where: TopicPartition) -> Partition:
        self.clock.advance(self.takes_ms)
        if where not in self.leaders:
            raise Retry("no leader")
        return Partition(index=where.partition, leader_id=self.leaders[where])

    async def fetch_from(
        self, node: int, positions: Mapping[TopicPartition, int], _limits: FetchLimits
    ) -> dict[TopicPartition, FetchedPartition]:
        self.asked.append((node, {where.partition for where in positions}))
        self.answers[node] = asyncio.get_running_loop().create_future()
        return await self.answers[node]

    async def close(self) -> None:
        pass


def fetched(offset: int) -> FetchedPartition:
    return FetchedPartition(records=[Record(offset, 0, None, b"x")], next_offset=offset + 1)


A, B = TopicPartition("t", 0), TopicPartition("t", 1)


async def turn() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_partition_without_a_leader_does_not_delay_the_others() -> None:
    client = Scripted()
    client.leaders = {A: 1}
    reader = Reader(client, LIMITS)  # type: ignore[arg-type]  # as much of a client as is used
    reader.assign({A: 0, B: 0})
    for offset in range(3):
        reading = asyncio.create_task(reader.next())
        await turn()
        client.answers[1].set_result({A: fetched(offset)})
        assert list(await reading) == [A]
    client.leaders[B] = 2
    reading = asyncio.create_task(reader.next())
    await turn()
    assert client.asked[-1] == (1, {0})
    client.clock.advance(200)
    await turn()
    assert client.asked[-1] == (2, {1})
    client.answers[2].set_result({B: fetched(0)})
    assert list(await reading) == [B]
    await reader.close()


async def test_a_backoff_that_ends_during_other_requests_is_noticed() -> None:
    client = Scripted()
    client.leaders = {B: 2}
    reader = Reader(client, LIMITS)  # type: ignore[arg-type]  # as much of a client as is used
    reader.assign({A: 0, B: 0})
    reading = asyncio.create_task(reader.next())
    await turn()
    client.answers[2].set_result({B: fetched(0)})
    assert list(await reading) == [B]
    client.leaders[A] = 1
    client.takes_ms = 200  # for the leader of B: meanwhile A's backoff ends
    reading = asyncio.create_task(reader.next())
    await turn()
    client.takes_ms = 0
    client.clock.advance(0)
    await turn()
    assert client.asked[-1] == (1, {0})
    client.answers[1].set_result({A: fetched(0)})
    assert list(await reading) == [A]
    await reader.close()


async def test_a_partition_with_a_busy_leader_is_retried_with_a_backoff() -> None:
    client = Scripted()
    client.leaders = {A: 1}
    reader = Reader(client, LIMITS)  # type: ignore[arg-type]  # as much of a client as is used
    reader.assign({A: 0, B: 0})
    reading = asyncio.create_task(reader.next())
    await turn()
    client.leaders[B] = 1
    client.clock.advance(200)
    await turn()
    assert client.asked == [(1, {0})]
    client.answers[1].set_result({})
    await turn()
    assert client.asked[1] == (1, {1})
    reading.cancel()
    await reader.close()


async def test_reading_fails_when_nothing_could_be_read_for_too_long() -> None:
    client = Scripted()
    reader = Reader(client, LIMITS)  # type: ignore[arg-type]  # as much of a client as is used
    reader.assign({A: 0})
    reading = asyncio.create_task(reader.next())
    while not reading.done():
        await turn()
        client.clock.advance(500)
    with pytest.raises(TimedOut, match="nothing could be read for 10000 ms: no leader"):
        await reading
