"""The states of a KIP-848 group and of its members, and every way a member gets from one state to another.

A member

STABLE                has all of its target that it can have.
UNREVOKED_PARTITIONS  was told to give partitions up and has not yet said that it did; it stays in its epoch.
UNRELEASED_PARTITIONS is in the target's epoch, but others still hold partitions that it is to get.

A group has no transitions of its own: its state says how far its members are.
"""

import enum
from collections.abc import Mapping


class MemberState(enum.IntEnum):
    """The numbers are those of the records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2


class Finding(enum.Enum):
    """What comparing a member's partitions with its target shows; it moves the member on."""

    MUST_REVOKE = "it holds partitions that are not for it"
    MUST_WAIT = "others hold partitions that are for it"
    HAS_ALL = "it holds what is for it"


TRANSITIONS: Mapping[MemberState, Mapping[Finding, MemberState]] = {
    MemberState.STABLE: {  # once there is a newer target, or it reads a topic no longer
        Finding.MUST_REVOKE: MemberState.UNREVOKED_PARTITIONS,
        Finding.MUST_WAIT: MemberState.UNRELEASED_PARTITIONS,
        Finding.HAS_ALL: MemberState.STABLE,
    },
    MemberState.UNREVOKED_PARTITIONS: {  # once it said that it gave up what it was told to
        Finding.MUST_REVOKE: MemberState.UNREVOKED_PARTITIONS,
        Finding.MUST_WAIT: MemberState.UNRELEASED_PARTITIONS,
        Finding.HAS_ALL: MemberState.STABLE,
    },
    MemberState.UNRELEASED_PARTITIONS: {  # at every heartbeat
        Finding.MUST_REVOKE: MemberState.UNREVOKED_PARTITIONS,
        Finding.MUST_WAIT: MemberState.UNRELEASED_PARTITIONS,
        Finding.HAS_ALL: MemberState.STABLE,
    },
}


class GroupState(enum.Enum):
    """The values are the names that clients are told."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"
