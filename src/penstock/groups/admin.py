"""Listing, describing and deleting groups."""

from collections.abc import Collection, Iterator, Sequence

from penstock.cluster.coordination.errors import CoordinatorError
from penstock.groups.classic.group import ClassicGroup
from penstock.groups.classic.states import State
from penstock.groups.classic.subscriptions import CONSUMER_PROTOCOL
from penstock.groups.coordinator import GroupCoordinator
from penstock.groups.shard import GroupShard
from penstock.groups.share import offsets as share_offsets
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from penstock.protocol.messages.list_groups import ListedGroup

CLASSIC_TYPE = "classic"
CONSUMER_TYPE = "consumer"
SHARE_TYPE = "share"


async def list_groups(
    groups: GroupCoordinator, states: Collection[str], types: Collection[str]
) -> list[ListedGroup] | ErrorCode:
    """The groups coordinated here; filters take names in any case, and none at all takes every group."""
    if groups.shards.is_loading:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    wanted_states = {state.lower() for state in states}
    wanted_types = {each.lower() for each in types}
    found = await groups.shards.look_at_all(_listed)
    if isinstance(found, ErrorCode):
        return found
    return [
        listed
        for listed in found
        if not wanted_states or listed.group_state.lower() in wanted_states
        if not wanted_types or listed.group_type.lower() in wanted_types
    ]


def _listed(shard: GroupShard) -> Iterator[ListedGroup]:
    for group in shard.groups.values():
        yield ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=CLASSIC_TYPE,
        )
    for consumer in shard.consumers.values():
        yield ListedGroup(
            group_id=consumer.group_id,
            protocol_type=CONSUMER_PROTOCOL,
            group_state=consumer.state.value,
            group_type=CONSUMER_TYPE,
        )
    for share in shard.shares.values():
        yield ListedGroup(
            group_id=share.group_id,
            protocol_type=SHARE_TYPE,
            group_state=share.state.value,
            group_type=SHARE_TYPE,
        )


def describe(groups: GroupCoordinator, group_id: str) -> DescribedGroup | ErrorCode:
    """A classic group; GROUP_ID_NOT_FOUND when there is none of that name."""
    shard = groups.find(group_id)
    if isinstance(shard, ErrorCode):
        return shard
    group = shard.state.groups.get(group_id)
    return ErrorCode.GROUP_ID_NOT_FOUND if group is None else _described(group)


def _described(group: ClassicGroup) -> DescribedGroup:
    """Metadata is shown of a group at rest only: while it rebalances, members may speak of different protocols."""
    protocol = group.protocol_name if group.state is State.STABLE else None
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=[
            DescribedGroupMember(
                member_id=m.member_id,
                group_instance_id=m.instance_id,
                client_id=m.client_id,
                client_host=m.client_host,
                member_metadata=b"" if protocol is None else m.metadata(protocol),
                member_assignment=m.assignment,
            )
            for m in group.members.values()
        ],
    )


async def delete_groups(groups: GroupCoordinator, group_ids: Sequence[str]) -> dict[str, ErrorCode]:
    """Delete groups that have no members, with their offsets; the answer comes when that is committed."""
    codes: dict[str, ErrorCode] = {}
    written = {}
    for group_id in dict.fromkeys(group_ids):
        shard = groups.find(group_id) if group_id else ErrorCode.GROUP_ID_NOT_FOUND
        if isinstance(shard, ErrorCode):
            codes[group_id] = shard
            continue
        code = await share_offsets.delete_all(groups.shares, shard, groups.image, group_id)
        if code:
            codes[group_id] = code
            continue
        deletion = shard.state.delete_group(group_id, groups.moment())
        if isinstance(deletion, ErrorCode):
            codes[group_id] = deletion
            continue
        try:
            written[group_id] = shard.write(deletion)
        except CoordinatorError as error:
            codes[group_id] = error.code
    for group_id, waiting in written.items():
        try:
            await waiting
        except CoordinatorError as error:
            codes[group_id] = error.code
    return {group_id: codes.get(group_id, ErrorCode.NONE) for group_id in dict.fromkeys(group_ids)}
