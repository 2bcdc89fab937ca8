"""The state of the cluster at one offset of the metadata log.

It is changed only by `replay.apply`, on the event loop, between two awaits: a reader that does not await sees one
consistent state.
"""

import enum
from collections.abc import Collection, Iterator, Mapping

from penstock.cluster.metadata import topic_names
from penstock.cluster.metadata.mirrors import MIRROR, MIRRORED_TOPIC, Mirror, MirroredTopic
from penstock.cluster.metadata.state import (
    DIRECTORY_MIGRATING,
    DIRECTORY_UNASSIGNED,
    Features,
    Partition,
    RegisteredBroker,
    RegisteredController,
    Topic,
    is_kafka_node,
)
from penstock.protocol.messages.metadata_records import DelegationTokenRecord, MetadataRecord
from penstock.security.acl import AccessControlEntry
from penstock.security.scram_credentials import ScramCredential

SYNC_HISTORY = 127
"""A resource type of our own, in no protocol: until when a topic's records were acknowledged without a sync."""
QuotaEntity = tuple[tuple[str, str | None], ...]
_NOTHING: Mapping[str, str] = {}


class ResourceType(enum.IntEnum):
    """The types of resources that have settings, with the protocol's numbers."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class MetadataImage:
    __slots__ = (
        "acls",
        "brokers",
        "cluster_id",
        "configs",
        "controllers",
        "credentials",
        "delegation_tokens",
        "features",
        "names_by_collision_key",
        "next_producer_id",
        "offset",
        "open_transaction",
        "quotas",
        "topics",
        "topics_by_id",
        "zk_migration_state",
    )

    def __init__(self, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self.offset = -1  # the last offset that was applied
        self.topics: dict[str, Topic] = {}
        self.topics_by_id: dict[bytes, Topic] = {}
        self.names_by_collision_key: dict[str, set[str]] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.brokers: dict[int, RegisteredBroker] = {}
        self.features = Features()
        self.next_producer_id = 0
        self.credentials: dict[tuple[str, int], ScramCredential] = {}  # by user and mechanism
        self.acls: dict[bytes, AccessControlEntry] = {}
        self.quotas: dict[QuotaEntity, dict[str, float]] = {}
        self.controllers: dict[int, RegisteredController] = {}
        self.delegation_tokens: dict[str, DelegationTokenRecord] = {}  # by id; kept for Kafka, no effect here
        self.zk_migration_state = 0  # likewise
        self.open_transaction: list[MetadataRecord] | None = None
        """The records of a metadata transaction (KIP-868) that has not ended: they are not applied yet."""

    def become(self, other: "MetadataImage") -> None:
        """Copy the content of another image into this one, to which others refer."""
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))

    def with_settings(self, changed: Mapping[tuple[int, str], dict[str, str]]) -> "MetadataImage":
        """A copy with other settings of these resources, for a decision about them."""
        other = MetadataImage(self.cluster_id)
        other.become(self)
        other.configs = {**self.configs, **changed}
        return other

    def topic(self, name: str) -> Topic | None:
        return self.topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> Topic | None:
        return self.topics_by_id.get(topic_id)

    def partition(self, name: str, number: int) -> Partition | None:
        topic = self.topics.get(name)
        return None if topic is None else topic.partitions.get(number)

    def is_internal(self, name: str) -> bool:
        return topic_names.is_internal(name)

    def topic_settings(self, name: str) -> Mapping[str, str]:
        """The settings of a topic itself."""
        return self.configs.get((ResourceType.TOPIC, name), _NOTHING)

    def settings_of(self, kind: ResourceType) -> dict[str, Mapping[str, str]]:
        """The settings of all resources of a type, by name."""
        return {name: values for (each, name), values in self.configs.items() if each == kind}

    def group_settings(self, name: str) -> Mapping[str, str]:
        return self.configs.get((ResourceType.GROUP, name), _NOTHING)

    def broker_settings(self, broker_id: int) -> Mapping[str, str]:
        """The dynamic settings of one broker."""
        return self.configs.get((ResourceType.BROKER, str(broker_id)), _NOTHING)

    def cluster_settings(self) -> Mapping[str, str]:
        """The dynamic settings of all brokers."""
        return self.configs.get((ResourceType.BROKER, ""), _NOTHING)

    def kafka_nodes(self, voter_ids: Collection[int]) -> frozenset[int]:
        """The ids of the members that are nodes of Apache Kafka: the cluster is mixed while there are any (ADR 23).

        The registration of a controller stays when it leaves: only voters count, where they are known.
        """
        controllers = {
            each.controller_id
            for each in self.controllers.values()
            if is_kafka_node(each.features) and (not voter_ids or each.controller_id in voter_ids)
        }
        brokers = {each.broker_id for each in self.brokers.values() if each.is_kafka}
        return frozenset(brokers | (controllers - self.brokers.keys()))

    def kafka_voters(self, voter_ids: Collection[int]) -> list[int]:
        """The voters that are nodes of Apache Kafka, as far as they are registered."""
        return sorted(self.kafka_nodes(voter_ids).intersection(voter_ids))

    def mirror(self, name: str) -> Mirror | None:
        settings = self.configs.get((MIRROR, name))
        return None if settings is None else Mirror.of(name, settings)

    def mirrors(self) -> Iterator[Mirror]:
        return (Mirror.of(name, values) for (kind, name), values in self.configs.items() if kind == MIRROR)

    def mirrored_topic(self, name: str) -> MirroredTopic | None:
        """The topic as a mirror of another cluster's, also after its promotion; None if it never was one."""
        settings = self.configs.get((MIRRORED_TOPIC, name))
        return None if settings is None else MirroredTopic.of(name, settings)

    def mirrored_topics(self, mirror: str) -> Iterator[MirroredTopic]:
        """The topics of a mirror, also those that were promoted."""
        for (kind, name), settings in self.configs.items():
            if kind == MIRRORED_TOPIC:
                found = MirroredTopic.of(name, settings)
                if found.mirror == mirror:
                    yield found

    def is_read_only(self, topic: str) -> bool:
        """Whether only a mirror may write the topic."""
        found = self.mirrored_topic(topic)
        return found is not None and found.is_read_only

    def is_active(self, broker_id: int) -> bool:
        """Whether a broker is registered and active."""
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.is_active

    def may_lead(self, broker_id: int) -> bool:
        """Whether a broker is registered and may lead, or be in sync."""
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.may_lead

    def has_directory(self, broker_id: int, directory: bytes) -> bool:
        """Whether a broker has not lost one of several directories. Only brokers of Apache Kafka have several."""
        broker = self.brokers.get(broker_id)
        if broker is None or not broker.is_kafka or directory in (DIRECTORY_UNASSIGNED, DIRECTORY_MIGRATING):
            return True
        return not broker.log_dirs or directory in broker.log_dirs

    def active_brokers(self) -> Iterator[RegisteredBroker]:
        """The brokers in Metadata responses, by id."""
        return (self.brokers[each] for each in sorted(self.brokers) if self.brokers[each].is_active)
