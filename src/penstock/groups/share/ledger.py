"""Which share partitions of a group the share coordinator has, gets and loses: record 15, as a value.

A partition is given to members once its state is initialized, so that whoever leads it finds a state to read. What is
being initialized is in the log before the share coordinator is asked, so that a crash in between leaves nothing that no
one knows of; likewise what is being deleted.
"""

from collections.abc import Collection, Mapping

import msgspec

from penstock.groups.consumer.member import Assignment
from penstock.groups.share.partition_sets import united, without
from penstock.protocol.messages.share_group_state_partition_metadata_record import (
    ShareGroupStatePartitionMetadataValue,
    TopicInfo,
    TopicPartitionsInfo,
)

NO_NAMES: Mapping[bytes, str] = {}


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    initializing: Assignment = {}
    initialized: Assignment = {}
    deleting: frozenset[bytes] = frozenset()
    names: Mapping[bytes, str] = NO_NAMES
    """Of every topic in here, for people who read the log."""

    # -- steps ----------------------------------------------------------------------------------------

    def begun(self, partitions: Assignment, names: Mapping[bytes, str]) -> "Ledger":
        """The share coordinator is about to be asked for these."""
        return self._with(
            initializing=united(self.initializing, partitions),
            deleting=self.deleting - partitions.keys(),
            names={**self.names, **names},
        )

    def done(self, partitions: Assignment) -> "Ledger":
        return self._with(
            initializing=without(self.initializing, partitions),
            initialized=united(self.initialized, partitions),
        )

    def failed(self, partitions: Assignment) -> "Ledger":
        """These are asked for again some time later."""
        return self._with(initializing=without(self.initializing, partitions))

    def condemned(self, topic_ids: Collection[bytes]) -> "Ledger":
        """The state of these topics is about to be deleted."""
        return self._with(
            initializing=_except(self.initializing, topic_ids),
            initialized=_except(self.initialized, topic_ids),
            deleting=self.deleting.union(topic_ids),
        )

    def forgotten(self, topic_ids: Collection[bytes]) -> "Ledger":
        """These topics are gone, or their state is."""
        return self._with(
            initializing=_except(self.initializing, topic_ids),
            initialized=_except(self.initialized, topic_ids),
            deleting=self.deleting.difference(topic_ids),
        )

    def _with(
        self,
        *,
        initializing: Assignment,
        initialized: Assignment | None = None,
        deleting: frozenset[bytes] | None = None,
        names: Mapping[bytes, str] | None = None,
    ) -> "Ledger":
        made = Ledger(
            initializing=initializing,
            initialized=self.initialized if initialized is None else initialized,
            deleting=self.deleting if deleting is None else deleting,
        )
        known = self.names if names is None else names
        mentioned = {*made.initializing, *made.initialized, *made.deleting}
        return msgspec.structs.replace(made, names={each: known.get(each, "") for each in mentioned})

    # -- the record -----------------------------------------------------------------------------------

    def value(self) -> ShareGroupStatePartitionMetadataValue:
        return ShareGroupStatePartitionMetadataValue(
            initializing_topics=self._topics(self.initializing),
            initialized_topics=self._topics(self.initialized),
            deleting_topics=[
                TopicInfo(topic_id=each, topic_name=self.names.get(each, ""))
                for each in sorted(self.deleting)
            ],
        )

    def _topics(self, partitions: Assignment) -> list[TopicPartitionsInfo]:
        return [
            TopicPartitionsInfo(
                topic_id=topic_id, topic_name=self.names.get(topic_id, ""), partitions=sorted(each)
            )
            for topic_id, each in sorted(partitions.items())
        ]


def ledger_of(value: ShareGroupStatePartitionMetadataValue) -> Ledger:
    return Ledger(
        initializing={each.topic_id: frozenset(each.partitions) for each in value.initializing_topics},
        initialized={each.topic_id: frozenset(each.partitions) for each in value.initialized_topics},
        deleting=frozenset(each.topic_id for each in value.deleting_topics),
        names={
            **{each.topic_id: each.topic_name for each in value.deleting_topics},
            **{each.topic_id: each.topic_name for each in value.initializing_topics},
            **{each.topic_id: each.topic_name for each in value.initialized_topics},
        },
    )


def _except(partitions: Assignment, topic_ids: Collection[bytes]) -> Assignment:
    return {topic_id: each for topic_id, each in partitions.items() if topic_id not in topic_ids}
