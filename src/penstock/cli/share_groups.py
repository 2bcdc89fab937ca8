"""Share groups as commands see them: librdkafka's admin client knows nothing of them, so this asks by itself."""

from collections.abc import Iterable, Mapping

from penstock.cli.cluster_facts import Operator, error_words
from penstock.cli.errors import CommandError
from penstock.cli.group_values import Group, Member, Place
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import (
    alter_share_group_offsets,
    describe_cluster,
    describe_share_group_offsets,
    find_coordinator,
    list_groups,
    share_group_describe,
)

SHARE = "share"


class ShareStart:
    """Where a share group starts in a partition, and how much is left to read there; None if nobody knows."""

    __slots__ = ("lag", "offset")

    def __init__(self, offset: int | None, lag: int | None) -> None:
        self.offset = offset
        self.lag = lag


class ShareGroupAdmin:
    """Connects when it is first asked."""

    def __init__(self, servers: str, settings: Iterable[str]) -> None:
        self._servers = servers
        self._settings = settings
        self._connected: Operator | None = None

    @property
    def _operator(self) -> Operator:
        if self._connected is None:
            self._connected = Operator(self._servers, self._settings)
        return self._connected

    def listed(self, state: str | None = None) -> list[tuple[str, str, str]]:
        """Name, type and state of each share group."""
        brokers = self._operator.ask(
            describe_cluster.API_KEY, describe_cluster.DescribeClusterRequest()
        ).brokers
        found = []
        for broker in brokers:
            answer = self._operator.ask_broker(
                str(broker.broker_id), list_groups.API_KEY, list_groups.ListGroupsRequest()
            )
            if answer.error_code:
                raise CommandError(f"cannot list the groups of every broker: {error_words(answer)}")
            found += [
                (each.group_id, SHARE, each.group_state.lower())
                for each in answer.groups
                if each.group_type.lower() == SHARE and state in (None, each.group_state.lower())
            ]
        return found

    def describe(self, name: str) -> Group | None:
        """None when there is no share group of that name."""
        answer = self._operator.ask_group_coordinator(
            name,
            share_group_describe.API_KEY,
            share_group_describe.ShareGroupDescribeRequest(group_ids=[name]),
            lambda answer: int(answer.groups[0].error_code),
        )
        if answer is None:
            return None
        (group,) = answer.groups
        if group.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
            return None
        if group.error_code:
            raise CommandError(f"cannot describe group {name}: {error_words(group)}")
        return Group(
            group=name,
            type=SHARE,
            state=group.group_state.lower(),
            assignor=group.assignor_name,
            coordinator=self._coordinator(name),
            members=[_member(each) for each in group.members],
        )

    def _coordinator(self, name: str) -> int:
        answer = self._operator.ask_parts(
            find_coordinator.API_KEY, find_coordinator.FindCoordinatorRequest(coordinator_keys=[name])
        )
        return int(answer.coordinators[0].node_id)

    def starts(self, name: str) -> dict[Place, ShareStart]:
        """Of every partition that the group reads or has read."""
        wanted = describe_share_group_offsets.DescribeShareGroupOffsetsRequestGroup(
            group_id=name, topics=None
        )
        answer = self._operator.ask_group_coordinator(
            name,
            describe_share_group_offsets.API_KEY,
            describe_share_group_offsets.DescribeShareGroupOffsetsRequest(groups=[wanted]),
            lambda answer: int(answer.groups[0].error_code),
        )
        (group,) = answer.groups
        if group.error_code:
            raise CommandError(f"cannot read the offsets of group {name}: {error_words(group)}")
        return {
            (topic.topic_name, each.partition_index): ShareStart(
                each.start_offset if each.start_offset >= 0 else None, each.lag if each.lag >= 0 else None
            )
            for topic in group.topics
            for each in topic.partitions
        }

    def start_at(self, name: str, offsets: Mapping[Place, int]) -> None:
        """Let a group without members start elsewhere."""
        topics: dict[str, list[alter_share_group_offsets.AlterShareGroupOffsetsRequestPartition]] = {}
        for (topic, partition), offset in offsets.items():
            topics.setdefault(topic, []).append(
                alter_share_group_offsets.AlterShareGroupOffsetsRequestPartition(
                    partition_index=partition, start_offset=offset
                )
            )
        request = alter_share_group_offsets.AlterShareGroupOffsetsRequest(
            group_id=name,
            topics=[
                alter_share_group_offsets.AlterShareGroupOffsetsRequestTopic(
                    topic_name=topic, partitions=partitions
                )
                for topic, partitions in topics.items()
            ],
        )
        answer = self._operator.ask_group_coordinator(
            name, alter_share_group_offsets.API_KEY, request, lambda answer: int(answer.error_code)
        )
        if answer.error_code:
            raise CommandError(f"cannot reset group {name}: {error_words(answer)}")
        for topic in answer.responses:
            for each in topic.partitions:
                if each.error_code:
                    raise CommandError(
                        f"cannot reset group {name} in {topic.topic_name}-{each.partition_index}: "
                        f"{error_words(each)}"
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
