"""The position of a query for messages, and its offsets."""

import asyncio
import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from penstock.client import positions
from penstock.client.aio import EARLIEST, LATEST, Client
from penstock.client.positions import (
    InvalidPosition,
    Offset,
    Position,
    Start,
    Time,
    is_number,
    parse_position,
)
from penstock.console.broker_errors import NOT_FOUND
from penstock.console.kafka.topics import describe_topic, leaders_of, offsets_at
from penstock.console.refusals import Refused, bad_request

_PARTITIONS_MAX: Final = 1000


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Without a position: the newest messages, read backwards. Without partitions: all of them."""

    partitions: frozenset[int] | None = None
    position: Position | None = None


def parse_where(query: Mapping[str, Any], now_ms: int) -> Where:
    """Read `partition` or `partitions`, and `from`, which is newest, oldest, or any position that the command takes.

    The pages use `from=offset&offset=N` and `from=time&time=N`. Pure.
    """
    origin = query.get("from", "newest")
    if origin in ("offset", "time"):
        number = _number(query.get(origin, "0"), origin)
        position: Position | None = Offset(number) if origin == "offset" else Time(number)
    else:
        position = None if origin == "newest" else _position(origin, now_ms)
    return Where(partitions=_partitions(query), position=position)


def _position(text: str, now_ms: int) -> Position:
    if text == "oldest":
        return Start()
    try:
        return parse_position(text, now_ms, dt.UTC)
    except InvalidPosition as error:
        raise bad_request(f"from must be newest, oldest or a position: {error}.") from None


def _partitions(query: Mapping[str, Any]) -> frozenset[int] | None:
    if "partition" in query and "partitions" in query:
        raise bad_request("partition and partitions are both given: give one of them.")
    text = query.get("partition", query.get("partitions", "all"))
    return None if text == "all" else frozenset(_number(each, "partition") for each in text.split(","))


def _number(text: str, name: str) -> int:
    if not is_number(text):
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
        if where.partitions is None or place.partition in where.partitions
    }
    missing = (where.partitions or frozenset()) - {place.partition for place in leaders}
    if missing:
        raise Refused(
            NOT_FOUND,
            "NO_LEADER",
            f"Partition {min(missing)} of topic {topic} does not exist, or has no leader.",
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
    """The first offset of each partition when reading forward, within its bounds."""
    position = where.position or Start()
    at_time = dict.fromkeys(bounds.ends, -1)
    if isinstance(position, Time):
        leaders = {
            place: leader
            for place, leader in leaders_of([await describe_topic(client, topic)]).items()
            if place.partition in bounds.starts
        }
        found = await offsets_at(client, leaders, position.timestamp_ms)
        at_time |= {place.partition: offset for place, offset in found.items()}
    return positions.first_offsets(position, bounds.starts, bounds.ends, at_time)


def clamped(wanted: Mapping[int, int], bounds: Bounds) -> dict[int, int]:
    """Drop partitions outside of the bounds and clamp the offsets to them. Pure."""
    return {
        partition: min(max(offset, bounds.starts[partition]), bounds.ends[partition])
        for partition, offset in wanted.items()
        if partition in bounds.starts
    }
