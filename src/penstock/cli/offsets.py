"""Offsets of a topic's partitions, asked for in one request."""

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.cli.connection import REQUEST_TIMEOUT_SECONDS, result_of


def earliest(admin: Any, topic: str, partitions: Iterable[int]) -> dict[int, int]:
    from confluent_kafka.admin import OffsetSpec

    return _list_offsets(admin, topic, dict.fromkeys(partitions, OffsetSpec.earliest()))


def latest(
    admin: Any, topic: str, partitions: Iterable[int], *, is_read_committed: bool = False
) -> dict[int, int]:
    """Where the next record goes; for a read_committed reader the end of what is decided."""
    from confluent_kafka.admin import OffsetSpec

    return _list_offsets(
        admin, topic, dict.fromkeys(partitions, OffsetSpec.latest()), is_read_committed=is_read_committed
    )


def at_time(admin: Any, topic: str, partitions: Iterable[int], timestamp_ms: int) -> dict[int, int]:
    """The first record stamped at or after the time; -1 where there is none."""
    from confluent_kafka.admin import OffsetSpec

    return _list_offsets(admin, topic, dict.fromkeys(partitions, OffsetSpec.for_timestamp(timestamp_ms)))


def _list_offsets(
    admin: Any, topic: str, specs: Mapping[int, Any], *, is_read_committed: bool = False
) -> dict[int, int]:
    from confluent_kafka import IsolationLevel, TopicPartition

    level = IsolationLevel.READ_COMMITTED if is_read_committed else IsolationLevel.READ_UNCOMMITTED
    request = admin.list_offsets(
        {TopicPartition(topic, partition): spec for partition, spec in specs.items()},
        isolation_level=level,
        request_timeout=REQUEST_TIMEOUT_SECONDS,
    )
    found: dict[int, int] = {}
    for place, future in request.items():
        result: Any = result_of(future, f"cannot find the offsets of {topic}-{place.partition}")
        found[place.partition] = result.offset
    return found
