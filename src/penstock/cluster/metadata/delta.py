"""What a committed piece of metadata changed, for those who act on it."""

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
        self.features_changed = False
        self.producer_ids_changed = False
        self.acls_changed = False
        self.credentials_changed = False
        self.quotas_changed = False

    def topic_created(self, topic: Topic) -> None:
        self.topics_created[topic.topic_id] = topic

    def topic_deleted(self, topic: Topic) -> None:
        """Note a deletion. A topic made and deleted in one batch was never there."""
        for number in topic.partitions:
            self.partitions.pop((topic.topic_id, number), None)
        if self.topics_created.pop(topic.topic_id, None) is None:
            self.topics_deleted[topic.topic_id] = topic

    def partition_changed(
        self, topic: Topic, number: int, before: Partition | None, after: Partition
    ) -> None:
        """Note a change; of several in one batch the first `before` and the last `after` are kept."""
        known = self.partitions.get((topic.topic_id, number))
        if known is None:
            self.partitions[topic.topic_id, number] = PartitionDelta(topic, number, before, after)
        else:
            known.after = after


def everything(image: MetadataImage) -> MetadataDelta:
    """What changed for someone who knew nothing before."""
    delta = MetadataDelta(image.offset)
    for topic in image.topics.values():
        delta.topic_created(topic)
        for number, partition in topic.partitions.items():
            delta.partition_changed(topic, number, None, partition)
    delta.configs_changed.update(image.configs)
    delta.brokers_changed.update(image.brokers)
    delta.features_changed = bool(image.features.finalized)
    delta.producer_ids_changed = image.next_producer_id > 0
    delta.acls_changed = bool(image.acls)
    delta.credentials_changed = bool(image.credentials)
    delta.quotas_changed = bool(image.quotas)
    return delta
