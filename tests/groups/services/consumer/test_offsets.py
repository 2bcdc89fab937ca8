"""Offsets of KIP-848 groups."""

from typing import Any

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
from tests.groups.group_client import GroupClient
from tests.groups.services.consumer.members import Consumer
from tests.server.live import Client, TopicHandle, code, one


async def test_offsets_are_committed_in_the_members_epoch(consumer: Consumer, topic: TopicHandle) -> None:
    await consumer.join()
    offsets = consumer.offsets()

    assert await offsets.commit(topic, {0: 5}) == {0: "NONE"}
    assert await offsets.commit(topic, {0: 6}, 9) == {0: "NONE"}
    assert await offsets.commit(topic, {0: 7}, 8) == {0: "UNSUPPORTED_VERSION"}
    offsets.generation += 1
    assert await offsets.commit(topic, {0: 7}) == {0: "STALE_MEMBER_EPOCH"}
    offsets.member_id = "other"
    assert await offsets.commit(topic, {0: 7}) == {0: "UNKNOWN_MEMBER_ID"}

    assert (await offsets.committed(topic, 0))[0][0] == 6


async def test_a_member_with_a_stale_epoch_gets_no_offsets(consumer: Consumer, topic: TopicHandle) -> None:
    await consumer.join()

    async def fetched(**member: Any) -> str:
        topics = [OffsetFetchRequestTopics(topic_id=topic.id, partition_indexes=[0])]
        group = OffsetFetchRequestGroup(group_id=consumer.group, topics=topics, **member)
        return code(one((await consumer.client.send(OffsetFetchRequest(groups=[group]))).groups).error_code)

    assert await fetched() == "NONE"
    assert await fetched(member_id="m1", member_epoch=1) == "NONE"
    assert await fetched(member_id="m1", member_epoch=0) == "STALE_MEMBER_EPOCH"
    assert await fetched(member_id="m2", member_epoch=1) == "UNKNOWN_MEMBER_ID"


async def test_offsets_of_subscribed_topics_are_not_deleted(
    consumer: Consumer, client: Client, topic: TopicHandle
) -> None:
    other = await client.create_topic()
    await consumer.join()
    await consumer.offsets().commit(other, {0: 1})
    wanted = [
        OffsetDeleteRequestTopic(name=t.name, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
        for t in (topic, other)
    ]

    answer = await client.send(OffsetDeleteRequest(group_id=consumer.group, topics=wanted))

    codes = {t.name: code(one(t.partitions).error_code) for t in answer.topics}
    assert codes == {topic.name: "GROUP_SUBSCRIBED_TO_TOPIC", other.name: "NONE"}


async def test_offsets_survive_an_upgrade_and_a_downgrade_of_their_group(
    consumer: Consumer, client: Client, topic: TopicHandle
) -> None:
    simple = GroupClient(client, consumer.group)
    assert await simple.commit(topic, {0: 3}) == {0: "NONE"}

    await consumer.join()
    assert (await simple.committed(topic, 0))[0][0] == 3
    await consumer.leave()
    assert await simple.commit(topic, {0: 4}) == {0: "NONE"}, "an empty group takes them from anyone"
    classic = GroupClient(client, consumer.group)
    assert code((await classic.join(topics=[topic.name])).error_code) == "NONE"

    assert (await simple.committed(topic, 0))[0][0] == 4
    assert code((await consumer.describe()).error_code) == "GROUP_ID_NOT_FOUND"
