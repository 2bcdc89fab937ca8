"""Whom a request is for. A client finds out which broker that is, and asks again when it has moved."""

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
    kind: CoordinatorKind
    key: str


def coordinator_of_group(group: str) -> CoordinatorOf:
    return CoordinatorOf(CoordinatorKind.GROUP, group)


Destination = int | Role | LeaderOf | CoordinatorOf
"""A broker's id, `ANY`, `CONTROLLER`, or whoever leads a partition or coordinates a group or transactional id."""
