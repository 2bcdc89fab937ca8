"""The changes of a batch of metadata records, for subscribers."""

from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import Partition, Topic


class PartitionDelta:
    """A partition before and after; `before` is None for a new one."""

    __slots__ = ("after", "before", "partition", "topic")

    def __init__(self, topic: Topic, partition: int, before: Partition | None, after: Partition) -> None:
        self.topic = topic
        self.partition = partition
        self.before = before
        self.after = after


class MetadataDelta:
    """Everything that one batch of records changed; deleted topics still have their partitions here."""

    __slots__ = (
        "acls_changed",
        "brokers_changed",
        "configs_changed",
        "controllers_changed",
        "credentials_changed",
        "features_changed",
        "last_offset",
        "partitions",
        "producer_ids_changed",
        "quotas_changed",
        "topics_created",
        "topics_deleted",
    )

    def __init__(self, last_offset: int) -> None:
        self.last_offset = last_offset
        self.topics_created: dict[bytes, Topic] = {}
        self.topics_deleted: dict[bytes, Topic] = {}
        self.partitions: dict[tuple[bytes, int], PartitionDelta] = {}
        self.configs_changed: set[tuple[int, str]] = set()  # resource type and name
        self.brokers_changed: set[int] = set()
        self.controllers_changed: set[int] = set()
        self.features_changed = False
        self.producer_ids_changed = False
        self.acls_changed: set[bytes] = set()  # ids
        self.credentials_changed = False
        self.quotas_changed = False

    def topic_created(self, topic: Topic) -> None:
        self.topics_created[topic.topic_id] = topic

    def topic_deleted(self, topic: Topic) -> None:
        """Record a deletion. A topic created and deleted in one batch is left out."""
        for number in topic.partitions:
            self.partitions.pop((topic.topic_id, number), None)
        if self.topics_created.pop(topic.topic_id, None) is None:
            self.topics_deleted[topic.topic_id] = topic

    def partition_changed(
        self, topic: Topic, number: int, before: Partition | None, after: Partition
    ) -> None:
        """Record a change; of several in one batch the first `before` and the last `after` are kept."""
        known = self.partitions.get((topic.topic_id, number))
        if known is None:
            self.partitions[topic.topic_id, number] = PartitionDelta(topic, number, before, after)
        else:
            known.after = after


def difference(old: MetadataImage, new: MetadataImage) -> MetadataDelta:
    """The difference between two images."""
    delta = MetadataDelta(new.offset)
    for topic in old.topics.values():
        if topic.topic_id not in new.topics_by_id:
            delta.topic_deleted(topic)
    for topic in new.topics.values():
        before = old.topics_by_id.get(topic.topic_id)
        if before is None:
            delta.topic_created(topic)
        for number, partition in topic.partitions.items():
            known = None if before is None else before.partitions.get(number)
            if known != partition:
                delta.partition_changed(topic, number, known, partition)
    delta.configs_changed = {
        key for key in old.configs.keys() | new.configs.keys() if old.configs.get(key) != new.configs.get(key)
    }
    delta.brokers_changed = {
        key for key in old.brokers.keys() | new.brokers.keys() if old.brokers.get(key) != new.brokers.get(key)
    }
    delta.controllers_changed = {
        key
        for key in old.controllers.keys() | new.controllers.keys()
        if old.controllers.get(key) != new.controllers.get(key)
    }
    delta.features_changed = old.features.finalized != new.features.finalized
    delta.producer_ids_changed = old.next_producer_id != new.next_producer_id
    delta.acls_changed = {
        key for key in old.acls.keys() | new.acls.keys() if old.acls.get(key) != new.acls.get(key)
    }
    delta.credentials_changed = old.credentials != new.credentials
    delta.quotas_changed = old.quotas != new.quotas
    return delta
