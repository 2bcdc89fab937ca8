"""CreateTopics in every version, against a live broker. The rules themselves are tested with the controller."""

from pathlib import Path
from random import Random

import pytest

from penstock.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from penstock.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from penstock_simulation.disk import FaultyDisk
from tests.server.live import Client, Live, batch, code, one, running_broker, unique_name, versions

VERSIONS = versions(CreateTopicsRequest)


async def create(
    client: Client,
    *topics: CreatableTopic,
    version: int = VERSIONS[-1],
    validate_only: bool = False,
) -> list[CreatableTopicResult]:
    response = await client.send(
        CreateTopicsRequest(topics=list(topics), timeout_ms=1000, validate_only=validate_only), version
    )
    results: list[CreatableTopicResult] = response.topics
    return results


def topic_of(name: str, count: int = 1, factor: int = 1, **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=count,
        replication_factor=factor,
        configs=[CreatableTopicConfig(name=n.replace("__", "."), value=v) for n, v in configs.items()],
    )


async def exists(client: Client, name: str) -> bool:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    response = await client.send(request)
    return bool(one(response.topics).error_code == 0)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_is_created_and_described(client: Client, version: int) -> None:
    name = unique_name()
    made = one(await create(client, topic_of(name, 3, retention__ms="5000"), version=version))
    assert (made.name, made.error_code, made.error_message) == (name, 0, None)
    assert await exists(client, name)
    assert (made.topic_id != bytes(16)) == (version >= 7)
    if version < 5:
        assert (made.num_partitions, made.replication_factor, made.configs) == (-1, -1, [])
        return
    assert (made.num_partitions, made.replication_factor, made.topic_config_error_code) == (3, 1, 0)
    configs = {c.name: c for c in made.configs or []}
    assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("5000", 1)
    assert (configs["cleanup.policy"].value, configs["cleanup.policy"].config_source) == ("delete", 5)


@pytest.mark.parametrize("version", VERSIONS)
async def test_validate_only_creates_nothing(client: Client, version: int) -> None:
    name = unique_name()
    made = one(await create(client, topic_of(name), version=version, validate_only=True))
    assert made.error_code == 0
    assert not await exists(client, name)


@pytest.mark.parametrize("version", VERSIONS)
async def test_from_v4_on_minus_one_means_the_brokers_default(tmp_path: Path, version: int) -> None:
    async with running_broker(tmp_path, {"num.partitions": "4"}) as live:
        client = await live.connect()
        await create(client, topic_of("defaults", -1, -1), version=version)
        request = MetadataRequest(topics=[MetadataRequestTopic(name="defaults")])
        assert len(one((await client.send(request)).topics).partitions) == 4


REFUSED = {
    "exists": (topic_of("already-there"), "TOPIC_ALREADY_EXISTS"),
    "empty name": (topic_of(""), "INVALID_TOPIC_EXCEPTION"),
    "bad name": (topic_of("white space"), "INVALID_TOPIC_EXCEPTION"),
    "long name": (topic_of("x" * 250), "INVALID_TOPIC_EXCEPTION"),
    "collision": (topic_of("already.there.too"), "INVALID_TOPIC_EXCEPTION"),
    "metadata log": (topic_of("__cluster_metadata"), "INVALID_REQUEST"),
    "no partitions": (topic_of("fresh", 0), "INVALID_PARTITIONS"),
    "negative partitions": (topic_of("fresh", -2), "INVALID_PARTITIONS"),
    "too many partitions": (topic_of("fresh", 10_001), "POLICY_VIOLATION"),
    "no replicas": (topic_of("fresh", 1, 0), "INVALID_REPLICATION_FACTOR"),
    "too many replicas": (topic_of("fresh", 1, 2), "INVALID_REPLICATION_FACTOR"),
    "unknown setting": (topic_of("fresh", no__such__setting="1"), "INVALID_CONFIG"),
    "bad value": (topic_of("fresh", retention__ms="soon"), "INVALID_CONFIG"),
    "out of bounds": (topic_of("fresh", segment__bytes="0"), "INVALID_CONFIG"),
    "null value": (
        CreatableTopic(
            name="fresh",
            num_partitions=1,
            replication_factor=1,
            configs=[CreatableTopicConfig(name="retention.ms", value=None)],
        ),
        "INVALID_CONFIG",
    ),
    "unknown broker": (
        CreatableTopic(
            name="fresh",
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[9])],
        ),
        "INVALID_REPLICA_ASSIGNMENT",
    ),
    "assignment and count": (
        CreatableTopic(
            name="fresh",
            num_partitions=1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[1])],
        ),
        "INVALID_REQUEST",
    ),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("refused", REFUSED)
async def test_invalid_topics_are_refused_and_the_others_created(
    client: Client, version: int, refused: str
) -> None:
    for name in ("already-there", "already_there_too"):
        await create(client, topic_of(name))
    wanted, expected = REFUSED[refused]
    beside = unique_name()
    results = {t.name: t for t in await create(client, wanted, topic_of(beside), version=version)}
    assert code(results[wanted.name].error_code) == expected
    assert results[wanted.name].error_message
    assert results[beside].error_code == 0
    assert not await exists(client, "fresh")


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_named_twice_is_refused(client: Client, version: int) -> None:
    name = unique_name()
    results = await create(client, topic_of(name), topic_of(name), version=version)
    assert {code(r.error_code) for r in results} == {"INVALID_REQUEST"}
    assert not await exists(client, name)


async def test_replicas_may_be_assigned_by_the_client(live: Live, client: Client) -> None:
    topic = await client.create_topic(assignments=[[1], [1], [1]])
    assert (await client.produce(topic, batch(b"v"), partition=2)).error_code == 0


async def test_on_a_full_disk_the_creation_fails_and_the_connection_stays_open(tmp_path: Path) -> None:
    disk = FaultyDisk(Random(1))
    async with running_broker(Path("/data"), files=disk) as live:
        client = await live.connect()
        disk.set_capacity(0)
        made = one(await create(client, topic_of("no-room")))
        assert code(made.error_code) == "KAFKA_STORAGE_ERROR"
        disk.set_capacity(None)
        made = one(await create(client, topic_of("no-room")))
        assert code(made.error_code) == "NONE"
        request = MetadataRequest(topics=[MetadataRequestTopic(name="no-room")])
        assert one((await client.send(request)).topics).error_code == 0


async def test_many_topics_are_created_in_one_request_except_for_duplicates(client: Client) -> None:
    names = [unique_name() for _ in range(250)]
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    response = await client.send(CreateTopicsRequest(topics=[*topics, topics[0]], timeout_ms=10_000))
    errors = {each.name: code(each.error_code) for each in response.topics}
    assert errors.pop(names[0]) == "INVALID_REQUEST"
    assert (set(errors), set(errors.values())) == (set(names[1:]), {"NONE"})
    settings_by_topic = {each.name: {c.name: c.value for c in each.configs or []} for each in response.topics}
    assert settings_by_topic[names[-1]]["retention.ms"] == "604800000"
    assert settings_by_topic[names[-1]] == settings_by_topic[names[1]], (
        "the settings of the last are told as those of the first are"
    )


async def test_the_partitions_that_one_request_creates_are_limited(
    client: Client,
) -> None:
    topics = [CreatableTopic(name=unique_name(), num_partitions=99, replication_factor=1) for _ in range(250)]
    request = CreateTopicsRequest(topics=topics, timeout_ms=10_000, validate_only=True)
    errors = [code(each.error_code) for each in (await client.send(request)).topics]
    assert (errors[0], errors[-1]) == ("NONE", "POLICY_VIOLATION")
