"""DeleteTopics in every version, against a live broker."""

from pathlib import Path

import pytest

from penstock.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from tests.server.live import Client, Live, batch, code, one, running_broker, values_in, versions

VERSIONS = versions(DeleteTopicsRequest)


async def delete(
    client: Client, *names: str, ids: tuple[bytes, ...] = (), version: int = VERSIONS[-1]
) -> list[DeletableTopicResult]:
    request = DeleteTopicsRequest(topic_names=list(names), timeout_ms=1000)
    if version >= 6:
        states = [DeleteTopicState(name=n) for n in names]
        states += [DeleteTopicState(name=None, topic_id=i) for i in ids]
        request = DeleteTopicsRequest(topics=states, timeout_ms=1000)
    results: list[DeletableTopicResult] = (await client.send(request, version)).responses
    return results


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_is_deleted_by_name(live: Live, client: Client, version: int) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"v"))
    directory = Path(live.services.replicas.directory) / f"{topic.name}-0"
    assert directory.exists()
    deleted = one(await delete(client, topic.name, version=version))
    assert (deleted.name, deleted.error_code) == (topic.name, 0)
    assert deleted.topic_id == (topic.id if version >= 6 else bytes(16))
    assert not directory.exists()
    assert code((await client.produce(topic, batch(b"v"))).error_code) == "UNKNOWN_TOPIC_ID"


async def test_a_topic_is_deleted_by_id(client: Client) -> None:
    topic = await client.create_topic()
    deleted = one(await delete(client, ids=(topic.id,)))
    assert (deleted.name, deleted.topic_id, deleted.error_code) == (topic.name, topic.id, 0)


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_unknown_name_does_not_stop_the_others(client: Client, version: int) -> None:
    topic = await client.create_topic()
    results = {r.name: r for r in await delete(client, "no-such-topic", topic.name, version=version)}
    assert code(results["no-such-topic"].error_code) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert bool(results["no-such-topic"].error_message) == (version >= 5)
    assert results[topic.name].error_code == 0


async def test_an_unknown_id_is_refused(client: Client) -> None:
    deleted = one(await delete(client, ids=(b"\x08" * 16,)))
    assert (deleted.name, code(deleted.error_code)) == (None, "UNKNOWN_TOPIC_ID")


async def test_a_topic_must_be_named_once_by_name_or_by_id(client: Client) -> None:
    topic = await client.create_topic()
    for states in (
        [DeleteTopicState(name=None)],
        [DeleteTopicState(name=topic.name, topic_id=topic.id)],
        [DeleteTopicState(name=topic.name), DeleteTopicState(name=topic.name)],
    ):
        response = await client.send(DeleteTopicsRequest(topics=states))
        assert {code(r.error_code) for r in response.responses} == {"INVALID_REQUEST"}
    assert (await client.produce(topic, batch(b"still there"))).error_code == 0


@pytest.mark.parametrize("version", VERSIONS)
async def test_nothing_is_deleted_when_deletion_is_disabled(tmp_path: Path, version: int) -> None:
    async with running_broker(tmp_path, {"delete.topic.enable": "false"}) as live:
        client = await live.connect()
        topic = await client.create_topic()
        deleted = one(await delete(client, topic.name, version=version))
        expected = "INVALID_REQUEST" if version < 3 else "TOPIC_DELETION_DISABLED"
        assert code(deleted.error_code) == expected


async def test_a_recreated_topic_has_a_new_id_and_no_records(client: Client) -> None:
    first = await client.create_topic()
    await client.produce(first, batch(b"old"))
    await delete(client, first.name)
    second = await client.create_topic(name=first.name)
    assert first.id != second.id
    assert code((await client.fetch(first)).error_code) == "UNKNOWN_TOPIC_ID"
    assert (await client.produce(second, batch(b"new"))).base_offset == 0
    assert values_in(await client.fetch(second)) == [b"new"]
