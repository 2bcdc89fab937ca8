"""The destinations of requests. A client finds the broker behind one, and finds it again after it has moved."""

import enum
from typing import Final, NamedTuple


class Role(enum.Enum):
    ANY = "any broker"
    CONTROLLER = "the controller"


ANY: Final = Role.ANY
CONTROLLER: Final = Role.CONTROLLER


class LeaderOf(NamedTuple):
    topic: str
    partition: int


class CoordinatorKind(enum.IntEnum):
    GROUP = 0
    TRANSACTION = 1


class CoordinatorOf(NamedTuple):
    kind: int
    key: str


def coordinator_of_group(group: str) -> CoordinatorOf:
    return CoordinatorOf(CoordinatorKind.GROUP, group)


Destination = int | Role | LeaderOf | CoordinatorOf
"""A broker's id, `ANY`, `CONTROLLER`, a partition's leader, or the coordinator of a group or transactional id."""


def describe(to: Destination) -> str:
    if isinstance(to, LeaderOf):
        return f"the leader of {to.topic}-{to.partition}"
    if isinstance(to, CoordinatorOf):
        return f"the coordinator of {to.key!r}"
    return to.value if isinstance(to, Role) else f"broker {to}"
