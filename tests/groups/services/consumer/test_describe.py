"""KIP-848 groups, described, listed and deleted."""

import pytest

from penstock.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from penstock.protocol.messages.delete_groups import DeleteGroupsRequest
from penstock.protocol.messages.describe_groups import DescribeGroupsRequest
from penstock.protocol.messages.list_groups import ListGroupsRequest
from tests.groups.group_client import GroupClient, unique_group
from tests.groups.services.consumer.members import Consumer
from tests.server.live import Client, TopicHandle, code, one, versions


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


async def test_authorized_operations_are_included_on_request(consumer: Consumer) -> None:
    await consumer.join()
    request = ConsumerGroupDescribeRequest(group_ids=[consumer.group], include_authorized_operations=True)

    assert one((await consumer.client.send(request)).groups).authorized_operations > 0


async def test_a_group_of_another_type_is_not_found(consumer: Consumer, client: Client) -> None:
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
