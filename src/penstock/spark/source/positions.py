"""Resolves subscriptions to partitions, and positions to offsets, with the cluster."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from penstock.arrow.ranges import topic_id_text
from penstock.client.blocking.client import EARLIEST, LATEST, BlockingClient, OffsetAt
from penstock.client.errors import BrokerError
from penstock.client.metadata import Topic, TopicPartition
from penstock.protocol.errors import is_retriable
from penstock.spark.options import OptionError
from penstock.spark.source.offsets import Offsets, TopicIds
from penstock.spark.source.spec import (
    Assigned,
    AtOffsets,
    AtTimestamps,
    EarliestOrLatest,
    Position,
    Subscription,
)


class Subscribed(NamedTuple):
    """The partitions of a subscription that exist, and the ids of their topics."""

    partitions: frozenset[TopicPartition]
    topic_ids: TopicIds


class MissingTopics(Exception):
    """Topics that an option names do not exist."""


class Positions:
    """With isolation level read_committed a partition ends at its last stable offset."""

    def __init__(self, cluster: BlockingClient, subscription: Subscription) -> None:
        self._cluster = cluster
        self._subscription = subscription

    def subscribed(self) -> Subscribed:
        """Return what exists. A pattern does not match internal topics."""
        topics = self._topics()
        partitions = _partitions_of(topics)
        if isinstance(self._subscription, Assigned):
            partitions &= self._subscription.partitions
        ids = {name: text for name, topic in topics.items() if (text := topic_id_text(topic.topic_id))}
        return Subscribed(partitions, ids)

    def _topics(self) -> Mapping[str, Topic]:
        if isinstance(self._subscription, Assigned):
            return self._cluster.topics({tp.topic for tp in self._subscription.partitions})
        if self._subscription.pattern is None:
            return self._cluster.topics(self._subscription.names)
        pattern = re.compile(self._subscription.pattern)
        every = self._cluster.topics()
        return {n: t for n, t in every.items() if pattern.fullmatch(n) and not t.is_internal and not t.error}

    def partitions(self) -> frozenset[TopicPartition]:
        return self.subscribed().partitions

    def existing(self) -> Subscribed:
        """Return what exists; raise `MissingTopics` if something that is named does not."""
        subscribed = self.subscribed()
        found = subscribed.partitions
        if isinstance(self._subscription, Assigned):
            missing = sorted(map(str, self._subscription.partitions - found))
            option, what = "assign", "partition"
        else:
            missing = sorted(self._subscription.names - {tp.topic for tp in found})
            option, what = "subscribe", "topic"
        if missing:
            raise MissingTopics(
                f"option {option}: {what} {', '.join(missing)} does not exist. Create it first, or check its name"
            )
        return subscribed

    def earliest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._list_offsets(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._list_offsets(dict.fromkeys(partitions, LATEST))

    def resolve(self, position: Position, partitions: frozenset[TopicPartition]) -> dict[TopicPartition, int]:
        if isinstance(position, EarliestOrLatest):
            return self._list_offsets(dict.fromkeys(partitions, position.offset))
        if isinstance(position, AtOffsets):
            _check_all_named(position.option, position.offsets.keys(), partitions)
            offsets = dict(position.offsets)
        else:
            offsets = self._at_timestamps(position, partitions)
        edges = {tp: offset for tp, offset in offsets.items() if offset in (EARLIEST, LATEST)}
        return {**offsets, **self._list_offsets(edges)}

    def _at_timestamps(
        self, position: AtTimestamps, partitions: frozenset[TopicPartition]
    ) -> dict[TopicPartition, int]:
        timestamps = position.timestamps
        if isinstance(timestamps, int):
            wanted = dict.fromkeys(partitions, timestamps)
        else:
            _check_all_named(position.option, timestamps.keys(), partitions)
            wanted = dict(timestamps)
        offsets: dict[TopicPartition, int] = {}
        for tp, found in self._query_offsets(wanted).items():
            if found.offset < 0 and not position.takes_latest:
                raise OptionError(
                    f"option {position.option}: {tp} has no record at or after {wanted[tp]}. Set option "
                    f"startingOffsetsByTimestampStrategy to latest to start with the next one"
                )
            offsets[tp] = found.offset if found.offset >= 0 else LATEST
        return offsets

    def _list_offsets(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return {tp: found.offset for tp, found in self._query_offsets(wanted).items()}

    def _query_offsets(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, OffsetAt]:
        if not wanted:
            return {}
        reads_committed_only = self._cluster.settings.reads_committed_only
        return self._cluster.list_offsets(wanted, reads_committed_only=reads_committed_only)


def _partitions_of(topics: Mapping[str, Topic]) -> frozenset[TopicPartition]:
    for topic in topics.values():
        if topic.error and not is_retriable(topic.error):
            raise BrokerError(topic.error, f"looking for topic {topic.name!r}")
    return frozenset(
        TopicPartition(topic.name, index) for topic in topics.values() for index in topic.partitions
    )


def check_start(starting: Position, start: Offsets, end: Offsets) -> None:
    """Refuse offsets that a person wrote and that are beyond the end, like Spark's connector."""
    if isinstance(starting, AtOffsets):
        beyond = [
            f"{tp} ends at offset {end[tp]}, so it cannot be read from offset {start[tp]}"
            for tp in sorted(end)
            if start[tp] > end[tp]
        ]
        if beyond:
            raise OptionError(
                f"option {starting.option}: {'; '.join(beyond)}. Is it an offset of another topic or cluster, or was "
                f"the topic deleted and created again? Use -1 for the end, -2 for the beginning"
            )


def _check_all_named(
    option: str, named: Iterable[TopicPartition], partitions: frozenset[TopicPartition]
) -> None:
    missing = sorted(map(str, partitions - set(named)))
    unknown = sorted(map(str, set(named) - partitions))
    if missing or unknown:
        faults = [f"{', '.join(missing)} is missing"] if missing else []
        faults += [f"{', '.join(unknown)} is not read"] if unknown else []
        raise OptionError(
            f"option {option} must name exactly the partitions that are read (-1 for latest, -2 for earliest "
            f"offsets): {'; '.join(faults)}"
        )
