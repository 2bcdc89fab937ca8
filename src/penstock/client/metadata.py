"""Metadata of a cluster: brokers, topics, partitions and their leaders. Pure values."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic

NO_LEADER = -1


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    leader_id: int = NO_LEADER
    leader_epoch: int = -1


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic of one response; `error` is its own code, for instance TOPIC_AUTHORIZATION_FAILED."""

    name: str
    topic_id: bytes
    is_internal: bool = False
    error: int = 0
    partitions: Mapping[int, Partition]


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """The known metadata; topics are those that were asked for and exist."""

    cluster_id: str | None = None
    controller_id: int = -1
    brokers: Mapping[int, tuple[str, int]] = {}
    topics: Mapping[str, Topic] = {}

    def leader(self, where: TopicPartition) -> Partition | None:
        """The partition, if it is known and has a leader that is known."""
        topic = self.topics.get(where.topic)
        partition = topic.partitions.get(where.partition) if topic else None
        if partition is None or partition.leader_id not in self.brokers:
            return None
        return partition

    def updated(self, newer: "Metadata", asked: frozenset[str] | None) -> "Metadata":
        """Merged with a newer response about the topics in `asked` (None: all)."""
        kept = {} if asked is None else {n: t for n, t in self.topics.items() if n not in asked}
        return msgspec.structs.replace(newer, topics={**kept, **newer.topics})


def from_response(response: MetadataResponse) -> Metadata:
    """Topics that do not exist are left out."""
    return Metadata(
        cluster_id=response.cluster_id,
        controller_id=response.controller_id,
        brokers={broker.node_id: (broker.host, broker.port) for broker in response.brokers},
        topics={
            topic.name: _topic(topic.name, topic)
            for topic in response.topics
            if topic.name is not None and topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        },
    )


def _topic(name: str, topic: MetadataResponseTopic) -> Topic:
    return Topic(
        name=name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        error=topic.error_code,
        partitions={
            p.partition_index: Partition(
                index=p.partition_index, leader_id=p.leader_id, leader_epoch=p.leader_epoch
            )
            for p in topic.partitions
        },
    )
