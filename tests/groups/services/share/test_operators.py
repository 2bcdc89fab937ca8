"""Share groups as operators see and change them: listing, describing, deleting, and where they start to read."""

from penstock.protocol.messages.describe_groups import DescribeGroupsRequest
from penstock.protocol.messages.list_groups import ListGroupsRequest
from penstock.protocol.messages.offset_delete import OffsetDeleteRequest
from tests.groups.group_client import GroupClient, unique_group
from tests.groups.services.share.members import ShareConsumer
from tests.server.live import Client, TopicHandle, batch, code, one


async def test_a_share_group_is_listed_by_its_type_and_state(consumer: ShareConsumer, client: Client) -> None:
    async def listed(**filters: list[str]) -> list[tuple[str, str, str]]:
        answer = await client.send(ListGroupsRequest(**filters))
        return [
            (each.group_type, each.group_state, each.protocol_type)
            for each in answer.groups
            if each.group_id == consumer.group
        ]

    await consumer.join()
    assert await listed() == [("share", "Stable", "share")]
    assert await listed(types_filter=["Share"], states_filter=["stable"]) == [("share", "Stable", "share")]
    assert await listed(types_filter=["consumer"]) == []

    await consumer.leave()
    assert await listed(states_filter=["Empty"]) == [("share", "Empty", "share")]


async def test_a_share_group_is_described(consumer: ShareConsumer, topic: TopicHandle) -> None:
    await consumer.join(rack_id="r1")

    described = await consumer.describe(with_operations=True)

    assert (described.group_state, described.assignor_name) == ("Stable", "simple")
    assert described.group_epoch == described.assignment_epoch == consumer.epoch
    assert described.authorized_operations > 0
    member = one(described.members)
    assert (member.member_id, member.rack_id, member.client_id) == ("m1", "r1", "test")
    assert member.client_host == "/127.0.0.1"
    assert (member.member_epoch, member.subscribed_topic_names) == (consumer.epoch, [topic.name])
    shown = one(member.assignment.topic_partitions)
    assert (shown.topic_name, shown.topic_id, shown.partitions) == (topic.name, topic.id, [0, 1, 2, 3])


async def test_groups_of_other_types_are_not_described(consumer: ShareConsumer, client: Client) -> None:
    missing = await consumer.describe()
    assert (code(missing.error_code), missing.error_message) == (
        "GROUP_ID_NOT_FOUND",
        f"Group {consumer.group} not found.",
    )
    await GroupClient(client, consumer.group).join()
    other = await consumer.describe()
    assert (code(other.error_code), other.error_message) == (
        "GROUP_ID_NOT_FOUND",
        f"Group {consumer.group} is not a share group.",
    )


async def test_requests_for_other_group_types_do_not_find_it(consumer: ShareConsumer, client: Client) -> None:
    await consumer.join()
    offsets = GroupClient(client, consumer.group)

    described = one((await client.send(DescribeGroupsRequest(groups=[consumer.group]))).groups)
    assert (code(described.error_code), described.group_state) == ("GROUP_ID_NOT_FOUND", "Dead")
    assert described.error_message == f"Group {consumer.group} is not a classic group."
    assert await offsets.commit(consumer.topics[0], {0: 1}) == {0: "GROUP_ID_NOT_FOUND"}
    deleted = await client.send(OffsetDeleteRequest(group_id=consumer.group))
    assert code(deleted.error_code) == "GROUP_ID_NOT_FOUND"


async def test_a_group_without_members_is_deleted(consumer: ShareConsumer, topic: TopicHandle) -> None:
    await consumer.join()
    assert await consumer.delete_group() == "NON_EMPTY_GROUP"

    await consumer.leave()
    assert await consumer.delete_group() == "NONE"

    assert code((await consumer.describe()).error_code) == "GROUP_ID_NOT_FOUND"
    assert await consumer.delete_group() == "GROUP_ID_NOT_FOUND"
    await consumer.join()
    assert consumer.numbers == [0, 1, 2, 3]
    assert await consumer.starts(topic) == dict.fromkeys(range(4), (-1, -1)), "it begins anew"


async def test_the_start_offset_and_the_lag_of_a_group_are_described(
    consumer: ShareConsumer, client: Client, topic: TopicHandle
) -> None:
    await client.produce(topic, batch(b"a", b"b", b"c"), partition=1)
    answer = await consumer.alter(topic.name, {0: 0, 1: 1, 9: 0})
    response = one(answer.responses)
    assert response.topic_id == topic.id
    assert [code(each.error_code) for each in response.partitions] == [
        "NONE",
        "NONE",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]

    assert await consumer.starts(topic) == {0: (0, 0), 1: (1, 2)}
    assert (await consumer.describe()).group_state == "Empty", "the group was made"
    named = one((await consumer.offsets({topic.name: [1, 2, 9, -1]}, version=0)).topics)
    assert [each.start_offset for each in named.partitions] == [1, -1, -1, -1]
    unknown = one((await consumer.offsets({"nowhere": [0]})).topics)
    assert [each.start_offset for each in unknown.partitions] == [-1]
    assert (await consumer.offsets({})).topics == []


async def test_offsets_are_set_while_the_group_has_no_members(
    consumer: ShareConsumer, topic: TopicHandle
) -> None:
    await consumer.join()
    refused = await consumer.alter(topic.name, {0: 5})
    assert (code(refused.error_code), refused.error_message) == ("NON_EMPTY_GROUP", "The group is not empty.")
    assert code((await consumer.delete_offsets(topic.name)).error_code) == "NON_EMPTY_GROUP"

    await consumer.leave()
    await consumer.alter(topic.name, {0: 5})
    await consumer.alter(topic.name, {0: 3})
    assert (await consumer.starts(topic))[0][0] == 3

    await consumer.join()
    assert consumer.numbers == [0, 1, 2, 3]


async def test_the_offsets_of_a_topic_are_deleted(
    consumer: ShareConsumer, client: Client, topic: TopicHandle
) -> None:
    unused = await client.create_topic()
    await consumer.join()
    await consumer.leave()

    answer = await consumer.delete_offsets(topic.name, unused.name, "nowhere")

    assert code(answer.error_code) == "NONE"
    assert {each.topic_name: (code(each.error_code), each.error_message) for each in answer.responses} == {
        topic.name: ("NONE", None),
        unused.name: ("UNKNOWN_TOPIC_OR_PARTITION", "There is no offset information to delete."),
        "nowhere": ("UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition."),
    }
    assert (await consumer.offsets()).topics == []
    await consumer.join()
    assert consumer.numbers == [0, 1, 2, 3]


async def test_offsets_of_a_missing_group_cannot_be_changed_or_deleted(
    client: Client, topic: TopicHandle
) -> None:
    nobody = await ShareConsumer(client, unique_group()).find()
    classic = GroupClient(client, unique_group())
    await classic.find()
    await classic.join()

    assert (await nobody.offsets()).topics == []
    assert code((await nobody.delete_offsets(topic.name)).error_code) == "GROUP_ID_NOT_FOUND"
    nobody.group = classic.group
    refused = await nobody.alter(topic.name, {0: 1})
    assert (code(refused.error_code), refused.error_message) == (
        "GROUP_ID_NOT_FOUND",
        f"Group {classic.group} is not a share group.",
    )
