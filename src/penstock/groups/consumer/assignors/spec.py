"""What an assignor is told, and what it gives back."""

import msgspec

from penstock.groups.consumer.member import Assignment


class MemberSpec(msgspec.Struct, frozen=True, kw_only=True):
    member_id: str
    instance_id: str | None
    topic_ids: frozenset[bytes]
    """The topics it subscribes to, of those that exist."""
    current: Assignment
    """What it has in the present target."""


TargetAssignments = dict[str, Assignment]
"""By member id; everyone is in it, also those who get nothing."""
