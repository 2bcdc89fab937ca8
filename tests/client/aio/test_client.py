"""The client of a whole cluster, over a real broker."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from penstock.client.aio import (
    ANY,
    CONTROLLER,
    EARLIEST,
    LATEST,
    BrokerError,
    Client,
    ClientSettings,
    FetchLimits,
    LeaderOf,
    TimedOut,
    TopicPartition,
)
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.describe_cluster import DescribeClusterRequest
from penstock.protocol.messages.list_offsets import ListOffsetsRequest
from penstock.protocol.records.builder import NewRecord
from tests.server.live import Live
from tests.support.broker import free_port

_names = (f"cluster-client-{number}" for number in itertools.count())


@asynccontextmanager
async def client_with_topic(live: Live, partitions: int = 1) -> AsyncIterator[tuple[Client, str]]:
    async with Client(f"127.0.0.1:{live.port}") as client:
        topic = next(_names)
        assert await client.create_topic(topic, partitions=partitions)
        yield client, topic


async def values_of(client: Client, topic: str, partition: int = 0, offset: int = 0) -> list[bytes | None]:
    where = TopicPartition(topic, partition)
    return [record.value for record in (await client.fetch({where: offset}))[where].records]


async def test_produced_records_are_fetched_with_offsets_and_headers(live: Live) -> None:
    async with client_with_topic(live) as (client, topic):
        records = [NewRecord(key=b"k", value=b"%d" % n, headers=(("h", b"1"),)) for n in range(3)]
        outcomes = await client.produce(topic, 0, records)
        assert [(each.partition, each.offset, each.error) for each in outcomes] == [
            (0, 0, ErrorCode.NONE),
            (0, 1, ErrorCode.NONE),
            (0, 2, ErrorCode.NONE),
        ]
        where = TopicPartition(topic, 0)
        fetched = (await client.fetch({where: 1}))[where]
        assert [(r.offset, r.key, r.value, r.headers) for r in fetched.records] == [
            (1, b"k", b"1", (("h", b"1"),)),
            (2, b"k", b"2", (("h", b"1"),)),
        ]
        assert fetched.next_offset == fetched.high_watermark == 3
        assert all(record.timestamp > 1_600_000_000_000 for record in fetched.records)


async def test_the_key_decides_the_partition_and_the_outcomes_keep_the_order_of_the_records(
    live: Live,
) -> None:
    async with client_with_topic(live, partitions=4) as (client, topic):
        records = [NewRecord(key=b"key-%d" % (n % 7), value=b"%d" % n) for n in range(21)]
        outcomes = await client.produce(topic, None, records)
        by_key = {record.key: each.partition for record, each in zip(records, outcomes, strict=True)}
        assert len(set(by_key.values())) > 1
        for record, each in zip(records, outcomes, strict=True):
            assert each.partition == by_key[record.key]
            assert (await values_of(client, topic, each.partition, each.offset))[0] == record.value


async def test_concurrent_small_produces_are_batched_and_each_gets_its_own_offset(live: Live) -> None:
    async with client_with_topic(live) as (client, topic):
        outcomes = await asyncio.gather(
            *(client.produce(topic, 0, [NewRecord(value=b"%d" % n)]) for n in range(50))
        )
        stored = await values_of(client, topic)
        assert sorted(each[0].offset for each in outcomes) == list(range(50))
        assert [stored[each[0].offset] for each in outcomes] == [b"%d" % n for n in range(50)]


async def test_a_bad_record_does_not_affect_the_records_of_other_callers(live: Live) -> None:
    async with client_with_topic(live) as (client, topic):
        compacted = topic + "-compacted"
        await client.create_topic(compacted, partitions=1, configs={"cleanup.policy": "compact"})
        records = [
            NewRecord(key=b"first"),
            NewRecord(key=b"a"),
            NewRecord(value=b"no key"),
            NewRecord(key=b"b"),
        ]
        outcomes = await asyncio.gather(*(client.produce(compacted, 0, [record]) for record in records))
        assert [each[0].error for each in outcomes] == [0, 0, ErrorCode.INVALID_RECORD, 0]
        assert outcomes[2][0].message
        assert {each[0].offset for each in outcomes} == {0, 1, 2, -1}


async def test_an_unknown_topic_fails_at_once_and_is_not_created(live: Live) -> None:
    async with Client(f"127.0.0.1:{live.port}") as client:
        for attempt in (
            client.produce("cluster-client-missing", None, [NewRecord()]),
            client.fetch({TopicPartition("cluster-client-missing", 0): 0}),
            client.list_offsets({TopicPartition("cluster-client-missing", 0): LATEST}),
        ):
            with pytest.raises(BrokerError) as error:
                await attempt
            assert error.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert "cluster-client-missing" not in (await client.metadata()).topics


async def test_an_unknown_partition_fails(live: Live) -> None:
    async with client_with_topic(live) as (client, topic):
        with pytest.raises(BrokerError, match="counted from 0") as error:
            await client.produce(topic, 1, [NewRecord()])
        assert error.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_offsets_are_found_by_time_and_at_both_ends(live: Live) -> None:
    async with client_with_topic(live) as (client, topic):
        where = TopicPartition(topic, 0)
        await client.produce(topic, 0, [NewRecord(value=b"x", timestamp=1000 * n) for n in range(1, 4)])
        found = [
            (await client.list_offsets({where: at}))[where].offset for at in (EARLIEST, LATEST, 1500, 9000)
        ]
        assert found == [0, 3, 1, -1]


async def test_an_offset_beyond_the_log_is_an_error_of_its_partition_only(live: Live) -> None:
    async with client_with_topic(live, partitions=2) as (client, topic):
        await client.produce(topic, 0, [NewRecord(value=b"x")])
        bad, good = TopicPartition(topic, 1), TopicPartition(topic, 0)
        fetched = await client.fetch({bad: 5, good: 0})
        assert fetched[bad].error == ErrorCode.OFFSET_OUT_OF_RANGE
        assert [record.value for record in fetched[good].records] == [b"x"]


async def test_a_bounded_fetch_continues_where_it_stopped(live: Live) -> None:
    async with client_with_topic(live) as (client, topic):
        await client.produce(topic, 0, [NewRecord(value=b"%d" % n) for n in range(5)])
        where, offset, found = TopicPartition(topic, 0), 0, []
        for _ in range(3):
            fetched = (await client.fetch({where: offset}, FetchLimits(records_max=2)))[where]
            found.append([record.value for record in fetched.records])
            offset = fetched.next_offset
        assert found == [[b"0", b"1"], [b"2", b"3"], [b"4"]]


async def test_a_branch_that_waits_for_records_delays_no_other_request(live: Live) -> None:
    async with client_with_topic(live) as (client, topic), client.branch() as reader:
        where = TopicPartition(topic, 0)
        waiting = asyncio.create_task(reader.fetch({where: 0}, FetchLimits(wait_ms=30_000)))
        await reader.topic(topic)
        await client.produce(topic, 0, [NewRecord(value=b"at last")])
        assert [record.value for record in (await waiting)[where].records] == [b"at last"]


async def test_requests_find_brokers_by_role_and_by_node_id(live: Live) -> None:
    async with client_with_topic(live) as (client, topic):
        node = next(iter((await client.metadata([])).brokers))
        answers = [await client.request(to, DescribeClusterRequest()) for to in (ANY, CONTROLLER, node)]
        assert len({answer.cluster_id for answer in answers}) == 1
        assert (await client.request(LeaderOf(topic, 0), ListOffsetsRequest(replica_id=-1))).topics == []


async def test_an_unreachable_cluster_fails_at_the_deadline() -> None:
    settings = ClientSettings(bootstrap_servers=(("127.0.0.1", free_port()),), deadline_ms=200)
    async with Client(settings) as client:
        with pytest.raises(TimedOut, match="no connection to the broker"):
            await client.metadata()
