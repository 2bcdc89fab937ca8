"""A consumer or share group as commands show it."""

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


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The position of a group in a partition, and its lag there if the broker knows it."""

    offset: int | None
    lag: int | None = None


class Lag(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The lag of a group in one partition; None where nothing is committed, or where the partition is deleted.

    A share group commits nothing: `committed` is its start offset.
    """

    topic: str
    partition: int
    committed: int | None
    end: int | None
    lag: int | None
    client_id: str | None
    member_id: str | None
