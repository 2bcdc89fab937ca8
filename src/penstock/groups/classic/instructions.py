"""Instructions of the state machine of a classic group to its caller."""

import msgspec

from penstock.groups.classic.member import Protocols
from penstock.protocol.messages.group_metadata_record import GroupMetadataValue
from penstock.protocol.messages.join_group import JoinGroupResponse
from penstock.protocol.messages.sync_group import SyncGroupResponse


class Answer(msgspec.Struct, frozen=True):
    """Respond to the request with this ticket, which may have been parked."""

    ticket: int
    response: JoinGroupResponse | SyncGroupResponse


class AssignmentOf(msgspec.Struct, frozen=True):
    """The leader's assignment of a generation. Members get it once it is committed."""

    generation: int
    by_member: dict[str, bytes]


class ReplacedMember(msgspec.Struct, frozen=True, kw_only=True):
    """A static member that returned under a new id without a rebalance (KIP-345)."""

    instance_id: str
    old_member_id: str
    new_member_id: str
    old_leader_id: str | None
    old_protocols: Protocols
    old_session_timeout_ms: int
    old_rebalance_timeout_ms: int
    may_skip_assignment: bool


class Store(msgspec.Struct, frozen=True):
    """Append the group's record, and then call `stored` or `not_stored` for `then`."""

    value: GroupMetadataValue
    then: AssignmentOf | ReplacedMember | None = None


Instruction = Answer | Store
