"""Share groups against a live broker, over the wire: members come, stay and go."""

from pathlib import Path

from penstock.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.runtime.clock import ManualClock
from tests.groups.group_client import GroupClient, unique_group
from tests.groups.services.consumer.members import Consumer
from tests.groups.services.share.members import SETTINGS, ShareConsumer, group_of
from tests.server.live import Client, Live, TopicHandle, code, one, running_broker, until


async def test_a_member_joins_and_gets_its_partitions_with_the_first_response(
    consumer: ShareConsumer,
) -> None:
    answer = await consumer.join()

    assert (code(answer.error_code), answer.member_id, answer.member_epoch) == ("NONE", "m1", 3)
    assert answer.heartbeat_interval_ms == 5000
    assert consumer.numbers == [0, 1, 2, 3]
    assert (await consumer.beat()).assignment is None


async def test_members_share_the_partitions_and_the_remaining_one_gets_all(
    consumer: ShareConsumer, client: Client, topic: TopicHandle
) -> None:
    await consumer.join()
    other = ShareConsumer(client, consumer.group, "m2", topic)
    await other.join()
    await consumer.beat()
    assert sorted(consumer.numbers + other.numbers) == [0, 1, 2, 3]
    assert len(other.numbers) == 2

    answer = await other.leave()
    assert (code(answer.error_code), answer.member_id, answer.member_epoch) == ("NONE", "m2", -1)
    await consumer.beat()

    assert consumer.numbers == [0, 1, 2, 3]


async def test_new_partitions_and_deleted_topics_reach_members_with_their_heartbeats(
    live: Live, client: Client, topic: TopicHandle
) -> None:
    more = await client.create_topic(partitions=1)
    consumer = await ShareConsumer(client, unique_group(), "m1", topic, more).find()
    await consumer.join()
    grown = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=more.name, count=2, assignments=None)], timeout_ms=1000
    )
    assert code(one((await client.send(grown)).results).error_code) == "NONE"

    await consumer.beat()
    await until(lambda: not group_of(live, consumer.group).in_flight)
    await consumer.beat()
    assert consumer.held[more.id] == [0, 1]

    await client.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic.name)], timeout_ms=1000))
    await consumer.beat()
    assert consumer.held == {more.id: [0, 1]}


async def test_a_group_has_one_type(consumer: ShareConsumer, client: Client, topic: TopicHandle) -> None:
    await consumer.join()
    classic = GroupClient(client, consumer.group)
    modern = Consumer(client, consumer.group, "m2", topic)

    assert code((await classic.begin_join()).error_code) == "INCONSISTENT_GROUP_PROTOCOL"
    answer = await modern.join()
    assert code(answer.error_code) == "GROUP_ID_NOT_FOUND"
    assert answer.error_message == f"Group {consumer.group} is not a consumer group."

    other = await ShareConsumer(client, unique_group(), "m1", topic).find()
    await GroupClient(client, other.group).join()
    refused = await other.join()
    assert code(refused.error_code) == "GROUP_ID_NOT_FOUND"
    assert refused.error_message == f"Group {other.group} is not a share group."


async def test_heartbeats_and_leaves_of_a_missing_group_are_refused(consumer: ShareConsumer) -> None:
    assert code((await consumer.beat(member_epoch=1)).error_code) == "GROUP_ID_NOT_FOUND"
    assert code((await consumer.leave()).error_code) == "GROUP_ID_NOT_FOUND"


async def test_a_member_id_is_no_longer_than_a_uuid(consumer: ShareConsumer) -> None:
    answer = await consumer.join(member_id="m" * 37)

    assert (code(answer.error_code), answer.error_message) == ("INVALID_REQUEST", None)


async def test_a_group_may_override_timeouts(consumer: ShareConsumer, client: Client) -> None:
    group = AlterConfigsResource(
        resource_type=32,
        resource_name=consumer.group,
        configs=[AlterableConfig(name="share.heartbeat.interval.ms", config_operation=0, value="7000")],
    )
    answer = await client.send(IncrementalAlterConfigsRequest(resources=[group]))
    assert code(one(answer.responses).error_code) == "NONE"

    assert (await consumer.join()).heartbeat_interval_ms == 7000


async def test_members_and_their_partitions_survive_a_restart(tmp_path: Path) -> None:
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()
        topic = await client.create_topic(partitions=2)
        consumer = await ShareConsumer(client, "g", "m1", topic).find()
        await consumer.join()
        epoch, held = consumer.epoch, consumer.held
        assert consumer.numbers == [0, 1]
        await client.close()

    async with running_broker(tmp_path, SETTINGS) as live:
        consumer.client = await live.connect()
        await consumer.find()
        answer = await consumer.beat()

        assert (code(answer.error_code), answer.member_epoch, answer.assignment) == ("NONE", epoch, None)
        described = one((await consumer.describe()).members)
        assert {each.topic_id: each.partitions for each in described.assignment.topic_partitions} == held
        await consumer.client.close()


async def test_a_member_is_removed_at_its_session_timeout(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, SETTINGS, clock=clock) as live:
        client = await live.connect()
        topic = await client.create_topic(partitions=1)
        consumer = await ShareConsumer(client, "g", "m1", topic).find()
        await consumer.join()

        clock.advance(45_000)

        await until(lambda: not group_of(live, "g").members)
        assert code((await consumer.beat()).error_code) == "UNKNOWN_MEMBER_ID"
        await client.close()
