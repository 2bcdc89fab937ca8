"""Lists, describes and deletes groups."""

from collections.abc import Collection, Iterator, Sequence

from penstock.cluster.coordination.errors import CoordinatorError
from penstock.groups.classic.group import ClassicGroup
from penstock.groups.classic.states import State
from penstock.groups.classic.subscriptions import CONSUMER_PROTOCOL
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.coordinator import GroupCoordinator
from penstock.groups.services import share_offsets
from penstock.groups.shard.shard import GroupShard
from penstock.groups.share.group import ShareGroup
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from penstock.protocol.messages.list_groups import ListedGroup

CLASSIC_TYPE = "classic"
CONSUMER_TYPE = "consumer"
SHARE_TYPE = "share"


async def list_groups(
    groups: GroupCoordinator, states: Collection[str], types: Collection[str]
) -> list[ListedGroup] | ErrorCode:
    """Return the groups of this coordinator, filtered by case-insensitive names; an empty filter selects all."""
    if groups.shards.is_loading:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    wanted_states = {state.lower() for state in states}
    wanted_types = {each.lower() for each in types}
    found = await groups.shards.read_committed(_listed)
    if isinstance(found, ErrorCode):
        return found
    return [
        listed
        for listed in found
        if not wanted_states or listed.group_state.lower() in wanted_states
        if not wanted_types or listed.group_type.lower() in wanted_types
    ]


def _listed(shard: GroupShard) -> Iterator[ListedGroup]:
    groups: tuple[tuple[ClassicGroup | ConsumerGroup | ShareGroup, str, str], ...] = (
        *((each, each.protocol_type or "", CLASSIC_TYPE) for each in shard.groups.values()),
        *((each, CONSUMER_PROTOCOL, CONSUMER_TYPE) for each in shard.consumers.values()),
        *((each, SHARE_TYPE, SHARE_TYPE) for each in shard.shares.values()),
    )
    for group, protocol_type, group_type in groups:
        yield ListedGroup(
            group_id=group.group_id,
            protocol_type=protocol_type,
            group_state=group.state.value,
            group_type=group_type,
        )


def describe(groups: GroupCoordinator, group_id: str) -> DescribedGroup | ErrorCode:
    """Describe a classic group."""
    shard = groups.find(group_id)
    if isinstance(shard, ErrorCode):
        return shard
    group = shard.state.groups.get(group_id)
    return ErrorCode.GROUP_ID_NOT_FOUND if group is None else _described(group)


def _described(group: ClassicGroup) -> DescribedGroup:
    """Metadata is shown for a stable group only: during a rebalance members may have different protocols."""
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
    """Delete groups that have no members, with their offsets, and wait until that is committed."""
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
        deletion = shard.state.delete_group(group_id, groups.now())
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
