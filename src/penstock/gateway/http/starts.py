"""The first offsets of a read: given offsets, a time, or either end of the log."""

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Final

from penstock.client.aio import EARLIEST, LATEST, BrokerError, Client, TopicPartition
from penstock.client.positions import InvalidPosition, Time, first_offsets, parse_position
from penstock.gateway.http.parameters import time_ms
from penstock.gateway.http.problems import bad_request
from penstock.protocol.errors import ErrorCode

PARTITIONS_MAX: Final = 128
"""The most partitions of one request: each is part of every position."""


def named_partitions(query: Mapping[str, str]) -> str | None:
    """The parameter `partition` or `partitions`. Raises `Problem`."""
    if "partition" in query and "partitions" in query:
        raise bad_request("partition and partitions are both given: give one of them.")
    return query.get("partition", query.get("partitions"))


async def chosen_partitions(client: Client, topic: str, text: str | None, name: str) -> list[int]:
    """The partitions of `0,1,…`, or all of them. Raises `Problem` and `BrokerError`."""
    known = sorted((await client.topic(topic)).partitions)
    chosen = known if text is None else _numbers(text, name)
    for partition in chosen:
        if partition not in known:
            raise BrokerError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"Looking for partition {partition} of {topic}",
                f"it has {len(known)}, counted from 0",
            )
    if len(chosen) > PARTITIONS_MAX:
        raise bad_request(
            f"{topic} has {len(chosen)} partitions: name at most {PARTITIONS_MAX} of them with {name}=0,1,…"
        )
    return chosen


def _numbers(text: str, name: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() and len(word) < 10 for word in words):
        raise bad_request(f"{name} is {text!r}: it must be numbers of partitions, like 0,1.")
    return sorted({int(word) for word in words})


async def ends(client: Client, topic: str, partitions: Iterable[int], at: int) -> dict[int, int]:
    """The offsets at one end of each log, `EARLIEST` or `LATEST`, or at a time; -1 where no record is so recent."""
    found = await client.list_offsets({TopicPartition(topic, number): at for number in partitions})
    return {where.partition: each.offset for where, each in found.items()}


async def offsets_from(client: Client, topic: str, partitions: Iterable[int], text: str) -> dict[int, int]:
    """The offsets at a position, in the grammar of `client.positions`, within the logs' bounds. Raises `Problem`."""
    try:
        position = parse_position(text, client.clock.now_ms(), dt.UTC)
    except InvalidPosition as error:
        raise bad_request(f"from {error}.") from None
    partitions = list(partitions)
    earliest = await ends(client, topic, partitions, EARLIEST)
    latest = await ends(client, topic, partitions, LATEST)
    at_time = (
        await ends(client, topic, partitions, position.timestamp_ms) if isinstance(position, Time) else {}
    )
    return first_offsets(position, earliest, latest, at_time)


async def offsets_at_time(client: Client, topic: str, partitions: Iterable[int], text: str) -> dict[int, int]:
    """The offsets of the first records that are not older, else the ends."""
    found = await ends(client, topic, partitions, time_ms(text, "the time"))
    late = await ends(client, topic, [number for number, offset in found.items() if offset < 0], LATEST)
    return found | late
