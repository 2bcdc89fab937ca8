"""Joining, syncing, heartbeats and leaving in every version, against a live broker."""

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.messages.heartbeat import HeartbeatRequest
from penstock.protocol.messages.join_group import JoinGroupRequest
from penstock.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from penstock.protocol.messages.sync_group import SyncGroupRequest
from penstock.runtime.clock import ManualClock
from tests.groups.group_client import SESSION_MS, SETTINGS, GroupClient, unique_group
from tests.server.live import Client, Live, code, held, one, running_broker, versions


@pytest.fixture(scope="module")
def live(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A broker that does not wait for more members before a first rebalance."""
    directory = tmp_path_factory.mktemp("groups")
    with held(runner, running_broker(directory, SETTINGS)) as broker:
        yield broker


@pytest.fixture
def member(runner: asyncio.Runner, client: Client) -> GroupClient:
    member = GroupClient(client, unique_group())
    runner.run(member.find())
    return member


@pytest.mark.parametrize("version", versions(FindCoordinatorRequest))
async def test_a_groups_coordinator_is_this_broker(client: Client, live: Live, version: int) -> None:
    group = unique_group()
    if version < 4:
        found = await client.send(FindCoordinatorRequest(key=group), version)
    else:
        answer = await client.send(FindCoordinatorRequest(coordinator_keys=[group, "another"]), version)
        assert [c.key for c in answer.coordinators] == [group, "another"]
        found = answer.coordinators[0]

    assert (code(found.error_code), found.node_id, found.port) == ("NONE", 1, live.port)


@pytest.mark.parametrize("version", versions(JoinGroupRequest))
async def test_a_lone_member_joins_and_leads(member: GroupClient, version: int) -> None:
    answer = await member.join(version)

    assert (code(answer.error_code), answer.generation_id) == ("NONE", 1)
    assert answer.leader == answer.member_id == one(answer.members).member_id
    assert answer.protocol_name == "range"
    assert answer.protocol_type == ("consumer" if version >= 7 else None)


@pytest.mark.parametrize("version", versions(JoinGroupRequest))
async def test_a_new_member_first_gets_its_id_from_version_4_on(member: GroupClient, version: int) -> None:
    answer = await member.begin_join(version)

    assert code(answer.error_code) == ("MEMBER_ID_REQUIRED" if version >= 4 else "NONE")
    assert answer.member_id.startswith("test-"), "ids begin with the client's own"


async def test_the_id_of_a_static_member_begins_with_its_instance(member: GroupClient) -> None:
    answer = await member.join(group_instance_id="shelf-3")

    assert answer.member_id.startswith("shelf-3-")


@pytest.mark.parametrize("version", versions(SyncGroupRequest))
async def test_the_leaders_assignment_reaches_it(member: GroupClient, version: int) -> None:
    await member.join()
    answer = await member.sync(version, {member.member_id: b"all of it"})

    assert (code(answer.error_code), answer.assignment) == ("NONE", b"all of it")
    if version >= 5:
        assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")


async def test_a_sync_must_name_its_protocol_from_version_5_on(member: GroupClient) -> None:
    await member.join()

    answer = await member.sync(protocol_name=None)

    assert code(answer.error_code) == "INCONSISTENT_GROUP_PROTOCOL"


@pytest.mark.parametrize("version", versions(HeartbeatRequest))
async def test_heartbeats_of_members_are_accepted(member: GroupClient, version: int) -> None:
    await member.make_stable()
    assert await member.heartbeat(version) == "NONE"

    member.generation += 1
    assert await member.heartbeat(version) == "ILLEGAL_GENERATION"
    member.member_id = "stranger"
    assert await member.heartbeat(version) == "UNKNOWN_MEMBER_ID"


@pytest.mark.parametrize("version", versions(LeaveGroupRequest))
async def test_a_member_that_left_is_unknown(member: GroupClient, version: int) -> None:
    await member.make_stable()

    assert await member.leave(version) == "NONE"
    assert await member.heartbeat() == "UNKNOWN_MEMBER_ID"
    assert await member.leave(version) == "UNKNOWN_MEMBER_ID"


async def test_leaving_a_missing_group_is_an_error_for_each_member(member: GroupClient) -> None:
    answer = await member.client.send(
        LeaveGroupRequest(group_id="nobody-made-this", members=[MemberIdentity(member_id="m")])
    )

    assert code(answer.error_code) == "NONE"
    assert code(one(answer.members).error_code) == "UNKNOWN_MEMBER_ID"


async def test_two_members_wait_for_each_other_and_share_the_partitions(
    live: Live, member: GroupClient
) -> None:
    await member.make_stable()
    other = GroupClient(await live.connect(), member.group)
    joining = asyncio.ensure_future(other.join())
    await until_rebalancing(member)

    leader = await member.join()
    follower = await joining
    waiting = other.sync()
    assert [m.member_id for m in leader.members] == [member.member_id, other.member_id]
    assert (follower.generation_id, follower.members) == (2, [])
    answer = await member.sync(assignments={member.member_id: b"left", other.member_id: b"right"})

    assert answer.assignment == b"left"
    assert (await waiting).assignment == b"right"
    await other.client.close()


async def test_members_of_a_group_may_use_different_versions(live: Live, member: GroupClient) -> None:
    await member.make_stable()
    old = GroupClient(await live.connect(), member.group)
    joining = asyncio.ensure_future(old.join(0))
    await until_rebalancing(member)
    await member.join()
    assert (await joining).generation_id == 2
    waiting = old.sync(0)
    await member.sync(assignments={old.member_id: b"for the old one"})

    assert (await waiting).assignment == b"for the old one"
    await old.client.close()


@pytest.mark.parametrize("session_ms", [1, 2_000_000])
async def test_a_session_timeout_outside_the_limits_is_refused(member: GroupClient, session_ms: int) -> None:
    answer = await member.begin_join(session_timeout_ms=session_ms)

    assert code(answer.error_code) == "INVALID_SESSION_TIMEOUT"


async def test_a_group_must_have_a_name(member: GroupClient) -> None:
    member.group = ""

    assert code((await member.begin_join()).error_code) == "INVALID_GROUP_ID"
    assert code((await member.sync()).error_code) == "INVALID_GROUP_ID"
    assert await member.heartbeat() == "INVALID_GROUP_ID"


async def test_a_member_of_a_missing_group_is_unknown(member: GroupClient) -> None:
    member.member_id = "from-another-life"

    assert code((await member.begin_join()).error_code) == "UNKNOWN_MEMBER_ID"
    assert code((await member.sync()).error_code) == "UNKNOWN_MEMBER_ID"
    assert await member.heartbeat() == "UNKNOWN_MEMBER_ID"


async def test_a_waiting_join_does_not_block_other_connections(live: Live, member: GroupClient) -> None:
    await member.make_stable()
    other = GroupClient(await live.connect(), member.group)
    waiting = asyncio.ensure_future(other.join())

    await until_rebalancing(member)

    assert not waiting.done()
    await member.leave()
    assert (await waiting).generation_id == 2
    await other.client.close()


async def test_a_stopping_broker_answers_waiting_members(tmp_path: Path) -> None:
    async with running_broker(tmp_path, SETTINGS) as live:
        member = GroupClient(await live.connect(), "g")
        await member.find()
        await member.make_stable()
        other = GroupClient(await live.connect(), "g")
        waiting = asyncio.ensure_future(other.join())
        await until_rebalancing(member)
        await live.broker.stop()

        assert code((await waiting).error_code) == "NOT_COORDINATOR"


async def test_a_member_is_removed_at_its_session_timeout(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, SETTINGS, clock=clock) as live:
        member, other = await a_pair(live, clock)
        clock.advance(SESSION_MS - 1)
        assert await member.heartbeat() == "NONE"

        clock.advance(1)
        await until_rebalancing(member)
        answer = await member.join()

        assert [m.member_id for m in answer.members] == [member.member_id]
        assert await other.heartbeat() == "UNKNOWN_MEMBER_ID"


async def test_members_survive_a_restart_without_rejoining(tmp_path: Path) -> None:
    async with running_broker(tmp_path, SETTINGS) as live:
        member = GroupClient(await live.connect(), "g")
        await member.find()
        await member.make_stable()
    async with running_broker(tmp_path, SETTINGS) as live:
        member.client = await live.connect()
        await member.find()

        assert await member.heartbeat() == "NONE"
        assert (await member.sync()).assignment == b"mine"


async def a_pair(live: Live, clock: ManualClock) -> tuple[GroupClient, GroupClient]:
    """Two members of a stable group."""
    member = GroupClient(await live.connect(), "g")
    await member.find()
    await patiently(member.join(), clock)
    await member.sync(assignments={})
    other = GroupClient(await live.connect(), "g")
    joining = asyncio.ensure_future(other.join())
    await until_rebalancing(member)
    await member.join()
    await joining
    await asyncio.gather(other.sync(), member.sync())
    return member, other


async def patiently(waiting: Coroutine[Any, Any, Any], clock: ManualClock) -> None:
    """Let a standing clock tick as long as something takes."""
    task = asyncio.ensure_future(waiting)
    while not task.done():
        clock.advance(1)
        await asyncio.sleep(0.001)


async def until_rebalancing(member: GroupClient) -> None:
    for _ in range(2000):
        if await member.heartbeat() == "REBALANCE_IN_PROGRESS":
            return
    raise AssertionError("the group never began to rebalance")
