"""Metadata in every version, against a live broker."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from penstock.security.operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS, bit_field
from tests.server.live import Client, Live, code, one, running_broker, unique_name, until, versions

VERSIONS = versions(MetadataRequest)
NOT_ASKED = -(2**31)


async def metadata(
    client: Client,
    version: int = VERSIONS[-1],
    names: Sequence[str] | None = None,
    *,
    ids: Sequence[bytes] = (),
    create: bool = False,
    operations: bool = False,
) -> MetadataResponse:
    topics = [MetadataRequestTopic(name=n) for n in names or ()]
    topics += [MetadataRequestTopic(name=None, topic_id=i) for i in ids]
    response: MetadataResponse = await client.send(
        MetadataRequest(
            topics=None if names is None and not ids else topics,
            allow_auto_topic_creation=create if version >= 4 else True,
            include_topic_authorized_operations=operations,
            include_cluster_authorized_operations=operations and 8 <= version <= 10,
        ),
        version,
    )
    return response


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_is_found_by_name_with_its_partitions_and_the_brokers_address(
    live: Live, client: Client, version: int
) -> None:
    topic = await client.create_topic(partitions=3)
    response = await metadata(client, version, [topic.name])
    broker = one(response.brokers)
    assert (broker.node_id, broker.host, broker.port) == (1, "127.0.0.1", live.port)
    if version >= 1:
        assert response.controller_id == 1
    if version >= 2:
        assert response.cluster_id == live.services.cluster_id
    found = one(response.topics)
    assert (found.name, found.error_code, found.is_internal) == (topic.name, 0, False)
    assert found.topic_id == (topic.id if version >= 10 else bytes(16))
    assert [(p.partition_index, p.leader_id) for p in found.partitions] == [(0, 1), (1, 1), (2, 1)]
    for partition in found.partitions:
        assert (partition.error_code, partition.replica_nodes, partition.isr_nodes) == (0, [1], [1])
        assert partition.offline_replicas == []
        assert partition.leader_epoch == (0 if version >= 7 else -1)
    assert found.topic_authorized_operations == NOT_ASKED
    assert response.cluster_authorized_operations == NOT_ASKED


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_empty_list_selects_all_topics_in_v0_and_none_later(client: Client, version: int) -> None:
    topic = await client.create_topic()
    names = [t.name for t in (await metadata(client, version, [])).topics]
    assert (topic.name in names) if version == 0 else names == []


@pytest.mark.parametrize("version", VERSIONS[1:])
async def test_null_selects_all_topics(client: Client, version: int) -> None:
    made = [await client.create_topic() for _ in range(2)]
    names = [t.name for t in (await metadata(client, version)).topics]
    assert {t.name for t in made} <= set(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("version", range(4, 14))
async def test_an_unknown_topic_is_not_created_if_the_client_forbids_it(client: Client, version: int) -> None:
    name = unique_name()
    for _ in range(2):
        found = one((await metadata(client, version, [name])).topics)
        assert (found.name, code(found.error_code)) == (name, "UNKNOWN_TOPIC_OR_PARTITION")
        assert found.partitions == []
        assert found.topic_id == bytes(16)


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_request_that_auto_creates_a_topic_gets_an_error_first(
    live: Live, client: Client, version: int
) -> None:
    name = unique_name()
    found = one((await metadata(client, version, [name], create=True)).topics)
    assert (found.name, code(found.error_code)) == (name, "UNKNOWN_TOPIC_OR_PARTITION")
    assert (found.topic_id, found.partitions) == (bytes(16), [])
    await until(lambda: name in live.services.controller.image.topics)
    found = one((await metadata(client, version, [name], create=True)).topics)
    assert (found.name, found.error_code, len(found.partitions)) == (name, 0, 1)


async def test_no_topic_is_auto_created_if_the_broker_forbids_it(tmp_path: Path) -> None:
    async with running_broker(tmp_path, {"auto.create.topics.enable": "false"}) as live:
        client = await live.connect()
        for version in VERSIONS:
            found = one((await metadata(client, version, ["wished-for"], create=True)).topics)
            assert code(found.error_code) == "UNKNOWN_TOPIC_OR_PARTITION"


async def test_a_topic_that_cannot_be_created_stays_unknown(tmp_path: Path) -> None:
    async with running_broker(tmp_path, {"default.replication.factor": "3"}) as live:
        client = await live.connect()
        found = one((await metadata(client, names=["wished-for"], create=True)).topics)
        assert code(found.error_code) == "UNKNOWN_TOPIC_OR_PARTITION"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["", ".", "..", "white space", "é", "x" * 250])
async def test_an_invalid_topic_name_is_refused(client: Client, version: int, name: str) -> None:
    found = one((await metadata(client, version, [name], create=True)).topics)
    assert (found.name, code(found.error_code)) == (name, "INVALID_TOPIC_EXCEPTION")


async def test_a_topic_named_twice_is_answered_once(client: Client) -> None:
    topic = await client.create_topic()
    assert len((await metadata(client, names=[topic.name, topic.name])).topics) == 1
    assert len((await metadata(client, ids=[topic.id, topic.id])).topics) == 1


@pytest.mark.parametrize("version", [12, 13])
async def test_topics_are_found_by_id(client: Client, version: int) -> None:
    topic = await client.create_topic()
    unknown = b"\x07" * 16
    response = await metadata(client, version, ids=[topic.id, unknown])
    answers = {t.topic_id: (t.name, code(t.error_code)) for t in response.topics}
    assert answers == {topic.id: (topic.name, "NONE"), unknown: (None, "UNKNOWN_TOPIC_ID")}


@pytest.mark.parametrize("version", [10, 11])
async def test_ids_are_refused_before_v12(client: Client, version: int) -> None:
    topic = await client.create_topic()
    response = await metadata(client, version, ids=[topic.id])
    found = one(response.topics)
    assert (found.name, found.topic_id, code(found.error_code)) == ("", topic.id, "INVALID_REQUEST")
    assert response.brokers == []


@pytest.mark.parametrize("version", range(8, 14))
async def test_permitted_operations_are_included_on_request(client: Client, version: int) -> None:
    topic = await client.create_topic()
    response = await metadata(client, version, [topic.name, "unknown-topic"], operations=True)
    assert [t.topic_authorized_operations for t in response.topics] == [bit_field(TOPIC_OPERATIONS)] * 2
    expected = bit_field(CLUSTER_OPERATIONS) if version <= 10 else NOT_ASKED
    assert response.cluster_authorized_operations == expected


async def test_internal_topics_are_marked_whether_they_exist_or_not(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        found = one((await metadata(client, names=["__consumer_offsets"])).topics)
        assert (code(found.error_code), found.is_internal) == ("UNKNOWN_TOPIC_OR_PARTITION", True)
        await metadata(client, names=["__consumer_offsets"], create=True)
        await until(lambda: "__consumer_offsets" in live.services.controller.image.topics)
        found = one((await metadata(client, names=["__consumer_offsets"])).topics)
        assert (code(found.error_code), found.is_internal, len(found.partitions)) == ("NONE", True, 50)


async def test_advertised_addresses_are_returned(tmp_path: Path) -> None:
    async with running_broker(
        tmp_path, {"advertised.listeners": "PLAINTEXT://broker.example:1234", "broker.rack": "r1"}
    ) as live:
        client = await live.connect()
        broker = one((await metadata(client)).brokers)
        assert (broker.host, broker.port, broker.rack) == ("broker.example", 1234, "r1")
