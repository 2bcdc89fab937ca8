"""Requests to a source of any version, and its answers with the ids that the topics have here."""

import asyncio
from typing import Any, cast

import pytest

from penstock.client.connection import Connection
from penstock.client.core.handshake import BrokerInfo
from penstock.mirror.source_leader import SourceLeader, SourceName
from penstock.protocol.messages import fetch
from penstock.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

HERE, THERE = b"h" * 16, b"t" * 16


class PlayedConnection:
    is_lost = False

    def __init__(self, version_max: int) -> None:
        self.info = BrokerInfo(address="kafka:9092", versions={fetch.API_KEY: (4, version_max)})
        self.calls: list[tuple[int, FetchRequest]] = []

    def call(self, _api_key: int, version: int, request: Any) -> "asyncio.Future[Any]":
        self.calls.append((version, request))
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        data = PartitionData(partition_index=0, high_watermark=5)
        topic = FetchableTopicResponse(topic="orders", topic_id=THERE, partitions=[data])
        future.set_result(FetchResponse(responses=[topic]))
        return future


def asked_of(version_max: int) -> tuple[int, FetchRequest, FetchResponse]:
    """The version and the request that the source gets, and the answer for the fetcher."""
    connection = PlayedConnection(version_max)
    wanted = FetchPartition(
        partition=0, current_leader_epoch=70, fetch_offset=3, last_fetched_epoch=2, log_start_offset=1
    )
    request = FetchRequest(topics=[FetchTopic(topic_id=HERE, partitions=[wanted])])

    async def scenario() -> FetchResponse:
        leader = SourceLeader(
            cast("Connection", connection), lambda _: SourceName("orders", THERE), lambda: 1000
        )
        return await leader.fetch(request)

    response = asyncio.run(scenario())
    ((version, asked),) = connection.calls
    return version, asked, response


@pytest.mark.parametrize(("version_max", "version"), [(10, 10), (12, 12), (13, 13), (99, fetch.VERSIONS[-1])])
def test_the_newest_version_is_used_and_the_topic_gets_its_id_here(version_max: int, version: int) -> None:
    used, asked, response = asked_of(version_max)
    assert used == version
    assert (asked.topics[0].topic, asked.topics[0].topic_id) == ("orders", THERE)
    assert response.responses[0].topic_id == HERE


def test_a_source_gets_no_leader_epoch_of_this_cluster() -> None:
    (partition,) = asked_of(17)[1].topics[0].partitions
    assert partition.current_leader_epoch == -1
    assert partition.last_fetched_epoch == 2, "it compares the logs by its own epochs"


def test_an_old_source_is_not_asked_to_compare_epochs() -> None:
    (partition,) = asked_of(11)[1].topics[0].partitions
    assert partition.last_fetched_epoch == -1
