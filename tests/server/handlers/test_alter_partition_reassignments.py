"""AlterPartitionReassignments and ListPartitionReassignments, against a live broker of one node."""

import pytest

from penstock.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from penstock.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.server.live import Client, code, one, versions

VERSIONS = versions(AlterPartitionReassignmentsRequest)


async def move(client: Client, name: str, replicas: list[int] | None, version: int) -> str:
    partition = ReassignablePartition(partition_index=0, replicas=replicas)
    topic = ReassignableTopic(name=name, partitions=[partition])
    response = await client.send(AlterPartitionReassignmentsRequest(topics=[topic]), version)
    assert response.error_code == 0
    return code(one(one(response.responses).partitions).error_code)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_reassignment_to_the_current_replicas_moves_nothing(client: Client, version: int) -> None:
    topic = await client.create_topic()
    assert await move(client, topic.name, [1], version) == "NONE"
    assert (await client.send(ListPartitionReassignmentsRequest(topics=None), 0)).topics == []


@pytest.mark.parametrize("version", VERSIONS)
async def test_invalid_reassignments_are_refused(client: Client, version: int) -> None:
    topic = await client.create_topic()
    assert await move(client, topic.name, [1, 2], version) == "INVALID_REPLICA_ASSIGNMENT"
    assert await move(client, topic.name, [], version) == "INVALID_REPLICA_ASSIGNMENT"
    assert await move(client, topic.name, None, version) == "NO_REASSIGNMENT_IN_PROGRESS"
    assert await move(client, "missing", [1], version) == "UNKNOWN_TOPIC_OR_PARTITION"


async def test_only_reassignments_of_the_named_topics_are_listed(client: Client) -> None:
    topic = await client.create_topic()
    wanted = ListPartitionReassignmentsTopics(name=topic.name, partition_indexes=[0])
    response = await client.send(ListPartitionReassignmentsRequest(topics=[wanted]), 0)
    assert (response.error_code, response.error_message, response.topics) == (0, None, [])
