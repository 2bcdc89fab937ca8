"""Offsets of many partitions, and their JSON: {"topic": {"0": 23, "1": -2}}, as Spark's Kafka connector writes it.

In options, -2 means the earliest offset and -1 the latest. In checkpoints all are real offsets: the offset of the next
record to read. The offsets of a stream also have the ids of its topics, under a name that no topic can have, so that a
topic that was deleted and created again is noticed: {"topic": {"0": 23}, "topic ids": {"topic": "Kt8…"}}. Checkpoints
of earlier versions, and brokers of Kafka before 2.8, have no ids.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from penstock.client.blocking.client import EARLIEST, LATEST
from penstock.client.metadata import TopicPartition
from penstock.spark.options import OptionError

Offsets: TypeAlias = Mapping[TopicPartition, int]
OffsetsJson: TypeAlias = dict[str, dict[str, int]]
TopicIds: TypeAlias = Mapping[str, str]

T = TypeVar("T")

TOPIC_IDS: Final = "topic ids"


class StreamOffsets(msgspec.Struct, frozen=True, kw_only=True):
    """A position in the stream: the next offset of each partition, and the ids of the topics that are known."""

    offsets: Offsets
    topic_ids: TopicIds = {}

    def to_json(self) -> dict[str, Any]:
        """Convert in a fixed order: Spark compares the texts of offsets."""
        by_topic: dict[str, Any] = dict(to_json(self.offsets))
        return {**by_topic, TOPIC_IDS: dict(sorted(self.topic_ids.items()))} if self.topic_ids else by_topic

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> "StreamOffsets":
        by_topic = {name: each for name, each in given.items() if name != TOPIC_IDS}
        return cls(offsets=from_json(by_topic), topic_ids=given.get(TOPIC_IDS, {}))

    def recreated(self, later: "StreamOffsets") -> set[str]:
        """Return the topics that have another id at a later position."""
        return {
            topic for topic, known in self.topic_ids.items() if later.topic_ids.get(topic, known) != known
        }

    def without(self, topics: set[str]) -> dict[TopicPartition, int]:
        return {tp: offset for tp, offset in self.offsets.items() if tp.topic not in topics}


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
