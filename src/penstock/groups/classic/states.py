"""The states of a classic group, and every transition between them.

Empty                has no members; exists while it has offsets. Also a group that only commits offsets.
PreparingRebalance   parks joins until all known members have joined or the rebalance times out.
CompletingRebalance  has a new generation and waits for its leader's assignment; syncs are parked.
Stable               every member can get its assignment.
Dead                 deleted, expired, or moved to another broker.
"""

import enum
from collections.abc import Mapping


class State(enum.Enum):
    """The values are the names in the protocol."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Event(enum.Enum):
    REBALANCE_BEGINS = "a member joins, leaves, times out or changes its protocols"
    MEMBERS_JOINED = "every member has joined, or the others have timed out"
    NO_MEMBER_JOINED = "no member is left"
    ASSIGNMENT_STORED = "the leader's assignment is committed"
    GROUP_REMOVED = "the group is deleted, expires, or moves to another broker"


TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.EMPTY: {
        Event.REBALANCE_BEGINS: State.PREPARING_REBALANCE,
        Event.GROUP_REMOVED: State.DEAD,
    },
    State.PREPARING_REBALANCE: {
        Event.MEMBERS_JOINED: State.COMPLETING_REBALANCE,
        Event.NO_MEMBER_JOINED: State.EMPTY,
        Event.GROUP_REMOVED: State.DEAD,
    },
    State.COMPLETING_REBALANCE: {
        Event.ASSIGNMENT_STORED: State.STABLE,
        Event.REBALANCE_BEGINS: State.PREPARING_REBALANCE,
        Event.GROUP_REMOVED: State.DEAD,
    },
    State.STABLE: {
        Event.REBALANCE_BEGINS: State.PREPARING_REBALANCE,
        Event.GROUP_REMOVED: State.DEAD,
    },
    State.DEAD: {},
}
