"""KIP-848 groups against a live broker, over the wire: members come, stay and go."""

from pathlib import Path

import pytest

from penstock.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
)
from penstock.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.runtime.clock import ManualClock
from tests.groups.services.consumer.members import SETTINGS, Consumer, beat_until_stable, group_of
from tests.server.live import Client, TopicHandle, code, one, running_broker, until, versions


@pytest.mark.parametrize("version", versions(ConsumerGroupHeartbeatRequest))
async def test_a_member_joins_and_gets_its_partitions(consumer: Consumer, version: int) -> None:
    answer = await consumer.join(version)

    assert (code(answer.error_code), answer.member_id, answer.member_epoch) == ("NONE", "m1", 1)
    assert answer.heartbeat_interval_ms == 5000
    assert consumer.numbers == [0, 1, 2, 3]
    assert (await consumer.beat(version)).assignment is None


async def test_the_broker_generates_the_member_id_in_version_0(consumer: Consumer) -> None:
    consumer.member_id = ""
    answer = await consumer.join(0)

    assert answer.member_id is not None
    assert len(answer.member_id) == 36
    assert code((await consumer.beat(0)).error_code) == "NONE"


async def test_two_members_share_the_partitions_and_the_remaining_one_gets_all(
    consumer: Consumer, client: Client, topic: TopicHandle
) -> None:
    await consumer.join()
    other = Consumer(client, consumer.group, "m2", topic)
    await other.join()
    await beat_until_stable(consumer, other)
    assert (consumer.numbers, other.numbers) == ([0, 1], [2, 3])

    answer = await other.leave()
    assert (code(answer.error_code), answer.member_id, answer.member_epoch) == ("NONE", "m2", -1)
    await beat_until_stable(consumer)

    assert consumer.numbers == [0, 1, 2, 3]


async def test_an_error_has_a_message(consumer: Consumer) -> None:
    answer = await consumer.join(subscribed_topic_regex="a(", subscribed_topic_names=None)

    assert code(answer.error_code) == "INVALID_REGULAR_EXPRESSION"
    assert answer.error_message is not None
    assert "missing closing )" in answer.error_message
    assert code((await consumer.describe()).error_code) == "GROUP_ID_NOT_FOUND", "nothing was made"


@pytest.mark.parametrize("epoch", [1, -1])
async def test_heartbeats_and_leaves_of_a_missing_group_are_refused(consumer: Consumer, epoch: int) -> None:
    answer = await consumer.beat(member_epoch=epoch, topic_partitions=None)

    assert code(answer.error_code) == "GROUP_ID_NOT_FOUND"


async def test_new_partitions_and_a_pattern_reach_members_with_their_heartbeats(
    consumer: Consumer, client: Client, topic: TopicHandle
) -> None:
    await consumer.join(subscribed_topic_regex=f"{topic.name}(-more)?", subscribed_topic_names=[])
    grown = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=topic.name, count=6, assignments=None)], timeout_ms=1000
    )
    assert code(one((await client.send(grown)).results).error_code) == "NONE"
    await consumer.beat()
    assert consumer.held == {topic.id: [0, 1, 2, 3, 4, 5]}

    more = await client.create_topic(name=f"{topic.name}-more", partitions=1)
    await consumer.beat()
    assert consumer.held == {topic.id: [0, 1, 2, 3, 4, 5], more.id: [0]}

    await client.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic.name)], timeout_ms=1000))
    await beat_until_stable(consumer)
    assert consumer.held == {more.id: [0]}


async def test_group_settings_override_broker_settings(consumer: Consumer, client: Client) -> None:
    change = AlterableConfig(name="consumer.heartbeat.interval.ms", value="7000")
    resource = AlterConfigsResource(resource_type=32, resource_name=consumer.group, configs=[change])
    answer = await client.send(IncrementalAlterConfigsRequest(resources=[resource]))
    assert code(one(answer.responses).error_code) == "NONE"

    assert (await consumer.join()).heartbeat_interval_ms == 7000


async def test_a_member_is_removed_at_its_session_timeout(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, SETTINGS, clock=clock) as live:
        client = await live.connect()
        topic = await client.create_topic(partitions=2)
        first = await Consumer(client, "g", "m1", topic).find()
        second = Consumer(client, "g", "m2", topic)
        await first.join()
        await second.join()
        await beat_until_stable(first, second)

        clock.advance(44_000)
        await first.beat()
        clock.advance(1_000)
        await until(lambda: len(group_of(live).members) == 1)
        await beat_until_stable(first)

        assert first.numbers == [0, 1]
        assert code((await second.beat()).error_code) == "UNKNOWN_MEMBER_ID"


@pytest.mark.parametrize(
    "settings", [{"group.coordinator.rebalance.protocols": "classic"}, {"group.version": "0"}]
)
async def test_a_broker_may_be_limited_to_classic_groups(tmp_path: Path, settings: dict[str, str]) -> None:
    configured = {**SETTINGS, **{k: v for k, v in settings.items() if k != "group.version"}}
    async with running_broker(tmp_path, configured) as live:
        if "group.version" in settings:
            live.services.controller.image.features.finalized.pop("group.version")
        client = await live.connect()
        topic = await client.create_topic()
        consumer = await Consumer(client, "g", "m1", topic).find()

        assert code((await consumer.join()).error_code) == "UNSUPPORTED_VERSION"
        assert code((await consumer.describe()).error_code) == "UNSUPPORTED_VERSION"
