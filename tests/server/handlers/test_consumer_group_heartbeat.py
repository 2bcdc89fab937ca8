"""KIP-848 groups against a live broker: over the wire, through the log, with everything else that knows of groups."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.shard import GroupShard
from penstock.observability.clock import ManualClock
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest, DescribedGroup
from penstock.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)
from penstock.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from penstock.protocol.messages.delete_groups import DeleteGroupsRequest
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.protocol.messages.describe_groups import DescribeGroupsRequest
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.protocol.messages.join_group import JoinGroupRequestProtocol
from penstock.protocol.messages.list_groups import ListGroupsRequest
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
from tests.server.handlers.groups_support import GroupClient, subscription, unique_group
from tests.server.live import Client, Live, TopicHandle, code, one, running_broker, until, versions

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "5",
    "group.consumer.assignment.interval.ms": "0",
    "group.coordinator.rebalance.protocols": "classic,consumer",
}


class Consumer:
    """One member of a KIP-848 group."""

    def __init__(self, client: Client, group: str, member_id: str = "m1", *topics: TopicHandle) -> None:
        self.client = client
        self.group = group
        self.member_id = member_id
        self.topics = topics
        self.epoch = 0
        self.held: dict[bytes, list[int]] = {}

    async def find(self) -> "Consumer":
        answer = await self.client.send(FindCoordinatorRequest(key=self.group), 1)
        assert code(answer.error_code) == "NONE", answer
        return self

    async def join(self, version: int = 1, **more: Any) -> ConsumerGroupHeartbeatResponse:
        self.epoch = 0
        self.held = {}
        fields: dict[str, Any] = {
            "rebalance_timeout_ms": 10_000,
            "subscribed_topic_names": [each.name for each in self.topics],
            "topic_partitions": [],
            **more,
        }
        return await self.beat(version, **fields)

    async def beat(self, version: int = 1, **more: Any) -> ConsumerGroupHeartbeatResponse:
        fields: dict[str, Any] = {
            "group_id": self.group,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "topic_partitions": [
                RequestTopicPartitions(topic_id=t, partitions=p) for t, p in self.held.items()
            ],
            **more,
        }
        answer: ConsumerGroupHeartbeatResponse = await self.client.send(
            ConsumerGroupHeartbeatRequest(**fields), version
        )
        if not answer.error_code:
            self.epoch = answer.member_epoch
            self.member_id = answer.member_id or self.member_id
            if answer.assignment is not None:
                self.held = {each.topic_id: each.partitions for each in answer.assignment.topic_partitions}
        return answer

    async def leave(self, epoch: int = -1, **more: Any) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=epoch, **more
        )
        answer: ConsumerGroupHeartbeatResponse = await self.client.send(request)
        return answer

    @property
    def numbers(self) -> list[int]:
        return sorted(p for each in self.held.values() for p in each)

    async def describe(self, version: int = 1) -> DescribedGroup:
        answer = await self.client.send(ConsumerGroupDescribeRequest(group_ids=[self.group]), version)
        described: DescribedGroup = one(answer.groups)
        return described

    def offsets(self) -> GroupClient:
        """The same member, for requests about offsets."""
        client = GroupClient(self.client, self.group)
        client.member_id, client.generation = self.member_id, self.epoch
        return client


@pytest.fixture(scope="module")
def live(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    stack = contextlib.AsyncExitStack()
    directory = tmp_path_factory.mktemp("consumer-groups")
    yield runner.run(stack.enter_async_context(running_broker(directory, SETTINGS)))
    runner.run(stack.aclose())


@pytest.fixture
def topic(runner: asyncio.Runner, client: Client) -> TopicHandle:
    return runner.run(client.create_topic(partitions=4))


@pytest.fixture
def consumer(runner: asyncio.Runner, client: Client, topic: TopicHandle) -> Consumer:
    return runner.run(Consumer(client, unique_group(), "m1", topic).find())


def shard_of(live: Live) -> GroupShard:
    shard = live.services.groups.find("g")
    assert not isinstance(shard, ErrorCode)
    return shard.state


def group_of(live: Live) -> ConsumerGroup:
    return shard_of(live).consumers["g"]


async def settle(*consumers: Consumer) -> None:
    for _ in range(4):
        for each in consumers:
            assert code((await each.beat()).error_code) == "NONE"


# -- members ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", versions(ConsumerGroupHeartbeatRequest))
async def test_a_member_joins_and_gets_its_partitions(consumer: Consumer, version: int) -> None:
    answer = await consumer.join(version)

    assert (code(answer.error_code), answer.member_id, answer.member_epoch) == ("NONE", "m1", 1)
    assert answer.heartbeat_interval_ms == 5000
    assert consumer.numbers == [0, 1, 2, 3]
    assert (await consumer.beat(version)).assignment is None


async def test_the_broker_makes_an_id_in_version_0(consumer: Consumer) -> None:
    consumer.member_id = ""
    answer = await consumer.join(0)

    assert answer.member_id is not None
    assert len(answer.member_id) == 36
    assert code((await consumer.beat(0)).error_code) == "NONE"


async def test_two_members_share_and_the_one_that_stays_gets_all(
    consumer: Consumer, client: Client, topic: TopicHandle
) -> None:
    await consumer.join()
    other = Consumer(client, consumer.group, "m2", topic)
    await other.join()
    await settle(consumer, other)
    assert (consumer.numbers, other.numbers) == ([0, 1], [2, 3])

    answer = await other.leave()
    assert (code(answer.error_code), answer.member_id, answer.member_epoch) == ("NONE", "m2", -1)
    await settle(consumer)

    assert consumer.numbers == [0, 1, 2, 3]


async def test_a_refusal_says_why(consumer: Consumer) -> None:
    answer = await consumer.join(subscribed_topic_regex="a(", subscribed_topic_names=None)

    assert code(answer.error_code) == "INVALID_REGULAR_EXPRESSION"
    assert answer.error_message is not None
    assert "missing closing )" in answer.error_message
    assert code((await consumer.describe()).error_code) == "GROUP_ID_NOT_FOUND", "nothing was made"


@pytest.mark.parametrize("epoch", [1, -1])
async def test_nobody_stays_in_or_leaves_a_group_that_is_not_there(consumer: Consumer, epoch: int) -> None:
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
    await settle(consumer)
    assert consumer.held == {more.id: [0]}


async def test_settings_of_a_group_go_before_those_of_the_broker(consumer: Consumer, client: Client) -> None:
    change = AlterableConfig(name="consumer.heartbeat.interval.ms", value="7000")
    resource = AlterConfigsResource(resource_type=32, resource_name=consumer.group, configs=[change])
    answer = await client.send(IncrementalAlterConfigsRequest(resources=[resource]))
    assert code(one(answer.responses).error_code) == "NONE"

    assert (await consumer.join()).heartbeat_interval_ms == 7000


async def test_a_silent_member_is_removed_when_its_session_ends(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, SETTINGS, clock=clock) as live:
        client = await live.connect()
        topic = await client.create_topic(partitions=2)
        first = await Consumer(client, "g", "m1", topic).find()
        second = Consumer(client, "g", "m2", topic)
        await first.join()
        await second.join()
        await settle(first, second)

        clock.advance(44_000)
        await first.beat()
        clock.advance(1_000)
        await until(lambda: len(group_of(live).members) == 1)
        await settle(first)

        assert first.numbers == [0, 1]
        assert code((await second.beat()).error_code) == "UNKNOWN_MEMBER_ID"


@pytest.mark.parametrize(
    "settings", [{"group.coordinator.rebalance.protocols": "classic"}, {"group.version": "0"}]
)
async def test_a_broker_may_offer_classic_groups_only(tmp_path: Path, settings: dict[str, str]) -> None:
    configured = {**SETTINGS, **{k: v for k, v in settings.items() if k != "group.version"}}
    async with running_broker(tmp_path, configured) as live:
        if "group.version" in settings:
            live.services.controller.image.features.finalized.pop("group.version")
        client = await live.connect()
        topic = await client.create_topic()
        consumer = await Consumer(client, "g", "m1", topic).find()

        assert code((await consumer.join()).error_code) == "UNSUPPORTED_VERSION"
        assert code((await consumer.describe()).error_code) == "UNSUPPORTED_VERSION"


# -- the log ------------------------------------------------------------------------------------------------


async def test_members_go_on_after_a_restart_as_if_nothing_had_happened(tmp_path: Path) -> None:
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()
        topic = await client.create_topic(partitions=4)
        first = await Consumer(client, "g", "m1", topic).find()
        second = Consumer(client, "g", "m2", topic)
        await first.join()
        await second.join(subscribed_topic_regex=topic.name, subscribed_topic_names=[])
        await settle(first, second)
        before = await first.describe()
    async with running_broker(tmp_path, SETTINGS) as live:
        first.client = second.client = await live.connect()
        await first.find()

        assert await first.describe() == before
        assert (await first.beat()).assignment is None
        assert (await second.beat()).assignment is None


async def test_a_restart_finds_topics_that_were_made_for_a_pattern_meanwhile(tmp_path: Path) -> None:
    """The group's partition may be led elsewhere while topics are made: what it knows is older then."""
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()
        await client.create_topic(name="t-1")
        consumer = await Consumer(client, "g", "m1").find()
        await consumer.join(subscribed_topic_regex="t-.", subscribed_topic_names=[])
        group_of(live).regexes.clear()  # so that it does not hear of the next
        await client.create_topic(name="t-2")
    async with running_broker(tmp_path, SETTINGS) as live:
        consumer.client = await live.connect()
        await consumer.find()
        await settle(consumer)

        assert len(consumer.held) == 2


async def test_a_group_is_as_before_when_its_record_is_too_large_for_the_log(
    consumer: Consumer, topic: TopicHandle
) -> None:
    names = [f"{topic.name}-{number:0200}" for number in range(6000)]
    answer = await consumer.join(subscribed_topic_names=names)
    assert code(answer.error_code) == "UNKNOWN_SERVER_ERROR"

    async def is_loaded() -> bool:
        return code((await consumer.describe()).error_code) == "GROUP_ID_NOT_FOUND"

    for _ in range(100):
        if await is_loaded():
            break
    assert await is_loaded()
    assert code((await consumer.join()).error_code) == "NONE"


# -- describing, listing, deleting --------------------------------------------------------------------------


@pytest.mark.parametrize("version", versions(ConsumerGroupDescribeRequest))
async def test_a_group_is_described(consumer: Consumer, topic: TopicHandle, version: int) -> None:
    await consumer.join(instance_id="one", rack_id="r", server_assignor="range")

    group = await consumer.describe(version)

    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Stable", 1, 1)
    assert group.assignor_name == "range"
    member = one(group.members)
    assert (member.member_id, member.instance_id, member.rack_id, member.member_epoch) == (
        "m1",
        "one",
        "r",
        1,
    )
    assert (member.client_id, member.client_host) == ("test", "/127.0.0.1")
    assert member.subscribed_topic_names == [topic.name]
    assert member.assignment == member.target_assignment
    given = one(member.assignment.topic_partitions)
    assert (given.topic_name, given.topic_id, given.partitions) == (topic.name, topic.id, [0, 1, 2, 3])
    assert member.member_type == (1 if version >= 1 else -1)
    assert group.authorized_operations == -(2**31)


async def test_operations_are_told_to_those_who_ask(consumer: Consumer) -> None:
    await consumer.join()
    request = ConsumerGroupDescribeRequest(group_ids=[consumer.group], include_authorized_operations=True)

    assert one((await consumer.client.send(request)).groups).authorized_operations > 0


async def test_a_group_of_the_other_kind_is_not_found(consumer: Consumer, client: Client) -> None:
    classic = GroupClient(client, unique_group())
    await classic.join()
    await consumer.join()

    answer = await client.send(ConsumerGroupDescribeRequest(group_ids=[classic.group, "none", ""]))
    assert [code(each.error_code) for each in answer.groups] == [
        "GROUP_ID_NOT_FOUND",
        "GROUP_ID_NOT_FOUND",
        "INVALID_GROUP_ID",
    ]
    answer = await client.send(DescribeGroupsRequest(groups=[consumer.group]))
    assert code(one(answer.groups).error_code) == "GROUP_ID_NOT_FOUND"


async def test_a_group_is_listed_with_its_type_and_state(consumer: Consumer, client: Client) -> None:
    await consumer.join()

    async def listed(**filters: list[str]) -> list[tuple[str, str, str]]:
        answer = await client.send(ListGroupsRequest(**filters))
        return [
            (each.group_type, each.group_state, each.protocol_type)
            for each in answer.groups
            if each.group_id == consumer.group
        ]

    assert await listed() == [("consumer", "Stable", "consumer")]
    assert await listed(types_filter=["consumer"], states_filter=["stable"]) == await listed()
    assert await listed(types_filter=["classic"]) == []
    described = one((await client.send(DescribeGroupsRequest(groups=[consumer.group]))).groups)
    assert described.error_message == f"Group {consumer.group} is not a classic group."
    assert await listed(states_filter=["Empty"]) == []


async def test_a_group_is_deleted_when_it_has_no_members(
    consumer: Consumer, client: Client, topic: TopicHandle
) -> None:
    await consumer.join()
    await consumer.offsets().commit(topic, {0: 5})
    request = DeleteGroupsRequest(groups_names=[consumer.group])
    assert code(one((await client.send(request)).results).error_code) == "NON_EMPTY_GROUP"

    await consumer.leave()
    assert code(one((await client.send(request)).results).error_code) == "NONE"

    assert code((await consumer.describe()).error_code) == "GROUP_ID_NOT_FOUND"
    assert (await consumer.offsets().committed(topic, 0))[0][0] == -1


# -- offsets ------------------------------------------------------------------------------------------------


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


async def test_a_member_that_is_behind_is_told_no_offsets(consumer: Consumer, topic: TopicHandle) -> None:
    await consumer.join()

    async def fetched(**member: Any) -> str:
        topics = [OffsetFetchRequestTopics(topic_id=topic.id, partition_indexes=[0])]
        group = OffsetFetchRequestGroup(group_id=consumer.group, topics=topics, **member)
        return code(one((await consumer.client.send(OffsetFetchRequest(groups=[group]))).groups).error_code)

    assert await fetched() == "NONE"
    assert await fetched(member_id="m1", member_epoch=1) == "NONE"
    assert await fetched(member_id="m1", member_epoch=0) == "STALE_MEMBER_EPOCH"
    assert await fetched(member_id="m2", member_epoch=1) == "UNKNOWN_MEMBER_ID"


async def test_offsets_of_what_is_read_are_not_deleted(
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


async def test_offsets_outlive_the_change_from_one_kind_of_group_to_the_other(
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


# -- both kinds of members ----------------------------------------------------------------------------------


async def test_a_group_changes_its_kind_while_it_works_and_after_a_restart_it_is_the_same(
    tmp_path: Path,
) -> None:
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()
        topic = await client.create_topic(partitions=4)
        classic = GroupClient(client, "g")
        await classic.find()
        await classic.join(topics=[topic.name])
        await classic.sync(assignments={classic.member_id: b""})
        consumer = Consumer(client, "g", "m1", topic)
        assert code((await consumer.join()).error_code) == "NONE"

        assert await classic.heartbeat() == "REBALANCE_IN_PROGRESS"
        await classic.join(topics=[topic.name])
        assert code((await classic.sync()).error_code) == "NONE"
        await settle(consumer)
        before = await consumer.describe()
        assert {m.member_type for m in before.members} == {0, 1}
    async with running_broker(tmp_path, SETTINGS) as live:
        client = classic.client = consumer.client = await live.connect()
        await consumer.find()
        assert await consumer.describe() == before
        assert await classic.heartbeat() == "NONE"

        await consumer.leave()
        assert code((await consumer.describe()).error_code) == "GROUP_ID_NOT_FOUND"
        assert await classic.heartbeat() == "ILLEGAL_GENERATION", "its generation was its epoch"
        await classic.join(topics=[topic.name])
        await classic.sync(assignments={classic.member_id: b"mine"})
    async with running_broker(tmp_path, SETTINGS) as live:
        classic.client = await live.connect()
        await classic.find()
        assert await classic.heartbeat() == "NONE"
        answer = await classic.client.send(DescribeGroupsRequest(groups=["g"]))
        assert one(answer.groups).group_state == "Stable"


async def test_a_group_is_classic_again_when_the_last_new_member_is_silent(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, SETTINGS, clock=clock) as live:
        client = await live.connect()
        topic = await client.create_topic(partitions=2)
        consumer = await Consumer(client, "g", "m1", topic).find()
        await consumer.join()
        classic = GroupClient(client, "g")
        await classic.join(topics=[topic.name], session_timeout_ms=100_000, rebalance_timeout_ms=100_000)
        await classic.sync()

        clock.advance(45_000)
        await until(lambda: "g" not in shard_of(live).consumers)

        assert await classic.heartbeat() == "ILLEGAL_GENERATION"
        await classic.join(topics=[topic.name])
        assert code((await classic.sync(assignments={classic.member_id: b"all"})).error_code) == "NONE"


async def test_whoever_waits_for_a_classic_group_that_changes_is_told_to_join_again(
    consumer: Consumer, live: Live, topic: TopicHandle
) -> None:
    classic = GroupClient(await live.connect(), consumer.group)
    await classic.join(topics=[topic.name])
    waiting = classic.sync()  # it leads, but another one joins before it syncs: a rebalance
    other = GroupClient(await live.connect(), consumer.group)
    await other.begin_join(topics=[topic.name])

    assert code((await consumer.join()).error_code) == "NONE"

    assert code((await waiting).error_code) in ("NONE", "REBALANCE_IN_PROGRESS")
    assert await classic.heartbeat() == "REBALANCE_IN_PROGRESS"


async def test_classic_members_leave_a_group_of_both_kinds(
    consumer: Consumer, client: Client, topic: TopicHandle
) -> None:
    await consumer.join()
    classic = GroupClient(client, consumer.group)
    assert code((await classic.join(topics=[topic.name])).error_code) == "NONE"
    assert await classic.leave() == "NONE"
    assert await classic.leave() == "UNKNOWN_MEMBER_ID"
    await settle(consumer)

    assert consumer.numbers == [0, 1, 2, 3]


async def test_a_static_member_takes_its_place_back_with_the_classic_protocol(
    consumer: Consumer, client: Client, topic: TopicHandle
) -> None:
    await consumer.join(instance_id="one")
    classic = GroupClient(client, consumer.group)
    answer = await classic.begin_join(topics=[topic.name], group_instance_id="one")
    assert code(answer.error_code) == "NONE"
    classic.member_id, classic.generation = answer.member_id, answer.generation_id

    synced = await classic.sync(group_instance_id="one")
    assert code(synced.error_code) == "NONE"
    assert code((await consumer.describe()).error_code) == "GROUP_ID_NOT_FOUND", "the group is classic"


async def test_a_group_of_another_protocol_is_not_upgraded(consumer: Consumer, client: Client) -> None:
    classic = GroupClient(client, consumer.group)
    protocols = [JoinGroupRequestProtocol(name="x", metadata=subscription())]
    answer = await classic.begin_join(3, protocol_type="connect", protocols=protocols)
    assert code(answer.error_code) == "NONE"

    assert code((await consumer.join()).error_code) == "GROUP_ID_NOT_FOUND"
