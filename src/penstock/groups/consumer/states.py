"""The states of a member of a KIP-848 group, and every transition between them.

STABLE                has every partition of its target.
UNREVOKED_PARTITIONS  has to revoke partitions and has not confirmed it yet; it stays in its epoch.
UNRELEASED_PARTITIONS is in the target's epoch, but other members still own partitions of its target.

A group has no separate transitions: its state follows from the states of its members.
"""

import enum
from collections.abc import Mapping


class MemberState(enum.IntEnum):
    """The numbers are those in the records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2


class ReconcileOutcome(enum.Enum):
    """The result of comparing a member's partitions with its target."""

    MUST_REVOKE = "it owns partitions outside its target"
    MUST_WAIT = "other members own partitions of its target"
    HAS_ALL = "it owns its whole target"


TRANSITIONS: Mapping[MemberState, Mapping[ReconcileOutcome, MemberState]] = {
    state: {
        ReconcileOutcome.MUST_REVOKE: MemberState.UNREVOKED_PARTITIONS,
        ReconcileOutcome.MUST_WAIT: MemberState.UNRELEASED_PARTITIONS,
        ReconcileOutcome.HAS_ALL: MemberState.STABLE,
    }
    for state in MemberState
}
"""STABLE is left when the target changes or the member unsubscribes, UNREVOKED_PARTITIONS when it has confirmed the
revocation, UNRELEASED_PARTITIONS at any heartbeat."""
