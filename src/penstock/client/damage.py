"""Damaged records on the disk of a broker, as the broker reports them.

Kafka's protocol has no field for this. A broker reports it in DescribeConfigs of itself, under a name that is not a
setting, and only when that name is requested: a JSON list with an entry for each partition.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

NAME: Final = "penstock.log.damage"

_PARTITIONS_MAX: Final = 100
_RANGES_MAX: Final = 10

Offsets = tuple[int, int]
"""The first and the last offset of a range."""


class DamagedPartition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    topic: str
    partition: int
    range_count: int
    ranges: list[Offsets]
    """The first few."""

    @property
    def words(self) -> str:
        listed = ", ".join(
            f"{first} to {last}" if first < last else f"{first}" for first, last in self.ranges
        )
        more = self.range_count - len(self.ranges)
        return f"offsets {listed}" + (f" and {more} more ranges" if more else "")


class DamagedReplica(DamagedPartition, frozen=True, kw_only=True, rename="camel"):
    broker: int

    @property
    def trouble(self) -> str:
        """The damage and the remedy, in a sentence."""
        return (
            f"{self.topic}-{self.partition} has damaged records on the disk of broker {self.broker} ({self.words}), "
            "which are not served: restore its files from a backup, or reassign the partition to another broker that "
            "has it whole."
        )


def damaged_partition(topic: str, partition: int, ranges: Iterable[Offsets]) -> DamagedPartition:
    found = list(ranges)
    return DamagedPartition(
        topic=topic, partition=partition, range_count=len(found), ranges=found[:_RANGES_MAX]
    )


def encode_damage(partitions: Iterable[DamagedPartition]) -> str:
    """The value under `NAME`."""
    return msgspec.json.encode(list(partitions)[:_PARTITIONS_MAX]).decode()


def damage_in(broker: int, described: Any) -> list[DamagedReplica]:
    """The damage in a DescribeConfigs response for `NAME`; empty for a broker without that name."""
    values = [
        each.value
        for result in getattr(described, "results", ())
        for each in result.configs
        if each.name == NAME and each.value
    ]
    found: list[Mapping[str, Any]] = [entry for value in values for entry in msgspec.json.decode(value)]
    return [msgspec.convert({**entry, "broker": broker}, DamagedReplica) for entry in found]
