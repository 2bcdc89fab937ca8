"""A real broker inside the simulation: its own listeners, connections, handlers and storage, on virtual time."""

import asyncio
from random import Random

import pytest

from penstock.client.connection import Connection, Disconnected
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import create_topics, fetch, metadata, produce
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.record import iter_records
from penstock_simulation.broker import SimulatedClock, run_simulated, simulated_broker
from penstock_simulation.disk import FaultyDisk, Keep
from penstock_simulation.loop import SimulatedLoop
from penstock_simulation.network import Conditions

METADATA, PRODUCE, FETCH, CREATE_TOPICS = 3, 0, 1, 19
ROUGH = Conditions(slow_chance=0.2, slow_ms_max=50)


async def create_topic(client: Connection, name: str) -> None:
    topic = create_topics.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    request = create_topics.CreateTopicsRequest(topics=[topic], timeout_ms=5000)
    answer = await client.call(CREATE_TOPICS, 5, request)
    assert answer.topics[0].error_code == ErrorCode.NONE


async def send(client: Connection, topic: str, *values: str) -> int:
    records = build_batch([NewRecord(value=value.encode(), timestamp=0) for value in values])
    partition = produce.PartitionProduceData(index=0, records=records)
    request = produce.ProduceRequest(
        acks=-1,
        timeout_ms=5000,
        topic_data=[produce.TopicProduceData(name=topic, partition_data=[partition])],
    )
    answer = await client.call(PRODUCE, 9, request)
    response = answer.responses[0].partition_responses[0]
    assert response.error_code == ErrorCode.NONE
    offset: int = response.base_offset
    return offset


async def receive(client: Connection, topic: str) -> list[str]:
    partition = fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = fetch.FetchRequest(
        max_wait_ms=500, min_bytes=1, topics=[fetch.FetchTopic(topic=topic, partitions=[partition])]
    )
    answer = await client.call(FETCH, 12, request)
    data = answer.responses[0].partitions[0]
    assert data.error_code == ErrorCode.NONE
    found = bytes(data.records or b"")
    return [
        (record.value or b"").decode()
        for pos, _ in iter_batches_strict(found)
        for record in iter_records(found, pos=pos)
    ]


async def produce_and_fetch(loop: SimulatedLoop) -> list[str]:
    broker = simulated_broker(loop, FaultyDisk(Random(1), clock=SimulatedClock(loop)), seed=5)
    await loop.run_on("one", broker.start())
    client = await Connection.open("one", 9092)
    await create_topic(client, "orders")
    for number in range(5):
        assert await send(client, "orders", f"order {number}") == number
    found = await receive(client, "orders")
    await client.close()
    await loop.run_on("one", broker.stop())
    return found


def test_a_real_broker_serves_produce_and_fetch_in_the_simulation() -> None:
    found, _ = run_simulated(7, produce_and_fetch)
    assert found == [f"order {number}" for number in range(5)]


def test_the_same_seed_gives_the_same_trace_and_another_seed_another() -> None:
    _, first = run_simulated(7, produce_and_fetch, ROUGH)
    _, again = run_simulated(7, produce_and_fetch, ROUGH)
    _, other = run_simulated(8, produce_and_fetch, ROUGH)
    assert first == again
    assert first != other


def test_acknowledged_records_survive_the_power_cut_of_a_simulated_machine() -> None:
    async def scenario(loop: SimulatedLoop) -> list[str]:
        disk = FaultyDisk(Random(3), clock=SimulatedClock(loop))
        await loop.run_on("one", simulated_broker(loop, disk, seed=5).start())
        client = await Connection.open("one", 9092)
        await create_topic(client, "orders")
        await send(client, "orders", "kept")
        disk = disk.crash(Keep.NOTHING)
        loop.power_off("one")
        with pytest.raises(Disconnected):
            await client.call(METADATA, 9, metadata.MetadataRequest(topics=None))
        broker = simulated_broker(loop, disk, seed=6)
        await loop.run_on("one", broker.start())
        found = await receive(await Connection.open("one", 9092), "orders")
        await loop.run_on("one", broker.stop())
        return found

    found, _ = run_simulated(11, scenario)
    assert found == ["kept"]


def test_a_long_poll_waits_in_virtual_time() -> None:
    async def scenario(loop: SimulatedLoop) -> float:
        broker = simulated_broker(loop, FaultyDisk(Random(1), clock=SimulatedClock(loop)), seed=5)
        await loop.run_on("one", broker.start())
        client = await Connection.open("one", 9092)
        await create_topic(client, "orders")
        before = loop.time()
        partition = fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        request = fetch.FetchRequest(
            max_wait_ms=3_600_000,
            min_bytes=1,
            topics=[fetch.FetchTopic(topic="orders", partitions=[partition])],
        )
        await client.call(FETCH, 12, request)
        waited_s = loop.time() - before
        await loop.run_on("one", broker.stop())
        return waited_s

    waited_s, _ = run_simulated(3, scenario)
    assert waited_s >= 3600


def test_a_blocked_link_stalls_a_connection_until_it_is_reconnected() -> None:
    async def scenario(loop: SimulatedLoop) -> float:
        broker = simulated_broker(loop, FaultyDisk(Random(1), clock=SimulatedClock(loop)), seed=5)
        await loop.run_on("one", broker.start())
        client = await Connection.open("one", 9092)
        loop.network.isolate(["one"], ["client"])
        loop.call_later(4, loop.network.clear_faults)
        before = loop.time()
        await client.call(METADATA, 9, metadata.MetadataRequest(topics=None))
        waited_s = loop.time() - before
        await loop.run_on("one", broker.stop())
        return waited_s

    waited_s, _ = run_simulated(3, scenario)
    assert 4 <= waited_s < 5


@pytest.mark.parametrize("turns", range(5))
def test_tasks_that_cancelled_tasks_create_are_cancelled_too(turns: int) -> None:
    made: list[asyncio.Task[None]] = []

    async def wait_for_ever() -> None:
        await asyncio.Event().wait()

    async def work(loop: SimulatedLoop) -> None:
        def make_later(turns: int) -> None:
            if turns:
                loop.call_soon(make_later, turns - 1)
            else:
                made.append(loop.create_task(wait_for_ever()))

        async def end_late() -> None:
            try:
                await wait_for_ever()
            finally:
                make_later(turns)

        made.append(loop.create_task(end_late()))
        await asyncio.sleep(0)

    run_simulated(1, work)
    assert all(task.cancelled() for task in made)
