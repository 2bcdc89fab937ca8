"""CreatePartitions in every version, against a live broker."""

import pytest

from penstock.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from tests.server.live import Client, batch, code, one, versions

VERSIONS = versions(CreatePartitionsRequest)


async def grow(
    client: Client,
    name: str,
    count: int,
    *,
    assignments: list[list[int]] | None = None,
    version: int = VERSIONS[-1],
    validate_only: bool = False,
) -> CreatePartitionsTopicResult:
    topic = CreatePartitionsTopic(
        name=name,
        count=count,
        assignments=None
        if assignments is None
        else [CreatePartitionsAssignment(broker_ids=a) for a in assignments],
    )
    request = CreatePartitionsRequest(topics=[topic], timeout_ms=1000, validate_only=validate_only)
    result: CreatePartitionsTopicResult = one((await client.send(request, version)).results)
    return result


@pytest.mark.parametrize("version", VERSIONS)
async def test_new_partitions_are_created_and_usable(client: Client, version: int) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"before"))
    result = await grow(client, topic.name, 3, version=version)
    assert (result.name, result.error_code, result.error_message) == (topic.name, 0, None)
    for partition in (0, 1, 2):
        assert (await client.produce(topic, batch(b"v"), partition=partition)).error_code == 0
    assert (await grow(client, topic.name, 4, assignments=[[1]], version=version)).error_code == 0
    assert (await client.produce(topic, batch(b"v"), partition=3)).error_code == 0


@pytest.mark.parametrize("version", VERSIONS)
async def test_validate_only_changes_nothing(client: Client, version: int) -> None:
    topic = await client.create_topic()
    assert (await grow(client, topic.name, 3, version=version, validate_only=True)).error_code == 0
    answer = await client.produce(topic, batch(b"v"), partition=1)
    assert code(answer.error_code) == "UNKNOWN_TOPIC_OR_PARTITION"


@pytest.mark.parametrize("version", VERSIONS)
async def test_invalid_partition_counts_and_assignments_are_refused(client: Client, version: int) -> None:
    topic = await client.create_topic(partitions=2)
    refused: list[tuple[str, int, list[list[int]] | None, str]] = [
        ("no-such-topic", 2, None, "UNKNOWN_TOPIC_OR_PARTITION"),
        (topic.name, 2, None, "INVALID_PARTITIONS"),
        (topic.name, 1, None, "INVALID_PARTITIONS"),
        (topic.name, 0, None, "INVALID_PARTITIONS"),
        (topic.name, 4, [[1]], "INVALID_REPLICA_ASSIGNMENT"),
        (topic.name, 3, [[9]], "INVALID_REPLICA_ASSIGNMENT"),
        (topic.name, 3, [[]], "INVALID_REPLICA_ASSIGNMENT"),
        (topic.name, 3, [[1, 1]], "INVALID_REPLICA_ASSIGNMENT"),
        (topic.name, 20_000, None, "POLICY_VIOLATION"),
    ]
    for name, count, assignments, expected in refused:
        result = await grow(client, name, count, assignments=assignments, version=version)
        assert (code(result.error_code), bool(result.error_message)) == (expected, True), (name, count)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_named_twice_is_refused(client: Client, version: int) -> None:
    topic = await client.create_topic()
    wanted = CreatePartitionsTopic(name=topic.name, count=2, assignments=None)
    response = await client.send(CreatePartitionsRequest(topics=[wanted, wanted]), version)
    assert {code(r.error_code) for r in response.results} == {"INVALID_REQUEST"}
