"""Offsets of many partitions, and their JSON: {"topic": {"0": 23, "1": -2}}, as Spark's Kafka connector writes it.

In options, -2 means the earliest offset and -1 the latest. In checkpoints all are real offsets: the offset of the next
record to read.
"""

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

import msgspec

from penstock.client.blocking.client import EARLIEST, LATEST
from penstock.client.metadata import TopicPartition
from penstock.spark.options import OptionError

Offsets: TypeAlias = Mapping[TopicPartition, int]
OffsetsJson: TypeAlias = dict[str, dict[str, int]]

T = TypeVar("T")


def to_json(offsets: Offsets) -> OffsetsJson:
    """Convert in the order of topics and partitions: Spark compares the texts of offsets."""
    by_topic: OffsetsJson = {}
    for tp in sorted(offsets):
        by_topic.setdefault(tp.topic, {})[str(tp.partition)] = offsets[tp]
    return by_topic


def from_json(by_topic: Mapping[str, Mapping[str, int] | Mapping[int, int]]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topic, partitions in by_topic.items()
        for partition, offset in partitions.items()
    }


def parse_offsets(option: str, text: str) -> dict[TopicPartition, int]:
    offsets = from_json(_decode(option, text, dict[str, dict[int, int]], '{"topic": {"0": 23, "1": -2}}'))
    for tp, offset in offsets.items():
        if offset < EARLIEST:
            raise OptionError(
                f"option {option}: offset {offset} of {tp} must be 0 or more, {LATEST} (latest) or {EARLIEST} "
                f"(earliest)"
            )
    return offsets


def parse_timestamps(option: str, text: str) -> dict[TopicPartition, int]:
    """Parse timestamps in milliseconds, in the same form as offsets."""
    timestamps = from_json(
        _decode(option, text, dict[str, dict[int, int]], '{"topic": {"0": 1700000000000}}')
    )
    for tp, timestamp in timestamps.items():
        if timestamp < 0:
            raise OptionError(f"option {option}: timestamp {timestamp} of {tp} is negative")
    return timestamps


def parse_partitions(option: str, text: str) -> frozenset[TopicPartition]:
    by_topic = _decode(option, text, dict[str, list[int]], '{"topic": [0, 1]}')
    found = frozenset(TopicPartition(topic, each) for topic, numbers in by_topic.items() for each in numbers)
    if not found or any(tp.partition < 0 for tp in found):
        raise OptionError(f"option {option} names no partition to read: {text!r}")
    return found


def _decode(option: str, text: str, kind: type[T], example: str) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:
        raise OptionError(f"option {option} must be JSON like {example}, not {text!r}") from None
