"""The objects in the cluster metadata: topics, partitions, brokers, features."""

from collections.abc import Mapping, Sequence

import msgspec

from penstock.config.listeners import SECURITY_PROTOCOL_IDS, Endpoint
from penstock.protocol.messages.metadata_records import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)

NO_LEADER = -1
NO_LEADER_CHANGE = -2  # in a PartitionChangeRecord
DIRECTORY_UNASSIGNED = bytes(16)
DIRECTORY_MIGRATING = bytes(15) + b"\x02"  # of a broker that came from ZooKeeper
DIRECTORY_LOST = bytes(15) + b"\x01"  # all directories of a broker with no working one (KIP-858)

_PROTOCOL_NAMES = {number: name for name, number in SECURITY_PROTOCOL_IDS.items()}

METADATA_VERSION = "metadata.version"
TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"
ELIGIBLE_LEADER_REPLICAS_VERSION = "eligible.leader.replicas.version"
SHARE_VERSION = "share.version"
KRAFT_VERSION = "kraft.version"
STREAMS_VERSION = "streams.version"
PENSTOCK_VERSION = "penstock.version"
CORDONED_DIRECTORIES_LEVEL = 30  # of metadata.version
KRAFT_LEVEL = 1
SUPPORTED_FEATURES: Mapping[str, tuple[int, int]] = {
    METADATA_VERSION: (25, CORDONED_DIRECTORIES_LEVEL),
    TRANSACTION_VERSION: (0, 2),
    GROUP_VERSION: (0, 1),
    ELIGIBLE_LEADER_REPLICAS_VERSION: (0, 1),
    SHARE_VERSION: (0, 1),
    KRAFT_VERSION: (0, KRAFT_LEVEL),
    STREAMS_VERSION: (0, 1),
}
"""The supported levels of each feature (KIP-584).

A new cluster is given the highest level of each; a cluster older than a feature has it at 0 until it is raised.
metadata.version 25 is Kafka 4.0-IV3 and 30 is 4.3-IV0, from which on broker records have a field for cordoned
directories (KIP-1066); the levels between change no record. Transactions: 0 writes their state in the first format, 1
in an extensible format, and 2 has producers raise their epoch at every end (KIP-890). Groups: 0 has only classic
groups, 1 has KIP-848 groups too. Eligible leaders: 1 remembers which replicas may lead when none is in sync (KIP-966).
Share groups (KIP-932) exist from 1 on. The quorum is at kraft.version 1, which its own records say (KIP-853), unless
Kafka began it with static voters. There are no groups for Kafka Streams: streams.version exists because tools set all
features of a release, and has no effect; clients look for the APIs.
"""
_MARK: Mapping[str, tuple[int, int]] = {PENSTOCK_VERSION: (0, 1)}
"""A feature that every node registers, never switched on: it tells Penstock's nodes from Kafka's (ADR 23)."""
REGISTERED_FEATURES: Mapping[str, tuple[int, int]] = {**SUPPORTED_FEATURES, **_MARK}
"""The features that a node registers."""
_LOWEST_LEVEL = SUPPORTED_FEATURES[METADATA_VERSION][0]
NOT_SWITCHED_ON = frozenset({KRAFT_VERSION})
"""Features that are off in a new cluster and after an upgrade."""


def is_kafka_node(features: Mapping[str, tuple[int, int]]) -> bool:
    """Whether a node that registers these features is one of Apache Kafka."""
    lowest, _ = features.get(METADATA_VERSION, (_LOWEST_LEVEL, 0))
    return PENSTOCK_VERSION not in features and lowest != _LOWEST_LEVEL


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    """The replicas and the leader of a partition. The first replica is the preferred leader."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: int = 0
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    directories: tuple[bytes, ...] = ()
    elr: tuple[int, ...] = ()  # KIP-966: left the in-sync set with all committed records
    last_known_elr: tuple[int, ...] = ()

    def has_min_isr(self, min_insync_replicas: int) -> bool:
        """Whether enough replicas are in sync. As in Kafka, a partition never needs more than it has replicas."""
        return len(self.isr) >= min(min_insync_replicas, len(self.replicas))

    def may_commit(self, min_insync_replicas: int) -> bool:
        """Whether its leader may move the high watermark, with `min.insync.replicas` as the leader knows it.

        Never while an eligible replica is outside the in-sync set: it could be elected, and must have everything that
        was committed. The controller keeps eligible replicas by its own value of `min.insync.replicas`, and the two
        need not agree at every moment (docs/replication.md).
        """
        return not self.elr and self.has_min_isr(min_insync_replicas)

    @staticmethod
    def of(record: PartitionRecord) -> "Partition":
        return Partition(
            replicas=tuple(record.replicas),
            isr=tuple(record.isr),
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            leader_recovery_state=record.leader_recovery_state,
            removing_replicas=tuple(record.removing_replicas),
            adding_replicas=tuple(record.adding_replicas),
            directories=tuple(record.directories),
            elr=tuple(record.eligible_leader_replicas or ()),
            last_known_elr=tuple(record.last_known_elr or ()),
        )

    def directory_of(self, broker_id: int) -> bytes:
        """The directory of a replica, as far as the metadata knows it (KIP-858)."""
        pairs = zip(self.replicas, self.directories, strict=False)
        return next((directory for each, directory in pairs if each == broker_id), DIRECTORY_UNASSIGNED)

    def changed(self, change: PartitionChangeRecord) -> "Partition":
        """Apply a change record. A leader in it, even the same one, begins a new leader epoch."""
        led = change.leader != NO_LEADER_CHANGE
        recovery_state = change.leader_recovery_state
        return Partition(
            replicas=_either(change.replicas, self.replicas),
            isr=_either(change.isr, self.isr),
            leader=change.leader if led else self.leader,
            leader_epoch=self.leader_epoch + 1 if led else self.leader_epoch,
            partition_epoch=self.partition_epoch + 1,
            leader_recovery_state=self.leader_recovery_state if recovery_state < 0 else recovery_state,
            removing_replicas=_either(change.removing_replicas, self.removing_replicas),
            adding_replicas=_either(change.adding_replicas, self.adding_replicas),
            directories=self.directories if change.directories is None else tuple(change.directories),
            elr=_either(change.eligible_leader_replicas, self.elr),
            last_known_elr=_either(change.last_known_elr, self.last_known_elr),
        )


def _either(new: list[int] | None, old: tuple[int, ...]) -> tuple[int, ...]:
    return old if new is None else tuple(new)


class Topic:
    """A topic and its partitions, numbered from 0 without gaps."""

    __slots__ = ("name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: bytes) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions: dict[int, Partition] = {}

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas)


class RegisteredBroker(msgspec.Struct, frozen=True, kw_only=True):
    """A registered broker. A fenced one leads nothing and is in no Metadata response."""

    broker_id: int
    epoch: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool = False
    features: Mapping[str, tuple[int, int]] = {}
    log_dirs: tuple[bytes, ...] = ()
    cordoned_log_dirs: tuple[bytes, ...] | None = None  # these get no new replicas (KIP-1066)
    is_migrating_zk_broker: bool = False  # a leftover of clusters that came from ZooKeeper

    @property
    def is_active(self) -> bool:
        """Whether it serves clients, and is in Metadata responses."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def has_failed_disk(self) -> bool:
        """Whether it has reported a failed disk since its registration."""
        return self.log_dirs == (DIRECTORY_LOST,)

    @property
    def is_cordoned(self) -> bool:
        """Whether all its directories get no new replicas (KIP-1066)."""
        return len(self.log_dirs) > 0 and set(self.log_dirs) <= set(self.cordoned_log_dirs or ())

    @property
    def may_lead(self) -> bool:
        """Whether it may lead, or be in sync."""
        return self.is_active and not self.has_failed_disk

    @property
    def is_kafka(self) -> bool:
        """Whether it is a node of Apache Kafka. Penstock before penstock.version is known by its lowest level."""
        return is_kafka_node(self.features)

    def endpoint(self, listener: str) -> Endpoint | None:
        return next((each for each in self.endpoints if each.name == listener), None)

    @staticmethod
    def of(record: RegisterBrokerRecord) -> "RegisteredBroker":
        return RegisteredBroker(
            broker_id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            endpoints=_endpoints_of(record.end_points),
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            features=_levels_of(record.features),
            log_dirs=tuple(record.log_dirs),
            cordoned_log_dirs=_or_none(record.cordoned_log_dirs),
            is_migrating_zk_broker=record.is_migrating_zk_broker,
        )

    def changed(self, change: BrokerRegistrationChangeRecord) -> "RegisteredBroker":
        """In a change, 0 leaves a flag as it is, 1 sets it and -1 clears it."""
        shutdown = change.in_controlled_shutdown
        return msgspec.structs.replace(
            self,
            fenced=self.fenced if change.fenced == 0 else change.fenced > 0,
            in_controlled_shutdown=self.in_controlled_shutdown if shutdown == 0 else shutdown > 0,
            log_dirs=tuple(change.log_dirs) or self.log_dirs,
            cordoned_log_dirs=self.cordoned_log_dirs
            if change.cordoned_log_dirs is None
            else tuple(change.cordoned_log_dirs),
        )


class RegisteredController(msgspec.Struct, frozen=True, kw_only=True):
    """A controller's latest registration (KIP-919)."""

    controller_id: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    features: Mapping[str, tuple[int, int]]
    zk_migration_ready: bool = False

    @staticmethod
    def of(record: RegisterControllerRecord) -> "RegisteredController":
        return RegisteredController(
            controller_id=record.controller_id,
            incarnation_id=record.incarnation_id,
            endpoints=_endpoints_of(record.end_points),
            features=_levels_of(record.features),
            zk_migration_ready=record.zk_migration_ready,
        )


def _endpoints_of(endpoints: Sequence[BrokerEndpoint | ControllerEndpoint]) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(
            name=each.name,
            host=each.host,
            port=each.port,
            security_protocol=_PROTOCOL_NAMES[each.security_protocol],
        )
        for each in endpoints
    )


def _levels_of(features: Sequence[BrokerFeature | ControllerFeature]) -> dict[str, tuple[int, int]]:
    return {each.name: (each.min_supported_version, each.max_supported_version) for each in features}


def _or_none(directories: Sequence[bytes] | None) -> tuple[bytes, ...] | None:
    return None if directories is None else tuple(directories)


class Features:
    """The feature levels of the whole cluster; `epoch` is the offset of the last change."""

    __slots__ = ("epoch", "finalized", "kraft_version", "supported")

    def __init__(self) -> None:
        self.epoch = -1
        self.kraft_version = KRAFT_LEVEL  # 0 in a cluster of Kafka whose voters are in its settings
        self.finalized: dict[str, int] = {}
        self.supported: Mapping[str, tuple[int, int]] = SUPPORTED_FEATURES

    @property
    def levels(self) -> dict[str, int]:
        """All enabled features, including the quorum's own."""
        if not self.kraft_version:
            return self.finalized
        return {**self.finalized, KRAFT_VERSION: self.kraft_version}

    @property
    def registered(self) -> Mapping[str, tuple[int, int]]:
        """The features that a node of this version registers."""
        return {**self.supported, **_MARK}

    @property
    def metadata_version(self) -> int:
        return self.finalized.get(METADATA_VERSION, 0)
