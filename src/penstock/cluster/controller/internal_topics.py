"""Topics that are created on first use: the coordinators' topics, and others if the settings allow it."""

from penstock.cluster.controller.create_topics import NewTopic
from penstock.cluster.metadata import topic_names
from penstock.cluster.metadata.image import MetadataImage
from penstock.config.broker import BrokerConfig
from penstock.config.settings import coordinators


def auto_created_topic(image: MetadataImage, config: BrokerConfig, name: str) -> NewTopic:
    """The settings of a topic that is created on first use.

    The coordinators' topics want three replicas, which a single broker could never provide: they get at most as many
    replicas as there are brokers, and their in-sync minima are lowered accordingly.
    """
    brokers = max(1, sum(1 for _ in image.active_brokers()))
    if name == topic_names.CONSUMER_OFFSETS:
        return NewTopic(
            name=name,
            num_partitions=config[coordinators.OFFSETS_TOPIC_NUM_PARTITIONS],
            replication_factor=min(brokers, config[coordinators.OFFSETS_TOPIC_REPLICATION_FACTOR]),
            configs=(
                ("cleanup.policy", "compact"),
                ("compression.type", "producer"),
                ("segment.bytes", str(config[coordinators.OFFSETS_TOPIC_SEGMENT_BYTES])),
            ),
        )
    if name == topic_names.TRANSACTION_STATE:
        replicas = min(brokers, config[coordinators.TRANSACTION_STATE_LOG_REPLICATION_FACTOR])
        min_isr = min(replicas, config[coordinators.TRANSACTION_STATE_LOG_MIN_ISR])
        return NewTopic(
            name=name,
            num_partitions=config[coordinators.TRANSACTION_STATE_LOG_NUM_PARTITIONS],
            replication_factor=replicas,
            configs=(
                ("cleanup.policy", "compact"),
                ("compression.type", "uncompressed"),
                ("min.insync.replicas", str(min_isr)),
                ("segment.bytes", str(config[coordinators.TRANSACTION_STATE_LOG_SEGMENT_BYTES])),
                ("unclean.leader.election.enable", "false"),
            ),
        )
    if name == topic_names.SHARE_GROUP_STATE:
        replicas = min(brokers, config[coordinators.SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR])
        min_isr = min(replicas, config[coordinators.SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR])
        return NewTopic(
            name=name,
            num_partitions=config[coordinators.SHARE_COORDINATOR_STATE_TOPIC_NUM_PARTITIONS],
            replication_factor=replicas,
            configs=(  # not compacted: every update is needed; the coordinator deletes old records
                ("cleanup.policy", "delete"),
                ("compression.type", "producer"),
                ("min.insync.replicas", str(min_isr)),
                ("retention.ms", "-1"),
                ("segment.bytes", str(config[coordinators.SHARE_COORDINATOR_STATE_TOPIC_SEGMENT_BYTES])),
            ),
        )
    return NewTopic(name=name)
