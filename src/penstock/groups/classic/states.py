"""The states of a classic group and every way from one to another: there is no other place that names them.

Empty                no members; lingers as long as it has offsets. Also a group that only commits offsets.
PreparingRebalance   collects members: joins are parked until all known members are there or time is up.
CompletingRebalance  has a new generation and waits for its leader's assignment; syncs are parked.
Stable               every member may ask for its assignment.
Dead                 deleted, expired, or handed over to another broker.
"""

import enum
from collections.abc import Mapping


class State(enum.Enum):
    """The values are the names that clients are told."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Event(enum.Enum):
    """What moves a group on."""

    REBALANCE_BEGINS = "a member joins, leaves, falls silent or changes its protocols"
    MEMBERS_JOINED = "every member joined, or those that did not in time are removed"
    NOBODY_JOINED = "no member is left"
    ASSIGNMENT_STORED = "the leader's assignment is committed"
    GROUP_REMOVED = "the group is deleted, expires, or moves to another broker"


TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.EMPTY: {
        Event.REBALANCE_BEGINS: State.PREPARING_REBALANCE,
        Event.GROUP_REMOVED: State.DEAD,
    },
    State.PREPARING_REBALANCE: {
        Event.MEMBERS_JOINED: State.COMPLETING_REBALANCE,
        Event.NOBODY_JOINED: State.EMPTY,
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
