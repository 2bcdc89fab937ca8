"""The client of three brokers, one of which dies: it finds the next leader, and records are stored and read once."""

import asyncio

from penstock.client.aio import Client, ClientSettings, FetchLimits, TopicPartition
from penstock.client.aio.reader import Reader
from penstock.embedded import Cluster
from penstock.protocol.records.builder import NewRecord
from tests.server.live import within

QUICK = {
    "broker.heartbeat.interval.ms": 100,
    "broker.session.timeout.ms": 700,
    "replica.lag.time.max.ms": 500,
}
WHERE = TopicPartition("orders", 0)


async def _scenario(cluster: Cluster) -> None:
    settings = ClientSettings.from_properties(
        {"bootstrap.servers": cluster.bootstrap_servers, "retry.backoff.ms": "20"}
    )
    async with Client(settings) as client:
        reader = Reader(client.branch(), FetchLimits(wait_ms=200))
        reader.assign({WHERE: 0})
        found: list[bytes | None] = []

        async def read(count: int) -> None:
            while len(found) < count:
                for fetched in (await reader.next()).values():
                    found.extend(record.value for record in fetched.records)

        async def produce(first: int, last: int) -> list[int]:
            offsets = []
            for number in range(first, last):
                [outcome] = await client.produce("orders", 0, [NewRecord(value=b"%d" % number)])
                assert not outcome.error
                offsets.append(outcome.offset)
            return offsets

        assert await produce(0, 10) == list(range(10))
        await read(10)
        leader = (await client.leader(WHERE)).leader_id
        producing = asyncio.create_task(produce(10, 60))
        await asyncio.to_thread(cluster.kill, leader)
        assert await producing == list(range(10, 60))
        await read(60)
        assert found == [b"%d" % number for number in range(60)]
        assert (await client.leader(WHERE)).leader_id != leader
        assert (await client.leader(WHERE)).leader_id != leader
        await reader.close()


def test_the_death_of_a_leader_neither_loses_nor_reorders_records() -> None:
    with Cluster(3, topics={"orders": 1}, config=QUICK) as cluster:
        asyncio.run(within(60, _scenario(cluster)))
