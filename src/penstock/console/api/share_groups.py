"""Share groups (KIP-932): described, with where they start and what they are not done with, and started elsewhere."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock.client.aio import Client, TopicPartition, UnsupportedApi, coordinator_of_group
from penstock.console.refusals import check
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages import (
    alter_share_group_offsets,
    describe_share_group_offsets,
    share_group_describe,
)

SHARE = "share"
_NO_SUCH_GROUP = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)


class Start(NamedTuple):
    """None where it is unknown."""

    offset: int | None
    lag: int | None


async def described_share_group(client: Client, name: str) -> dict[str, Any] | None:
    """None when it is none, or when the brokers know no such groups."""
    message = share_group_describe.ShareGroupDescribeRequest(group_ids=[name])
    try:
        response = await client.request(coordinator_of_group(name), message, error_of=_retriable_error)
    except UnsupportedApi:
        return None
    group = response.groups[0]
    if group.error_code in _NO_SUCH_GROUP:
        return None
    check(group.error_code, f"Group {name} cannot be shown", group.error_message)
    return {
        "id": name,
        "type": SHARE,
        "state": group.group_state,
        "protocol": group.assignor_name,
        "members": [_member(member) for member in group.members],
    }


def _member(member: share_group_describe.Member) -> dict[str, Any]:
    return {
        "memberId": member.member_id,
        "clientId": member.client_id,
        "host": member.client_host,
        "instanceId": None,
        "assignment": [
            {"topic": each.topic_name, "partitions": each.partitions}
            for each in member.assignment.topic_partitions
        ],
    }


async def starts_of(client: Client, name: str) -> dict[TopicPartition, Start]:
    """The start offsets of a share group, in every partition that it reads or has read."""
    wanted = describe_share_group_offsets.DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None)
    message = describe_share_group_offsets.DescribeShareGroupOffsetsRequest(groups=[wanted])
    response = await client.request(coordinator_of_group(name), message, error_of=_retriable_error)
    group = response.groups[0]
    check(group.error_code, f"The offsets of group {name} cannot be shown", group.error_message)
    return {
        TopicPartition(topic.topic_name, each.partition_index): Start(
            each.start_offset if each.start_offset >= 0 else None, each.lag if each.lag >= 0 else None
        )
        for topic in group.topics
        for each in topic.partitions
    }


def known_offsets(starts: Mapping[TopicPartition, Start]) -> dict[TopicPartition, int]:
    return {where: each.offset for where, each in starts.items() if each.offset is not None}


def _retriable_error(response: Any) -> int:
    code: int = response.groups[0].error_code
    return code if is_retriable(code) else 0


async def start_at(client: Client, group: str, topic: str, offsets: dict[int, int]) -> None:
    """Set the start offsets of an empty share group in a topic."""
    message = alter_share_group_offsets.AlterShareGroupOffsetsRequest(
        group_id=group,
        topics=[
            alter_share_group_offsets.AlterShareGroupOffsetsRequestTopic(
                topic_name=topic,
                partitions=[
                    alter_share_group_offsets.AlterShareGroupOffsetsRequestPartition(
                        partition_index=partition, start_offset=offset
                    )
                    for partition, offset in offsets.items()
                ],
            )
        ],
    )
    response = await client.request(
        coordinator_of_group(group),
        message,
        error_of=lambda r: r.error_code if is_retriable(r.error_code) else 0,
    )
    parts = [each for topic in response.responses for each in topic.partitions]
    for part in (response, *parts):
        check(part.error_code, f"Group {group} cannot be reset", part.error_message)
