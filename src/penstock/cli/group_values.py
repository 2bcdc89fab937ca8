"""What commands show of a group, of whatever kind."""

import msgspec

Place = tuple[str, int]
"""A topic and a partition of it."""


class Member(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    member_id: str
    client_id: str
    host: str
    instance_id: str | None
    partitions: list[Place]


class Group(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    group: str
    type: str
    state: str
    assignor: str
    coordinator: int
    members: list[Member]


class Lag(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How far a group is in one partition; None where nothing is committed, or where the partition is gone.

    A share group commits nothing: `committed` is where it starts.
    """

    topic: str
    partition: int
    committed: int | None
    end: int | None
    lag: int | None
    client_id: str | None
    member_id: str | None
