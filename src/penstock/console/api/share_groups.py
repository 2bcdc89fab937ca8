"""Share groups (KIP-932): their start offsets and lag, and how the offsets are reset."""

from collections.abc import Mapping
from typing import NamedTuple

from penstock.client.aio import Client, TopicPartition, coordinator_of_group, retriable_error
from penstock.console.refusals import check
from penstock.protocol.messages import (
    alter_share_group_offsets,
    describe_share_group_offsets,
)

SHARE = "share"
of_first_group = retriable_error(lambda response: response.groups[0])


class Start(NamedTuple):
    """None where it is unknown."""

    offset: int | None
    lag: int | None


async def starts_of(client: Client, name: str) -> dict[TopicPartition, Start]:
    """The start offsets of a share group, in every partition that it reads or has read."""
    wanted = describe_share_group_offsets.DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None)
    message = describe_share_group_offsets.DescribeShareGroupOffsetsRequest(groups=[wanted])
    response = await client.request(coordinator_of_group(name), message, error_of=of_first_group)
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
        error_of=retriable_error(lambda response: response),
    )
    parts = [each for topic in response.responses for each in topic.partitions]
    for part in (response, *parts):
        check(part.error_code, f"Group {group} cannot be reset", part.error_message)
