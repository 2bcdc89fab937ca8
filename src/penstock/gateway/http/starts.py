"""Where reading begins: at offsets, at a time, or at either end of the log."""

from collections.abc import Iterable, Mapping
from typing import Final

from penstock.client.cluster import EARLIEST, LATEST, BrokerError, Client, OffsetAt, TopicPartition
from penstock.gateway.http.parameters import time_ms
from penstock.gateway.http.problems import bad_request
from penstock.protocol.errors import ErrorCode

PARTITIONS_MAX: Final = 128
"""How many partitions one request reads: each is named in every position."""


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
    """The offsets at one end of each log: `EARLIEST` or `LATEST`."""
    return {number: found.offset for number, found in (await _found(client, topic, partitions, at)).items()}


async def offsets_from(client: Client, topic: str, partitions: Iterable[int], text: str) -> dict[int, int]:
    """The offsets at `earliest`, `latest`, or at a time: of the first record that is not older, else the end."""
    partitions = list(partitions)
    if text in ("earliest", "latest"):
        return await ends(client, topic, partitions, EARLIEST if text == "earliest" else LATEST)
    found = await _found(client, topic, partitions, time_ms(text, "the time"))
    late = [number for number, each in found.items() if each.offset < 0]
    latest = await ends(client, topic, late, LATEST)
    return {number: latest.get(number, each.offset) for number, each in found.items()}


async def _found(client: Client, topic: str, partitions: Iterable[int], at: int) -> Mapping[int, OffsetAt]:
    found = await client.list_offsets({TopicPartition(topic, number): at for number in partitions})
    return {where.partition: offset for where, offset in found.items()}
