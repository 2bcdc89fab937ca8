"""Follow-up changes of `min.insync.replicas` and `flush.messages`, made in the same decision.

Eligible leader replicas (KIP-966) are kept while the in-sync set is too small to commit without them, and cleared once
it no longer is. Kafka clears all of a topic's at every change of the setting (ClearElrRecord). If no replica is in sync
they are kept here: nothing can have been committed, and without them only an unclean election would be left.
"""

from collections.abc import Mapping

from penstock.cluster.controller.decision import Decision
from penstock.cluster.controller.election_rules import ElectionRules
from penstock.cluster.controller.sync_history import record_changes, record_default_change
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.config.broker import BrokerConfig
from penstock.config.settings.topic import FLUSH_MESSAGES, MIN_INSYNC_REPLICAS
from penstock.protocol.messages.metadata_records import MetadataRecord, PartitionChangeRecord

REVIEWED = frozenset(
    {name for prop in (FLUSH_MESSAGES, MIN_INSYNC_REPLICAS) for name in (prop.name, *prop.synonyms)}
)


def review_change(
    image: MetadataImage, config: BrokerConfig, changed: Mapping[tuple[int, str], dict[str, str]]
) -> list[MetadataRecord]:
    """The records that follow from new settings of some resources."""
    after = image.with_settings(changed)
    config_after = config.with_dynamic(
        cluster_wide=after.cluster_settings(), per_broker=after.broker_settings(config.node_id)
    )
    topics = [name for kind, name in changed if kind == ResourceType.TOPIC]
    return [
        *_clear_eligible(after, config_after),
        *record_changes(image, config, after, config_after, topics),
    ]


def decide_settings_review(image: MetadataImage, config: BrokerConfig) -> Decision[None]:
    """A new controller is active: its file may have other defaults than the previous controller's."""
    return Decision([*_clear_eligible(image, config), *record_default_change(image, config)], None)


def _clear_eligible(image: MetadataImage, config: BrokerConfig) -> list[MetadataRecord]:
    rules = ElectionRules(image, config)
    return [
        PartitionChangeRecord(
            topic_id=topic.topic_id, partition_id=number, eligible_leader_replicas=[], last_known_elr=[]
        )
        for topic in image.topics.values()
        for number, partition in topic.partitions.items()
        if (partition.elr or partition.last_known_elr) and partition.has_min_isr(rules.min_isr_of(topic.name))
    ]
