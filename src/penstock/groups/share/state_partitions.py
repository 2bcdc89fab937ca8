"""The share partitions of a group that the share coordinator has, gets and loses: record 15, as a value.

Members get a partition once its state is initialized, so that the leader of the partition finds a state to read. The
log records an initialization before the share coordinator is asked, so that a crash in between leaves no state that the
group does not know of. The same holds for deletions.
"""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from penstock.groups.base.assignment import Assignment, difference, union
from penstock.protocol.messages import share_group_state_partition_metadata_record as wire


class StatePartitions(msgspec.Struct, frozen=True, kw_only=True):
    initializing: Assignment = {}
    initialized: Assignment = {}
    deleting: frozenset[bytes] = frozenset()
    names: Mapping[bytes, str] = {}
    """The names of all these topics, for people who read the log."""

    @property
    def topic_ids(self) -> set[bytes]:
        return {*self.initializing, *self.initialized, *self.deleting}

    # -- changes --------------------------------------------------------------------------------------

    def begin_initializing(self, partitions: Assignment, names: Mapping[bytes, str]) -> "StatePartitions":
        """The share coordinator is about to be asked to initialize these."""
        return self._replace(
            initializing=union(self.initializing, partitions),
            deleting=self.deleting - partitions.keys(),
            names={**self.names, **names},
        )

    def end_initializing(self, partitions: Assignment, succeeded: Assignment) -> "StatePartitions":
        """The share coordinator has initialized some of these. The rest is tried again later."""
        return self._replace(
            initializing=difference(self.initializing, partitions),
            initialized=union(self.initialized, succeeded),
        )

    def begin_deleting(self, topic_ids: Collection[bytes]) -> "StatePartitions":
        """The share coordinator is about to be asked to delete the state of these topics."""
        return self._replace(
            initializing=_except(self.initializing, topic_ids),
            initialized=_except(self.initialized, topic_ids),
            deleting=self.deleting.union(topic_ids),
        )

    def remove(self, topic_ids: Collection[bytes]) -> "StatePartitions":
        """These topics are deleted, or their state is."""
        return self._replace(
            initializing=_except(self.initializing, topic_ids),
            initialized=_except(self.initialized, topic_ids),
            deleting=self.deleting.difference(topic_ids),
        )

    def _replace(self, **changes: Any) -> "StatePartitions":
        """Return a changed value, with the names of its topics only."""
        made = msgspec.structs.replace(self, **changes)
        return msgspec.structs.replace(
            made, names={each: made.names.get(each, "") for each in made.topic_ids}
        )

    # -- the record -----------------------------------------------------------------------------------

    def value(self) -> wire.ShareGroupStatePartitionMetadataValue:
        return wire.ShareGroupStatePartitionMetadataValue(
            initializing_topics=self._topics(self.initializing),
            initialized_topics=self._topics(self.initialized),
            deleting_topics=[
                wire.TopicInfo(topic_id=each, topic_name=self.names.get(each, ""))
                for each in sorted(self.deleting)
            ],
        )

    def _topics(self, partitions: Assignment) -> list[wire.TopicPartitionsInfo]:
        return [
            wire.TopicPartitionsInfo(
                topic_id=topic_id, topic_name=self.names.get(topic_id, ""), partitions=sorted(each)
            )
            for topic_id, each in sorted(partitions.items())
        ]


def decode_state_partitions(value: wire.ShareGroupStatePartitionMetadataValue) -> StatePartitions:
    topics: list[Any] = [*value.deleting_topics, *value.initializing_topics, *value.initialized_topics]
    return StatePartitions(
        initializing={each.topic_id: frozenset(each.partitions) for each in value.initializing_topics},
        initialized={each.topic_id: frozenset(each.partitions) for each in value.initialized_topics},
        deleting=frozenset(each.topic_id for each in value.deleting_topics),
        names={each.topic_id: each.topic_name for each in topics},
    )


def _except(partitions: Assignment, topic_ids: Collection[bytes]) -> Assignment:
    return {topic_id: each for topic_id, each in partitions.items() if topic_id not in topic_ids}
