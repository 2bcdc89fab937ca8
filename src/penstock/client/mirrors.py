"""The progress of a mirror, as a broker reports it.

Kafka's protocol has no fields for this. A broker reports it in DescribeConfigs of the mirror, under a name that is not
a setting: each for the partitions that it leads, and the active controller for the mirror as a whole.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

RESOURCE_TYPE: Final = 126
"""Of mirrors, in DescribeConfigs, IncrementalAlterConfigs and ListConfigResources. In no protocol."""
PROGRESS: Final = "penstock.mirror.progress"
OUTCOME: Final = "penstock.mirror.outcome"


class PartitionProgress(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    end_offset: int
    source_offset: int
    """The high watermark of the source, -1 while it is not known."""
    is_ready: bool = False
    """Whether it may be promoted."""
    is_same: bool = False
    """Whether it has only records that the source has."""
    truncated_from: int = -1
    trouble: str = ""

    @property
    def lag(self) -> int | None:
        return None if self.source_offset < 0 else max(0, self.source_offset - self.end_offset)


class MirrorProgress(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`is_followed`: this broker is the active controller, and has looked at the source."""

    broker: int
    partitions: list[PartitionProgress] = []
    copied_bytes: int = 0
    """By this broker since its start."""
    is_followed: bool = False
    error: str = ""
    """Why the source cannot be followed."""
    troubles: Mapping[str, str] = {}
    """Topics and groups that cannot be copied, and why."""


def encode_progress(progress: MirrorProgress) -> str:
    return msgspec.json.encode(progress).decode()


class ReadyPartition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A partition that its leader of this epoch has stopped to copy, for a promotion."""

    topic: str
    partition: int
    leader_epoch: int
    end_offset: int
    truncated_from: int
    """The end offset before the truncation to the last stable offset; the same as `end_offset` without one."""
    source_offset: int
    """The last known high watermark of the source, -1 if it is not known."""

    @property
    def left_behind(self) -> int:
        """How many offsets of the source are not in this partition, as far as this is known."""
        return max(self.truncated_from, self.source_offset) - self.end_offset


def encode_ready(partitions: Sequence[ReadyPartition]) -> str:
    """The outcome of a promotion of one topic, as it stands in the metadata."""
    return msgspec.json.encode(list(partitions)).decode()


def encode_outcome(topics: Sequence[str]) -> str:
    """The outcome of a promotion: those of all topics."""
    return msgspec.json.encode(
        [each for topic in topics for each in msgspec.json.decode(topic, type=list[ReadyPartition])]
    ).decode()


def outcome_in(described: Any) -> list[ReadyPartition]:
    """The outcome in a DescribeConfigs response about one mirror."""
    for result in getattr(described, "results", ()):
        for each in result.configs:
            if each.name == OUTCOME and each.value:
                return msgspec.json.decode(each.value, type=list[ReadyPartition])
    return []


def progress_in(described: Any) -> MirrorProgress | None:
    """The progress in a DescribeConfigs response about one mirror; None from a broker that reports none."""
    for result in getattr(described, "results", ()):
        for each in result.configs:
            if each.name == PROGRESS and each.value:
                return msgspec.json.decode(each.value, type=MirrorProgress)
    return None
