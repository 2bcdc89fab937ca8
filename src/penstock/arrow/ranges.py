"""Ranges of offsets to read, and the error for one that is gone. No I/O."""

import base64
from collections.abc import Sequence

import msgspec

from penstock.client.metadata import TopicPartition


def topic_id_text(topic_id: bytes) -> str:
    """Return the id as Kafka's tools write it; empty if the broker has no ids."""
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode() if any(topic_id) else ""


class DataLoss(Exception):
    """Records to read no longer exist, and the reader must not go on without them."""

    def __init__(self, losses: Sequence[str]) -> None:
        self.losses = tuple(losses)
        super().__init__(
            f"{'; '.join(losses)}. Records may have been lost: by retention, or because a topic was deleted. "
            f"Set option failOnDataLoss to false to continue without them, or start with a new checkpoint (of a "
            f"pipeline: `penstock pipeline reset`)"
        )


class OffsetRange(msgspec.Struct, frozen=True, kw_only=True):
    """The records of one partition from `start` (inclusive) to `end` (exclusive), which one task reads."""

    topic: str
    partition: int
    start: int
    end: int
    topic_id: str = ""  # the topic that was planned; empty: any of this name

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        return max(self.end - self.start, 0)
