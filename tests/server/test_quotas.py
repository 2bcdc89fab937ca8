"""Quotas over a real connection; how long waits are is for the tests of the rates."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from penstock.config.broker import BrokerConfig
from penstock.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from penstock.protocol.messages.api_versions import ApiVersionsRequest
from penstock.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from penstock.protocol.messages.fetch import FetchPartition, FetchResponse
from penstock.protocol.messages.produce import ProduceResponse
from penstock.runtime.clock import ManualClock
from penstock.server import quotas
from penstock.server.connections import Peer
from tests.server.live import (
    FETCH_LATEST,
    Client,
    Live,
    batch,
    code,
    fetch_request,
    fetch_topic,
    produce_request,
)

ENTITY = [
    RequestEntityData(entity_type="user", entity_name="ANONYMOUS"),
    RequestEntityData(entity_type="client-id", entity_name="test"),
]


async def alter(client: Client, key: str, value: float | None) -> str:
    ops = [OpData(key=key, value=value or 0.0, remove=value is None)]
    entry = RequestEntryData(entity=ENTITY, ops=ops)
    response = await client.send(AlterClientQuotasRequest(entries=[entry]))
    return code(response.entries[0].error_code)


@asynccontextmanager
async def quota(live: Live, key: str, value: float) -> AsyncIterator[None]:
    """The admin has a connection of its own: one that is muted could not lift the quota."""
    admin = await live.connect()
    assert await alter(admin, key, value) == "NONE"
    try:
        yield
    finally:
        rescuer = await live.connect()
        assert await alter(rescuer, key, None) == "NONE"
        await admin.close()
        await rescuer.close()


async def test_quotas_are_described_as_they_were_set(live: Live, client: Client) -> None:
    async with quota(live, "producer_byte_rate", 1e9):
        wanted = [ComponentData(entity_type="user", match_type=2, match=None)]
        response = await client.send(DescribeClientQuotasRequest(components=wanted))
        assert [(v.key, v.value) for e in response.entries for v in e.values] == [("producer_byte_rate", 1e9)]
        strict = await client.send(DescribeClientQuotasRequest(components=wanted, strict=True))
        assert strict.entries == []
    gone = await client.send(DescribeClientQuotasRequest(components=[]))
    assert gone.entries == []


async def test_a_producer_over_its_quota_gets_a_throttle_time_and_is_not_read_from(
    live: Live, client: Client
) -> None:
    topic = await client.create_topic()
    async with quota(live, "producer_byte_rate", 1000):
        fast = await live.connect()
        response: ProduceResponse = await fast.send(produce_request(topic, {0: batch(b"x" * 11_000)}))
        assert response.responses[0].partition_responses[0].error_code == 0, "what was sent is kept"
        assert response.throttle_time_ms > 500
        next_answer = fast.send(ApiVersionsRequest(client_software_name="t", client_software_version="1"))
        other = await client.send(ApiVersionsRequest(client_software_name="t", client_software_version="1"))
        assert other.error_code == 0
        assert not next_answer.done(), "only the connection that exceeded it waits"
        assert (await asyncio.wait_for(next_answer, 30)).error_code == 0
        await fast.close()


async def test_a_consumer_over_its_quota_gets_no_records_until_it_has_waited(
    live: Live, client: Client
) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"x" * 11_000))
    async with quota(live, "consumer_byte_rate", 1000):
        reader = await live.connect()
        partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        wanted = fetch_request([fetch_topic(topic, FETCH_LATEST, {0: partition})])
        first: FetchResponse = await reader.send(wanted)
        assert first.responses, "a burst is let through, and counted"
        again: FetchResponse = await reader.send(wanted)
        assert (again.responses, again.throttle_time_ms > 0) == ([], True)
        await reader.close()


async def test_topic_changes_over_the_quota_are_refused_with_a_throttle_time(
    live: Live, client: Client
) -> None:
    topic = await client.create_topic()
    async with quota(
        live, "controller_mutation_rate", 0.1
    ):  # a burst of 1.1 partitions, then one in ten seconds
        admin = await live.connect()
        first = await admin.send(
            CreatePartitionsRequest(
                topics=[CreatePartitionsTopic(name=topic.name, count=3, assignments=None)]
            )
        )
        assert code(first.results[0].error_code) == "NONE", "credit may go below zero once"
        await admin.close()  # it is muted
        again = await live.connect()
        second = await again.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic.name)]))
        assert code(second.responses[0].error_code) == "THROTTLING_QUOTA_EXCEEDED"
        assert second.throttle_time_ms > 0
        await again.close()
    assert len(live.services.controller.image.topics[topic.name].partitions) == 3


class Request:
    """The client that is charged."""

    def __init__(self, client_id: str) -> None:
        self.peer = Peer("PLAINTEXT", "127.0.0.1", 1)
        self.client_id = client_id
        self.request_bytes = 1_000_000
        self.busy_ms = 0.0


def test_the_least_recently_used_client_ids_are_evicted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(quotas, "_ACCOUNTS_MAX", 3)
    config = BrokerConfig({})
    keeper = quotas.QuotaKeeper(lambda: config, ManualClock())
    keeper.follow({(("client-id", None),): {"producer_byte_rate": 1_000.0}})

    def wait_ms(client_id: str) -> int:
        response: ProduceResponse = keeper.settle(Request(client_id), 0, ProduceResponse())
        return response.throttle_time_ms

    first = wait_ms("regular")
    for number in range(9):
        assert wait_ms(f"made up {number}" * 3_000) == first
        assert wait_ms("regular") > first
    assert len(keeper._rates) == 3
    assert max(len(client_id or "") for _, _, client_id in keeper._rates) < 100
