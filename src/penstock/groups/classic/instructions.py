"""What the state machine of a classic group asks the shell around it to do."""

import msgspec

from penstock.groups.classic.member import Protocols
from penstock.protocol.messages.group_metadata_record import GroupMetadataValue
from penstock.protocol.messages.join_group import JoinGroupResponse
from penstock.protocol.messages.sync_group import SyncGroupResponse


class Answer(msgspec.Struct, frozen=True):
    """Answer the request that came with this ticket, perhaps long ago."""

    ticket: int
    response: JoinGroupResponse | SyncGroupResponse


class AssignmentOf(msgspec.Struct, frozen=True):
    """The leader's assignment of a generation: members get it once it is committed."""

    generation: int
    by_member: dict[str, bytes]


class ReplacedMember(msgspec.Struct, frozen=True, kw_only=True):
    """A static member that came back under a new id without a rebalance (KIP-345)."""

    instance_id: str
    old_member_id: str
    new_member_id: str
    old_leader_id: str | None
    old_protocols: Protocols
    old_session_timeout_ms: int
    old_rebalance_timeout_ms: int
    may_skip_assignment: bool


class Store(msgspec.Struct, frozen=True):
    """Append the group's record; tell `stored` or `not_stored` with `then` when its fate is known."""

    value: GroupMetadataValue
    then: AssignmentOf | ReplacedMember | None = None


Instruction = Answer | Store
