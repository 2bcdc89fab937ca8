"""Groups with members of both protocols, and groups that change from one to the other."""

from pathlib import Path

from penstock.protocol.messages.describe_groups import DescribeGroupsRequest
from penstock.protocol.messages.join_group import JoinGroupRequestProtocol
from penstock.runtime.clock import ManualClock
from tests.groups.group_client import GroupClient, subscription
from tests.groups.services.consumer.members import SETTINGS, Consumer, beat_until_stable, shard_of
from tests.server.live import Client, Live, TopicHandle, code, one, running_broker, until


async def test_an_active_group_is_upgraded_and_survives_a_restart(
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
        await beat_until_stable(consumer)
        before = await consumer.describe()
        assert {m.member_type for m in before.members} == {0, 1}
    async with running_broker(tmp_path, SETTINGS) as live:
        client = classic.client = consumer.client = await live.connect()
        await consumer.find()
        assert await consumer.describe() == before
        assert await classic.heartbeat() == "NONE"

        await consumer.leave()
        assert code((await consumer.describe()).error_code) == "GROUP_ID_NOT_FOUND"
        assert await classic.heartbeat() == "REBALANCE_IN_PROGRESS", "it keeps what it holds until it joins"
        await classic.join(topics=[topic.name])
        await classic.sync(assignments={classic.member_id: b"mine"})
    async with running_broker(tmp_path, SETTINGS) as live:
        classic.client = await live.connect()
        await classic.find()
        assert await classic.heartbeat() == "NONE"
        answer = await classic.client.send(DescribeGroupsRequest(groups=["g"]))
        assert one(answer.groups).group_state == "Stable"


async def test_a_group_is_downgraded_when_the_session_of_its_last_consumer_protocol_member_ends(
    tmp_path: Path,
) -> None:
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

        assert await classic.heartbeat() == "REBALANCE_IN_PROGRESS"
        await classic.join(topics=[topic.name])
        assert code((await classic.sync(assignments={classic.member_id: b"all"})).error_code) == "NONE"


async def test_a_downgraded_group_has_no_deadlines_from_before(
    tmp_path: Path,
) -> None:
    """Otherwise it would be written as a KIP-848 group again, and its members would be lost at a restart."""
    clock = ManualClock()
    async with running_broker(tmp_path, SETTINGS, clock=clock) as live:
        client = await live.connect()
        topic = await client.create_topic(partitions=2)
        consumer = await Consumer(client, "g", "m1", topic).find()
        await consumer.join()
        classic = GroupClient(client, "g")
        await classic.join(topics=[topic.name])
        await classic.sync()
        await consumer.leave()
        await classic.join(topics=[topic.name])
        await classic.sync(assignments={classic.member_id: b"all"})
        for _ in range(4):
            clock.advance(4000)
            assert await classic.heartbeat() == "NONE"
    async with running_broker(tmp_path, SETTINGS, clock=clock) as live:
        classic.client = await live.connect()
        await classic.find()
        assert await classic.heartbeat() == "NONE"


async def test_members_waiting_in_a_classic_group_rejoin_after_its_upgrade(
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


async def test_classic_members_can_leave_a_mixed_group(
    consumer: Consumer, client: Client, topic: TopicHandle
) -> None:
    await consumer.join()
    classic = GroupClient(client, consumer.group)
    assert code((await classic.join(topics=[topic.name])).error_code) == "NONE"
    assert await classic.leave() == "NONE"
    assert await classic.leave() == "UNKNOWN_MEMBER_ID"
    await beat_until_stable(consumer)

    assert consumer.numbers == [0, 1, 2, 3]


async def test_a_static_member_rejoins_with_the_classic_protocol(
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
