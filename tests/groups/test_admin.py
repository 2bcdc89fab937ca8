"""Listing, describing and deleting groups in every version, against a live broker."""

import asyncio
from collections.abc import Iterator

import pytest

from penstock.protocol.messages.delete_groups import DeleteGroupsRequest
from penstock.protocol.messages.describe_groups import DescribeGroupsRequest
from penstock.protocol.messages.list_groups import ListGroupsRequest
from penstock.security.operations import GROUP_OPERATIONS, NOT_ASKED, bit_field
from tests.groups.group_client import SETTINGS, GroupClient, subscription, unique_group
from tests.server.live import Client, Live, code, held, one, running_broker, versions


@pytest.fixture(scope="module")
def live(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    directory = tmp_path_factory.mktemp("operators")
    with held(runner, running_broker(directory, SETTINGS)) as broker:
        yield broker


@pytest.fixture
def member(runner: asyncio.Runner, client: Client) -> GroupClient:
    member = GroupClient(client, unique_group())
    runner.run(member.find())
    return member


async def listed(client: Client, version: int = 5, **filters: list[str]) -> dict[str, str]:
    answer = await client.send(ListGroupsRequest(**filters), version)
    assert code(answer.error_code) == "NONE"
    return {group.group_id: group.group_state for group in answer.groups}


@pytest.mark.parametrize("version", versions(ListGroupsRequest))
async def test_groups_are_listed(member: GroupClient, version: int) -> None:
    await member.make_stable()

    answer = await member.client.send(ListGroupsRequest(), version)

    group = one([g for g in answer.groups if g.group_id == member.group])
    assert group.protocol_type == "consumer"
    assert group.group_state == ("Stable" if version >= 4 else "")
    assert group.group_type == ("classic" if version >= 5 else "")


async def test_groups_are_listed_by_state_and_type_in_any_case(member: GroupClient) -> None:
    await member.make_stable()

    assert member.group in await listed(member.client, states_filter=["stable", "Empty"])
    assert member.group not in await listed(member.client, states_filter=["EMPTY"])
    assert member.group in await listed(member.client, types_filter=["CLASSIC"])
    assert member.group not in await listed(member.client, types_filter=["consumer"])
    assert member.group not in await listed(member.client, states_filter=["nonsense"])


async def test_a_group_with_offsets_and_without_members_is_listed_as_empty(
    member: GroupClient,
) -> None:
    topic = await member.client.create_topic()
    await member.commit(topic, {0: 1})

    assert (await listed(member.client))[member.group] == "Empty"


@pytest.mark.parametrize("version", versions(DescribeGroupsRequest))
async def test_a_stable_group_is_described_with_its_members(member: GroupClient, version: int) -> None:
    await member.join(topics=["t"], group_instance_id="shelf-3")
    await member.sync(assignments={member.member_id: b"mine"}, group_instance_id="shelf-3")

    answer = await member.client.send(DescribeGroupsRequest(groups=[member.group]), version)

    group = one(answer.groups)
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    found = one(group.members)
    assert (found.member_id, found.client_id, found.client_host) == (member.member_id, "test", "/127.0.0.1")
    assert (found.member_metadata, found.member_assignment) == (subscription("t"), b"mine")
    assert found.group_instance_id == ("shelf-3" if version >= 4 else None)
    assert group.authorized_operations == NOT_ASKED


async def test_a_group_that_awaits_its_assignment_shows_no_metadata(member: GroupClient) -> None:
    await member.join(topics=["t"])

    answer = await member.client.send(DescribeGroupsRequest(groups=[member.group]))

    group = one(answer.groups)
    assert (group.group_state, group.protocol_data) == ("CompletingRebalance", "")
    assert one(group.members).member_metadata == b""


@pytest.mark.parametrize("version", versions(DescribeGroupsRequest))
async def test_a_group_that_does_not_exist_is_dead(member: GroupClient, version: int) -> None:
    answer = await member.client.send(DescribeGroupsRequest(groups=["nobody-made-this"]), version)

    group = one(answer.groups)
    assert (group.group_id, group.group_state) == ("nobody-made-this", "Dead")
    assert code(group.error_code) == ("GROUP_ID_NOT_FOUND" if version >= 6 else "NONE")


async def test_permitted_operations_are_included_on_request(member: GroupClient) -> None:
    await member.make_stable()
    request = DescribeGroupsRequest(groups=[member.group], include_authorized_operations=True)

    answer = await member.client.send(request)

    assert one(answer.groups).authorized_operations == bit_field(GROUP_OPERATIONS)


@pytest.mark.parametrize("version", versions(DeleteGroupsRequest))
async def test_only_groups_without_members_are_deleted(member: GroupClient, version: int) -> None:
    topic = await member.client.create_topic()
    await member.make_stable()
    await member.commit(topic, {0: 1})
    request = DeleteGroupsRequest(groups_names=[member.group, "nobody-made-this", ""])
    assert {r.group_id: code(r.error_code) for r in (await member.client.send(request, version)).results} == {
        member.group: "NON_EMPTY_GROUP",
        "nobody-made-this": "GROUP_ID_NOT_FOUND",
        "": "GROUP_ID_NOT_FOUND",
    }

    await member.leave()
    request = DeleteGroupsRequest(groups_names=[member.group])
    assert code(one((await member.client.send(request, version)).results).error_code) == "NONE"

    assert member.group not in await listed(member.client)
    assert await member.committed(topic, 0) == {0: (-1, -1, "")}
    assert await member.heartbeat() == "UNKNOWN_MEMBER_ID"


async def test_a_deleted_group_can_be_recreated(member: GroupClient) -> None:
    await member.make_stable()
    await member.leave()
    await member.client.send(DeleteGroupsRequest(groups_names=[member.group]))

    member.member_id = ""

    assert (await member.join()).generation_id == 1
