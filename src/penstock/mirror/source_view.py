"""Reads from a source what its mirror follows: topics, settings, ACLs, and the committed offsets of groups."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from penstock.client.aio import ANY, coordinator_of_group
from penstock.client.aio.client import Client
from penstock.client.metadata import Metadata, Topic
from penstock.client.metadata import TopicPartition as Place
from penstock.cluster.controller.follow_source import SourceTopic
from penstock.cluster.metadata.topic_names import is_internal
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import describe_acls, describe_configs, list_groups, offset_fetch
from penstock.security.acl import AccessControlEntry, PermissionType
from penstock.security.operations import Operation
from penstock.security.resources import PatternType, ResourceType

_TOPIC: Final = 2
_SET_FOR_TOPIC: Final = 1  # the source of a setting: the topic itself
_DESCRIBED_AT_ONCE: Final = 500
_OF_ONE_GROUP: Final = 7  # of OffsetFetch: later versions ask for several groups
_NO_ACLS: Final = (ErrorCode.SECURITY_DISABLED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str


def matching_topics(metadata: Metadata, matches: Callable[[str], bool]) -> list[Topic]:
    """The topics that a mirror copies: no internal ones, whose records are about their own cluster."""
    return [
        topic
        for name, topic in sorted(metadata.topics.items())
        if not topic.is_internal and not is_internal(name) and topic.partitions and matches(name)
    ]


def source_topic(topic: Topic, settings: Mapping[str, str]) -> SourceTopic:
    return SourceTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        leader_epochs=tuple(
            topic.partitions[number].leader_epoch if number in topic.partitions else -1
            for number in range(max(topic.partitions) + 1)
        ),
        settings=settings,
    )


async def read_settings(client: Client, topics: Iterable[str]) -> dict[str, dict[str, str]]:
    """The settings of topics that are set for them. A topic that may not be described is left out."""
    names = list(topics)
    found: dict[str, dict[str, str]] = {}
    for begin in range(0, len(names), _DESCRIBED_AT_ONCE):
        request = describe_configs.DescribeConfigsRequest(
            resources=[
                describe_configs.DescribeConfigsResource(
                    resource_type=_TOPIC, resource_name=name, configuration_keys=None
                )
                for name in names[begin : begin + _DESCRIBED_AT_ONCE]
            ]
        )
        response: describe_configs.DescribeConfigsResponse = await client.request(ANY, request)
        for each in response.results:
            if not each.error_code:
                found[each.resource_name] = {
                    setting.name: setting.value
                    for setting in each.configs
                    if setting.config_source == _SET_FOR_TOPIC and setting.value is not None
                }
    return found


async def read_acls(client: Client) -> list[AccessControlEntry] | None:
    """The ACLs of topics, groups and transactional ids; None if the source has no authorizer, or refuses."""
    request = describe_acls.DescribeAclsRequest(
        resource_type_filter=ResourceType.ANY,
        resource_name_filter=None,
        pattern_type_filter=PatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=Operation.ANY,
        permission_type=PermissionType.ANY,
    )
    response: describe_acls.DescribeAclsResponse = await client.request(
        ANY, request, error_of=lambda r: 0 if r.error_code in _NO_ACLS else r.error_code
    )
    if response.error_code:
        return None
    return [
        AccessControlEntry(
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            pattern_type=resource.pattern_type,
            principal=each.principal,
            host=each.host,
            operation=each.operation,
            permission_type=each.permission_type,
        )
        for resource in response.resources
        for each in resource.acls
    ]


async def list_group_ids(client: Client, brokers: Iterable[int]) -> list[str]:
    """The groups of consumers at the source, whose offsets may be read."""
    found: set[str] = set()
    for broker_id in brokers:
        response = await client.request(broker_id, list_groups.ListGroupsRequest())
        found |= {each.group_id for each in response.groups if each.protocol_type in ("consumer", "")}
    return sorted(found)


async def read_committed_offsets(client: Client, group: str) -> dict[Place, CommittedOffset]:
    request = offset_fetch.OffsetFetchRequest(group_id=group, topics=None)
    response: offset_fetch.OffsetFetchResponse = await client.request(
        coordinator_of_group(group), request, version_max=_OF_ONE_GROUP
    )
    return {
        Place(topic.name, each.partition_index): CommittedOffset(
            each.committed_offset, each.committed_leader_epoch, each.metadata or ""
        )
        for topic in response.topics
        for each in topic.partitions
        if not each.error_code and each.committed_offset >= 0
    }
