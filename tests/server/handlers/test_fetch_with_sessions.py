"""Incremental fetch sessions over the wire (KIP-227), against a live broker."""

from collections.abc import Mapping
from typing import Any

import pytest

from penstock.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, ForgottenTopic
from tests.server.live import (
    Client,
    TopicHandle,
    batch,
    code,
    fetch_request,
    fetch_topic,
    values_in,
    versions,
)

VERSIONS = [v for v in versions(FetchRequest) if v >= 7]


def wanted(offsets: Mapping[int, int]) -> dict[int, FetchPartition]:
    return {
        p: FetchPartition(partition=p, fetch_offset=offset, partition_max_bytes=1 << 20)
        for p, offset in offsets.items()
    }


class Session:
    """The client's side of a session on one topic."""

    def __init__(self, client: Client, topic: TopicHandle, version: int) -> None:
        self.client = client
        self.topic = topic
        self.version = version
        self.id = 0
        self.epoch = 0

    async def ask(
        self, offsets: Mapping[int, int], *, forget: tuple[int, ...] = (), **more: Any
    ) -> FetchResponse:
        topics = [fetch_topic(self.topic, self.version, wanted(offsets))] if offsets else []
        forgotten = []
        if forget:
            key = {"topic_id": self.topic.id} if self.version >= 13 else {"topic": self.topic.name}
            forgotten = [ForgottenTopic(**key, partitions=list(forget))]
        response: FetchResponse = await self.client.send(
            fetch_request(
                topics,
                session_id=self.id,
                session_epoch=self.epoch,
                forgotten_topics_data=forgotten,
                **more,
            ),
            self.version,
        )
        self.id = response.session_id
        self.epoch += 1
        return response


def answers(response: FetchResponse) -> list[tuple[int, str, list[bytes | None]]]:
    return [
        (p.partition_index, code(p.error_code), values_in(p))
        for t in response.responses
        for p in t.partitions
    ]


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_incremental_fetch_returns_only_changed_partitions(client: Client, version: int) -> None:
    topic = await client.create_topic(partitions=3)
    await client.produce(topic, batch(b"a"), partition=1)
    session = Session(client, topic, version)
    assert answers(await session.ask({0: 0, 1: 0, 2: 0})) == [
        (0, "NONE", []),
        (1, "NONE", [b"a"]),
        (2, "NONE", []),
    ]
    assert session.id > 0
    assert answers(await session.ask({1: 1})) == []
    await client.produce(topic, batch(b"b"), partition=2)
    assert answers(await session.ask({})) == [(2, "NONE", [b"b"])]
    assert answers(await session.ask({2: 1})) == []
    await client.produce(topic, batch(b"c"), partition=1)
    assert answers(await session.ask({})) == [(1, "NONE", [b"c"])]


@pytest.mark.parametrize("version", VERSIONS)
async def test_partitions_can_be_removed_from_a_session_and_added(client: Client, version: int) -> None:
    topic = await client.create_topic(partitions=3)
    session = Session(client, topic, version)
    await session.ask({0: 0, 1: 0})
    for p in range(3):
        await client.produce(topic, batch(b"v"), partition=p)
    assert answers(await session.ask({2: 0}, forget=(0,))) == [(1, "NONE", [b"v"]), (2, "NONE", [b"v"])]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_session_without_partitions_is_closed(client: Client, version: int) -> None:
    topic = await client.create_topic()
    session = Session(client, topic, version)
    await session.ask({0: 0})
    old_id = session.id
    response = await session.ask({}, forget=(0,))
    assert (response.error_code, response.session_id, response.responses) == (0, 0, [])
    session.id = old_id
    assert code((await session.ask({0: 0})).error_code) == "FETCH_SESSION_ID_NOT_FOUND"


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_unknown_session_and_a_wrong_epoch_are_refused(client: Client, version: int) -> None:
    topic = await client.create_topic()
    session = Session(client, topic, version)
    await session.ask({0: 0})
    good_id = session.id
    session.epoch = 5
    response = await session.ask({})
    assert (code(response.error_code), response.responses) == ("INVALID_FETCH_SESSION_EPOCH", [])
    session.id, session.epoch = good_id, 1
    assert (await session.ask({})).error_code == 0
    session.id = 123_456_789
    assert code((await session.ask({})).error_code) == "FETCH_SESSION_ID_NOT_FOUND"


@pytest.mark.parametrize(("before", "after"), [(12, 13), (13, 12)])
async def test_a_session_cannot_switch_between_names_and_ids(client: Client, before: int, after: int) -> None:
    topic = await client.create_topic()
    session = Session(client, topic, before)
    await session.ask({0: 0})
    session.version = after
    assert code((await session.ask({})).error_code) == "FETCH_SESSION_TOPIC_ID_ERROR"


@pytest.mark.parametrize("version", VERSIONS)
async def test_epoch_minus_one_closes_the_session(client: Client, version: int) -> None:
    topic = await client.create_topic()
    session = Session(client, topic, version)
    await session.ask({0: 0})
    old_id = session.id
    session.epoch = -1
    response = await session.ask({0: 0})
    assert (response.error_code, response.session_id, len(answers(response))) == (0, 0, 1)
    session.id, session.epoch = old_id, 1
    assert code((await session.ask({})).error_code) == "FETCH_SESSION_ID_NOT_FOUND"


@pytest.mark.parametrize("version", VERSIONS)
async def test_epoch_zero_replaces_the_session(client: Client, version: int) -> None:
    topic = await client.create_topic()
    session = Session(client, topic, version)
    await session.ask({0: 0})
    old_id = session.id
    session.epoch = 0
    await session.ask({0: 0})
    assert session.id not in (0, old_id)


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_error_is_returned_every_time_and_its_end_once(client: Client, version: int) -> None:
    topic = await client.create_topic()
    session = Session(client, topic, version)
    await session.ask({0: 7})
    for _ in range(2):
        assert answers(await session.ask({})) == [(0, "OFFSET_OUT_OF_RANGE", [])]
    assert answers(await session.ask({0: 0})) == [(0, "NONE", [])]
    assert answers(await session.ask({})) == []


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_deleted_during_a_session_is_an_error_every_time(client: Client, version: int) -> None:
    topic = await client.create_topic()
    session = Session(client, topic, version)
    await session.ask({0: 0})
    await client.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic.name)]))
    expected = "UNKNOWN_TOPIC_ID" if version >= 13 else "UNKNOWN_TOPIC_OR_PARTITION"
    for _ in range(2):
        assert answers(await session.ask({})) == [(0, expected, [])]


async def test_a_changed_log_start_is_returned(client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"a", b"b"))
    session = Session(client, topic, 18)
    await session.ask({0: 2})
    assert answers(await session.ask({})) == []
    deleted = DeleteRecordsPartition(partition_index=0, offset=1)
    await client.send(
        DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic.name, partitions=[deleted])])
    )
    response = await session.ask({})
    assert [p.log_start_offset for t in response.responses for p in t.partitions] == [1]


async def test_a_byte_limit_starves_no_partition_of_a_session(client: Client) -> None:
    topic = await client.create_topic(partitions=3)
    for p in range(3):
        await client.produce(topic, batch(b"v" * 100), partition=p)
    session = Session(client, topic, 18)
    served = [p for p, _, values in answers(await session.ask({0: 0, 1: 0, 2: 0}, max_bytes=1)) if values]
    for _ in range(5):
        served += [p for p, _, values in answers(await session.ask({}, max_bytes=1)) if values]
    assert served == [0, 1, 2, 0, 1, 2]
