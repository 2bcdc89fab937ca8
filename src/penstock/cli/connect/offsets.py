"""Offsets of a topic's partitions, and positions in options (`client/positions.py` has their grammar)."""

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import OffsetSpec

from penstock.cli.connect.librdkafka import wait_for
from penstock.cli.errors import UsageError
from penstock.client import positions

POSITION_HELP = (
    "an offset, -N (the last N of each partition), -15m (15 minutes ago; s, m, h, d), "
    "a time like 2026-05-04T12:00:00Z, or Unix epoch milliseconds."
)


class Bounds(NamedTuple):
    """The offsets at which the records of a partition begin and end."""

    start: int
    end: int


def parse_position(text: str, option: str = "--from") -> positions.Position:
    try:
        return positions.parse_position(text, time.time_ns() // 1_000_000)
    except positions.InvalidPosition as error:
        raise UsageError(f"{option} {error}") from None


def fetch_bounds(
    admin: Any, topic: str, partitions: Iterable[int], *, is_read_committed: bool = False
) -> dict[int, Bounds]:
    """Fetch start and end offsets; for a read_committed reader the end is the last stable offset."""
    wanted = list(partitions)
    starts = _list_offsets(admin, topic, wanted, OffsetSpec.earliest())
    ends = _list_offsets(admin, topic, wanted, OffsetSpec.latest(), is_read_committed=is_read_committed)
    return {each: Bounds(starts[each], ends[each]) for each in wanted}


def resolve_position(
    admin: Any, topic: str, position: positions.Position, bounds: dict[int, Bounds]
) -> dict[int, int]:
    """Find the offset of a position in each partition, within its bounds."""
    times = {}
    if isinstance(position, positions.Time):
        times = _list_offsets(admin, topic, bounds, OffsetSpec.for_timestamp(position.timestamp_ms))
    starts = {partition: each.start for partition, each in bounds.items()}
    ends = {partition: each.end for partition, each in bounds.items()}
    return positions.first_offsets(position, starts, ends, times)


def _list_offsets(
    admin: Any, topic: str, partitions: Iterable[int], spec: Any, *, is_read_committed: bool = False
) -> dict[int, int]:
    level = IsolationLevel.READ_COMMITTED if is_read_committed else IsolationLevel.READ_UNCOMMITTED
    requests = admin.list_offsets(
        {TopicPartition(topic, partition): spec for partition in partitions}, isolation_level=level
    )
    found: dict[int, int] = {}
    for place, future in requests.items():
        result: Any = wait_for(future, f"cannot fetch the offsets of {topic}-{place.partition}")
        found[place.partition] = result.offset
    return found
