"""ElectLeaders in every version, against a live broker of one node."""

import pytest

from penstock.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from tests.server.live import Client, code, versions

VERSIONS = versions(ElectLeadersRequest)


def answers(response: ElectLeadersResponse) -> dict[tuple[str, int], str]:
    return {
        (topic.topic, each.partition_id): code(each.error_code)
        for topic in response.replica_election_results
        for each in topic.partition_result
    }


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_leader_that_is_preferred_already_needs_no_election(client: Client, version: int) -> None:
    topic = await client.create_topic(partitions=2)
    wanted = [
        TopicPartitions(topic=topic.name, partitions=[0, 7]),
        TopicPartitions(topic="no", partitions=[0]),
    ]
    request = ElectLeadersRequest(topic_partitions=wanted)
    response = await client.send(request, version)
    assert response.error_code == 0
    assert answers(response) == {
        (topic.name, 0): "ELECTION_NOT_NEEDED",
        (topic.name, 7): "UNKNOWN_TOPIC_OR_PARTITION",
        ("no", 0): "UNKNOWN_TOPIC_OR_PARTITION",
    }


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_request_for_all_partitions_returns_only_those_that_need_an_election(
    client: Client, version: int
) -> None:
    await client.create_topic(partitions=2)
    response = await client.send(ElectLeadersRequest(topic_partitions=None), version)
    assert answers(response) == {}


@pytest.mark.parametrize("version", VERSIONS[1:])
async def test_an_unknown_kind_of_election_is_refused(client: Client, version: int) -> None:
    wanted = [TopicPartitions(topic="any", partitions=[3])]
    response = await client.send(ElectLeadersRequest(election_type=9, topic_partitions=wanted), version)
    assert code(response.error_code) == "INVALID_REQUEST"
    assert answers(response) == {("any", 3): "INVALID_REQUEST"}
