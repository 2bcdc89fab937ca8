"""Offsets of many partitions, and their JSON: {"topic": {"0": 23, "1": -2}}, as Spark's Kafka connector writes it.

In options, -2 means the earliest offset and -1 the latest. In checkpoints all are real offsets: that of the next record
to read.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from penstock.client.blocking.client import EARLIEST, LATEST
from penstock.client.metadata import TopicPartition
from penstock.spark.options import OptionError

Offsets: TypeAlias = Mapping[TopicPartition, int]
OffsetsJson: TypeAlias = dict[str, dict[str, int]]


def to_json(offsets: Offsets) -> OffsetsJson:
    """Convert in the order of topics and partitions: Spark compares the texts of offsets."""
    by_topic: OffsetsJson = {}
    for where in sorted(offsets):
        by_topic.setdefault(where.topic, {})[str(where.partition)] = offsets[where]
    return by_topic


def from_json(by_topic: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topic, partitions in by_topic.items()
        for partition, offset in partitions.items()
    }


def parse_offsets(option: str, text: str) -> dict[TopicPartition, int]:
    """Parse offsets of an option."""
    offsets = _parse_numbers(option, text, 'like {"topic": {"0": 23, "1": -2}}')
    for where, offset in offsets.items():
        if offset < EARLIEST:
            raise OptionError(
                f"option {option}: offset {offset} of {where} must be 0 or more, {LATEST} (latest) or {EARLIEST} "
                f"(earliest)"
            )
    return offsets


def parse_timestamps(option: str, text: str) -> dict[TopicPartition, int]:
    """Parse timestamps in milliseconds, in the same form as offsets."""
    timestamps = _parse_numbers(option, text, 'like {"topic": {"0": 1700000000000}}')
    for where, timestamp in timestamps.items():
        if timestamp < 0:
            raise OptionError(f"option {option}: timestamp {timestamp} of {where} is negative")
    return timestamps


def parse_partitions(option: str, text: str) -> frozenset[TopicPartition]:
    """Parse the partitions of `assign`: {"topic": [0, 1]}."""
    form = 'like {"topic": [0, 1]}'
    by_topic = _parse_object(option, text, form)
    try:
        found = frozenset(
            TopicPartition(topic, _number(partition))
            for topic, partitions in by_topic.items()
            for partition in partitions
        )
    except (TypeError, ValueError):
        raise OptionError(f"option {option} must be JSON {form}, not {text!r}") from None
    if not found or any(where.partition < 0 for where in found):
        raise OptionError(f"option {option} names no partition to read: {text!r}")
    return found


def _parse_numbers(option: str, text: str, form: str) -> dict[TopicPartition, int]:
    by_topic = _parse_object(option, text, form)
    try:
        return {
            TopicPartition(topic, int(partition)): _number(number)
            for topic, partitions in by_topic.items()
            for partition, number in partitions.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise OptionError(f"option {option} must be JSON {form}, not {text!r}") from None


def _parse_object(option: str, text: str, form: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise OptionError(f"option {option} must be JSON {form}, not {text!r}")
    return value


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value
