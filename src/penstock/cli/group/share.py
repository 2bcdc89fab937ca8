"""Share groups: librdkafka's admin client does not know them."""

import functools
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from penstock.cli.connect.requests import GROUP, RequestClient, check_error
from penstock.cli.connect.target import Target
from penstock.cli.group.values import Group, Member, Place, Progress
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import alter_share_group_offsets as alter_offsets
from penstock.protocol.messages import describe_share_group_offsets as describe_offsets
from penstock.protocol.messages import list_groups, share_group_describe

SHARE = "share"


class ShareGroupAdmin:
    """Connects with the first request."""

    def __init__(self, target: Target) -> None:
        self._target = target

    @functools.cached_property
    def _client(self) -> RequestClient:
        return self._target.requests()

    def list_groups(self, state: str | None = None) -> list[tuple[str, str, str]]:
        """List name, type and state of each share group."""
        found = []
        for node_id in self._client.brokers():
            response = self._client.ask_broker(node_id, list_groups.ListGroupsRequest())
            check_error(response, f"cannot list the groups of broker {node_id}")
            found += [
                (each.group_id, SHARE, each.group_state.lower())
                for each in response.groups
                if each.group_type.lower() == SHARE and state in (None, each.group_state.lower())
            ]
        return found

    def describe(self, name: str) -> Group | None:
        """Describe a share group; None if there is none of that name."""
        request = share_group_describe.ShareGroupDescribeRequest(group_ids=[name])
        response = self._ask(name, request, lambda response: response.groups[0])
        if response is None:
            return None
        (group,) = response.groups
        if group.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
            return None
        check_error(group, f"cannot describe group {name}")
        return Group(
            group=name,
            type=SHARE,
            state=group.group_state.lower(),
            assignor=group.assignor_name,
            coordinator=self._client.coordinator_id(GROUP, name),
            members=[_member(each) for each in group.members],
        )

    def progress(self, name: str) -> dict[Place, Progress]:
        """Give start offset and lag in every partition that the group reads or has read."""
        wanted = describe_offsets.DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None)
        request = describe_offsets.DescribeShareGroupOffsetsRequest(groups=[wanted])
        response = self._ask(name, request, lambda response: response.groups[0])
        (group,) = response.groups
        check_error(group, f"cannot read the offsets of group {name}")
        return {
            (topic.topic_name, each.partition_index): Progress(
                offset=each.start_offset if each.start_offset >= 0 else None,
                lag=each.lag if each.lag >= 0 else None,
            )
            for topic in group.topics
            for each in topic.partitions
        }

    def set_start_offsets(self, name: str, offsets: Mapping[Place, int]) -> None:
        """Set the start offsets of a group without members."""
        topics = [
            alter_offsets.AlterShareGroupOffsetsRequestTopic(
                topic_name=topic,
                partitions=[
                    alter_offsets.AlterShareGroupOffsetsRequestPartition(
                        partition_index=partition, start_offset=offsets[topic, partition]
                    )
                    for _, partition in places
                ],
            )
            for topic, places in groupby(sorted(offsets), key=lambda place: place[0])
        ]
        request = alter_offsets.AlterShareGroupOffsetsRequest(group_id=name, topics=topics)
        response = self._ask(name, request, lambda response: response)
        check_error(response, f"cannot reset group {name}")
        for topic in response.responses:
            for each in topic.partitions:
                check_error(each, f"cannot reset group {name} in {topic.topic_name}-{each.partition_index}")

    def _ask(self, name: str, request: Any, part_of: Callable[[Any], Any]) -> Any:
        return self._client.ask_coordinator(
            GROUP, name, request, lambda response: int(part_of(response).error_code)
        )


def _member(member: share_group_describe.Member) -> Member:
    return Member(
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.client_host.removeprefix("/"),
        instance_id=None,
        partitions=sorted(
            (each.topic_name, partition)
            for each in member.assignment.topic_partitions
            for partition in each.partitions
        ),
    )
