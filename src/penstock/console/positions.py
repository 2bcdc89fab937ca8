"""From where messages are shown: what the query says, and the offsets that this means."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from penstock.client.cluster import EARLIEST, LATEST, Client
from penstock.console.kafka.places import describe_topic, leaders_of, offsets_at
from penstock.console.refusals import NOT_FOUND, Refused, bad_request

_PARTITIONS_MAX: Final = 1000
_INT64_MAX: Final = 2**63 - 1


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """`origin` is newest, oldest, offset or time; `number` the offset or the time in milliseconds."""

    partition: int | None
    origin: str
    number: int = 0


def parse_where(query: Mapping[str, Any]) -> Where:
    """Read `partition`, `from`, `offset` and `time`. Pure."""
    origin = query.get("from", "newest")
    if origin not in ("newest", "oldest", "offset", "time"):
        raise bad_request(f"from must be newest, oldest, offset or time, not {origin!r}.")
    partition = query.get("partition", "all")
    number = _number(query.get(origin, "0"), origin) if origin in ("offset", "time") else 0
    return Where(
        partition=None if partition == "all" else _number(partition, "partition"),
        origin=origin,
        number=number,
    )


def _number(text: str, name: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) > _INT64_MAX:
        raise bad_request(f"{name} must be a number that is not negative, not {text!r}.")
    return int(text)


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """First and end offset of each partition that is looked at."""

    starts: dict[int, int]
    ends: dict[int, int]


async def bounds_of(client: Client, topic: str, where: Where) -> Bounds:
    described = await describe_topic(client, topic)
    leaders = {
        place: leader
        for place, leader in leaders_of([described]).items()
        if where.partition in (None, place.partition)
    }
    if where.partition is not None and not leaders:
        raise Refused(
            NOT_FOUND, "NO_LEADER", f"Topic {topic} has no partition {where.partition} that is led now."
        )
    if len(leaders) > _PARTITIONS_MAX:
        raise bad_request(f"{topic} has {len(leaders)} partitions: choose one of them.")
    starts, ends = await asyncio.gather(
        offsets_at(client, leaders, EARLIEST), offsets_at(client, leaders, LATEST, is_committed_only=True)
    )
    return Bounds(
        starts={place.partition: offset for place, offset in starts.items() if place in ends},
        ends={place.partition: offset for place, offset in ends.items() if place in starts},
    )


async def first_offsets(client: Client, topic: str, where: Where, bounds: Bounds) -> dict[int, int]:
    """Where reading forward begins in each partition, never outside of what is there."""
    if where.origin == "time":
        leaders = {
            place: leader
            for place, leader in leaders_of([await describe_topic(client, topic)]).items()
            if place.partition in bounds.starts
        }
        found = await offsets_at(client, leaders, where.number)
        at = {place.partition: offset for place, offset in found.items()}
        wanted = {p: end if at.get(p, -1) < 0 else at[p] for p, end in bounds.ends.items()}
    elif where.origin == "offset":
        wanted = dict.fromkeys(bounds.starts, where.number)
    else:
        wanted = bounds.starts
    return clamped(wanted, bounds)


def clamped(wanted: Mapping[int, int], bounds: Bounds) -> dict[int, int]:
    """Only partitions that are looked at, only offsets that they have. Pure."""
    return {
        partition: min(max(offset, bounds.starts[partition]), bounds.ends[partition])
        for partition, offset in wanted.items()
        if partition in bounds.starts
    }
