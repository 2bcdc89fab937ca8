"""Committing, fetching and deleting offsets in every version, against a live broker."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.protocol.messages.offset_commit import OffsetCommitRequest
from penstock.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from penstock.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from penstock.runtime.clock import ManualClock
from tests.groups.group_client import SETTINGS, GroupClient, unique_group
from tests.server.live import Client, Live, TopicHandle, code, held, one, running_broker, until, versions

NOTHING = (-1, -1, "")
MINUTE_MS = 60_000


@pytest.fixture(scope="module")
def live(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    directory = tmp_path_factory.mktemp("offsets")
    with held(runner, running_broker(directory, SETTINGS)) as broker:
        yield broker


@pytest.fixture
def loner(runner: asyncio.Runner, client: Client) -> GroupClient:
    """Somebody who commits for a group without being a member of it."""
    loner = GroupClient(client, unique_group())
    runner.run(loner.find())
    return loner


@pytest.fixture
def topic(runner: asyncio.Runner, client: Client) -> TopicHandle:
    return runner.run(client.create_topic(partitions=3))


@pytest.mark.parametrize("version", versions(OffsetCommitRequest))
async def test_committed_offsets_are_fetched(loner: GroupClient, topic: TopicHandle, version: int) -> None:
    epoch = 4 if version >= 6 else -1

    assert await loner.commit(topic, {0: 7, 2: 9}, version, metadata="note", leader_epoch=epoch) == {
        0: "NONE",
        2: "NONE",
    }

    assert await loner.committed(topic, 0, 1, 2) == {0: (7, epoch, "note"), 1: NOTHING, 2: (9, epoch, "note")}


@pytest.mark.parametrize("version", versions(OffsetFetchRequest))
async def test_offsets_are_fetched_in_every_version(
    loner: GroupClient, topic: TopicHandle, version: int
) -> None:
    await loner.commit(topic, {1: 5}, metadata="note", leader_epoch=3)

    assert await loner.committed(topic, 0, 1, version=version) == {
        0: NOTHING,
        1: (5, 3 if version >= 5 else -1, "note"),
    }


@pytest.mark.parametrize("version", versions(OffsetFetchRequest)[1:])
async def test_all_offsets_of_a_group_are_fetched_when_none_are_named(
    loner: GroupClient, topic: TopicHandle, client: Client, version: int
) -> None:
    other = await client.create_topic()
    await loner.commit(topic, {0: 1, 1: 2})
    await loner.commit(other, {0: 3})

    if version < 8:
        answer = await client.send(OffsetFetchRequest(group_id=loner.group, topics=None), version)
    else:
        group = OffsetFetchRequestGroup(group_id=loner.group, topics=None)
        answer = one((await client.send(OffsetFetchRequest(groups=[group]), version)).groups)

    names = {topic.id: topic.name, other.id: other.name}
    assert {
        (names[t.topic_id] if version >= 10 else t.name, p.partition_index): p.committed_offset
        for t in answer.topics
        for p in t.partitions
    } == {(topic.name, 0): 1, (topic.name, 1): 2, (other.name, 0): 3}


async def test_several_groups_are_fetched_at_once(
    loner: GroupClient, topic: TopicHandle, client: Client
) -> None:
    await loner.commit(topic, {0: 1})
    other = GroupClient(client, unique_group())
    await other.commit(topic, {0: 2})
    wanted = [OffsetFetchRequestTopics(topic_id=topic.id, partition_indexes=[0])]

    answer = await client.send(
        OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(group_id=each, topics=wanted)
                for each in (loner.group, other.group, "never-committed")
            ]
        )
    )

    assert {g.group_id: g.topics[0].partitions[0].committed_offset for g in answer.groups} == {
        loner.group: 1,
        other.group: 2,
        "never-committed": -1,
    }


async def test_unknown_partitions_and_topics_are_refused_individually(
    loner: GroupClient, topic: TopicHandle
) -> None:
    unknown = TopicHandle("no-such-topic", b"\x09" * 16)

    assert await loner.commit(topic, {0: 1, 3: 1}) == {0: "NONE", 3: "UNKNOWN_TOPIC_OR_PARTITION"}
    assert await loner.commit(unknown, {0: 1}, 9) == {0: "UNKNOWN_TOPIC_OR_PARTITION"}
    assert await loner.commit(unknown, {0: 1}, 10) == {0: "UNKNOWN_TOPIC_ID"}
    assert await loner.committed(topic, 0) == {0: (1, -1, "")}


async def test_fetching_by_an_unknown_topic_id_is_an_error(loner: GroupClient, client: Client) -> None:
    wanted = [OffsetFetchRequestTopics(topic_id=b"\x09" * 16, partition_indexes=[0])]
    group = OffsetFetchRequestGroup(group_id=loner.group, topics=wanted)

    answer = one((await client.send(OffsetFetchRequest(groups=[group]))).groups)

    assert code(answer.topics[0].partitions[0].error_code) == "UNKNOWN_TOPIC_ID"


async def test_commit_metadata_that_is_too_long_is_refused(loner: GroupClient, topic: TopicHandle) -> None:
    assert await loner.commit(topic, {0: 1}, metadata="x" * 4096) == {0: "NONE"}
    assert await loner.commit(topic, {0: 2}, metadata="x" * 4097) == {0: "OFFSET_METADATA_TOO_LARGE"}
    assert (await loner.committed(topic, 0))[0][0] == 1


async def test_null_commit_metadata_is_returned_as_empty(loner: GroupClient, topic: TopicHandle) -> None:
    await loner.commit(topic, {0: 1}, metadata=None)

    assert await loner.committed(topic, 0) == {0: (1, -1, "")}


async def test_a_commit_of_many_partitions_may_take_several_batches(
    loner: GroupClient, client: Client
) -> None:
    topic = await client.create_topic(partitions=300)
    offsets = {partition: partition + 1 for partition in range(300)}

    assert set((await loner.commit(topic, offsets, metadata="x" * 4000)).values()) == {"NONE"}

    found = await loner.committed(topic, *offsets)
    assert {partition: each[0] for partition, each in found.items()} == offsets


async def test_only_members_may_commit(live: Live, loner: GroupClient, topic: TopicHandle) -> None:
    member = GroupClient(await live.connect(), loner.group)
    await member.make_stable()

    assert await member.commit(topic, {0: 4}) == {0: "NONE"}
    assert await loner.commit(topic, {0: 5}) == {0: "UNKNOWN_MEMBER_ID"}
    member.generation = 7
    assert await member.commit(topic, {0: 6}) == {0: "ILLEGAL_GENERATION"}
    assert (await loner.committed(topic, 0))[0][0] == 4
    await member.client.close()


@pytest.mark.parametrize(("version", "expected"), [(8, "ILLEGAL_GENERATION"), (9, "GROUP_ID_NOT_FOUND")])
async def test_a_member_of_a_deleted_group_gets_an_error_that_its_version_knows(
    loner: GroupClient, topic: TopicHandle, version: int, expected: str
) -> None:
    loner.generation = 1

    assert await loner.commit(topic, {0: 1}, version) == {0: expected}


async def test_offsets_are_deleted_with_their_topic(loner: GroupClient, client: Client) -> None:
    topic = await client.create_topic()
    await loner.commit(topic, {0: 7})
    await client.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic.name)], timeout_ms=1000))
    again = await client.create_topic(name=topic.name)

    assert await loner.committed(again, 0) == {0: NOTHING}
    group = OffsetFetchRequestGroup(group_id=loner.group, topics=None)
    assert one((await client.send(OffsetFetchRequest(groups=[group]), 9)).groups).topics == []


async def test_offsets_of_unsubscribed_topics_are_deleted(
    live: Live, loner: GroupClient, topic: TopicHandle, client: Client
) -> None:
    read = await client.create_topic()
    await loner.commit(topic, {0: 1, 1: 2})
    await loner.commit(read, {0: 3})
    member = GroupClient(await live.connect(), loner.group)
    await member.join(topics=[read.name])
    await member.sync(assignments={})

    assert await delete(loner, {topic.name: [0, 9], read.name: [0]}) == {
        (topic.name, 0): "NONE",
        (topic.name, 9): "UNKNOWN_TOPIC_OR_PARTITION",
        (read.name, 0): "GROUP_SUBSCRIBED_TO_TOPIC",
    }

    assert await loner.committed(topic, 0, 1) == {0: NOTHING, 1: (2, -1, "")}
    assert await loner.committed(read, 0) == {0: (3, -1, "")}
    await member.client.close()


async def test_offsets_of_a_missing_group_cannot_be_deleted(loner: GroupClient, topic: TopicHandle) -> None:
    loner.group = "nobody-made-this"

    assert await delete(loner, {topic.name: [0]}) == "GROUP_ID_NOT_FOUND"
    loner.group = ""
    assert await delete(loner, {topic.name: [0]}) == "INVALID_GROUP_ID"


async def test_offsets_survive_a_restart(tmp_path: Path) -> None:
    async with running_broker(tmp_path, SETTINGS) as live:
        loner = GroupClient(await live.connect(), "g")
        topic = await loner.client.create_topic(partitions=2)
        await loner.find()
        await loner.commit(topic, {0: 1, 1: 2}, metadata="note", leader_epoch=5)
        await loner.commit(topic, {0: 8})
        assert await delete(loner, {topic.name: [1]}) == {(topic.name, 1): "NONE"}
    async with running_broker(tmp_path, SETTINGS) as live:
        loner.client = await live.connect()
        await loner.find()

        assert await loner.committed(topic, 0, 1) == {0: (8, -1, ""), 1: NOTHING}


async def test_offsets_and_members_survive_compaction(tmp_path: Path) -> None:
    settings = {
        **SETTINGS,
        "offsets.topic.num.partitions": "1",
        "offsets.topic.segment.bytes": "4096",
        "log.cleaner.backoff.ms": "20",
        "log.cleaner.min.cleanable.ratio": "0.01",
    }
    async with running_broker(tmp_path, settings) as live:
        member = GroupClient(await live.connect(), "g")
        topic = await member.client.create_topic(partitions=2)
        await member.find()
        await member.make_stable()
        await member.commit(topic, {1: 5})
        for offset in range(200):
            await member.commit(topic, {0: offset})
        shard = live.services.groups.find("g")
        assert not isinstance(shard, int)
        records = shard.replica.log
        await until(lambda: records.size_bytes < 3 * 4096)
    async with running_broker(tmp_path, settings) as live:
        member.client = await live.connect()
        await member.find()

        assert await member.committed(topic, 0, 1) == {0: (199, -1, ""), 1: (5, -1, "")}
        assert await member.heartbeat() == "NONE"


async def test_offsets_of_an_empty_group_expire_and_the_group_with_them(tmp_path: Path) -> None:
    clock = ManualClock()
    settings = {**SETTINGS, "offsets.retention.minutes": "10", "offsets.retention.check.interval.ms": "60000"}
    async with running_broker(tmp_path, settings, clock=clock) as live:
        loner = GroupClient(await live.connect(), "g")
        topic = await loner.client.create_topic(partitions=2)
        await loner.find()
        await loner.commit(topic, {0: 1})
        clock.advance(6 * MINUTE_MS)
        await loner.commit(topic, {1: 2})
        await passes(live, clock, 4)
        assert await loner.committed(topic, 0, 1) == {0: NOTHING, 1: (2, -1, "")}

        await passes(live, clock, 6)

        assert await loner.committed(topic, 1) == {1: NOTHING}
        shard = live.services.groups.find("g")
        assert not isinstance(shard, int)
        assert "g" not in shard.state.groups


async def test_an_old_client_sets_the_retention_of_its_offsets(tmp_path: Path) -> None:
    clock = ManualClock()
    settings = {**SETTINGS, "offsets.retention.check.interval.ms": "60000"}
    async with running_broker(tmp_path, settings, clock=clock) as live:
        loner = GroupClient(await live.connect(), "g")
        topic = await loner.client.create_topic(partitions=2)
        await loner.find()
        await loner.commit(topic, {0: 1}, 4, retention_time_ms=3 * MINUTE_MS)
        await passes(live, clock, 2)
        assert await loner.committed(topic, 0) == {0: (1, -1, "")}

        await passes(live, clock, 2)

        assert await loner.committed(topic, 0) == {0: NOTHING}


async def passes(live: Live, clock: ManualClock, minutes: int) -> None:
    """Minutes pass; expired offsets are searched for once in each."""
    for _ in range(minutes):
        before = live.services.groups.expiry_count
        clock.advance(MINUTE_MS)
        await until(lambda before=before: live.services.groups.expiry_count > before)


async def delete(loner: GroupClient, wanted: dict[str, list[int]]) -> dict[tuple[str, int], str] | str:
    request = OffsetDeleteRequest(
        group_id=loner.group,
        topics=[
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=p) for p in partitions]
            )
            for name, partitions in wanted.items()
        ],
    )
    answer = await loner.client.send(request)
    if answer.error_code:
        return code(answer.error_code)
    return {(t.name, p.partition_index): code(p.error_code) for t in answer.topics for p in t.partitions}
