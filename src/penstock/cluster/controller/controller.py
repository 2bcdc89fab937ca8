"""Changes of cluster metadata, one at a time: decide, append, apply, answer."""

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from penstock.cluster.controller.acls import (
    AclCreated,
    AclsDeleted,
    decide_create_acls,
    decide_delete_acls,
)
from penstock.cluster.controller.alter_configs import (
    ConfigsAltered,
    ResourceChanges,
    decide_alter_configs,
    decide_incremental_alter_configs,
)
from penstock.cluster.controller.alter_partition import (
    InSyncChange,
    InSyncChanged,
    decide_alter_partitions,
)
from penstock.cluster.controller.broker_health import (
    decide_controlled_shutdown,
    decide_cordon,
    decide_disk_failure,
    decide_fence,
    decide_retirement,
    decide_unfence,
    decide_unregister,
)
from penstock.cluster.controller.brokers import (
    BrokerRegistration,
    ProducerIdBlock,
    check_broker_epoch,
    decide_amend_registration,
    decide_producer_id_block,
    decide_register_broker,
)
from penstock.cluster.controller.client_quotas import QuotaChange, QuotasAltered, decide_alter_quotas
from penstock.cluster.controller.controllers import ControllerRegistration, decide_register_controller
from penstock.cluster.controller.create_partitions import (
    NewPartitions,
    PartitionsCreated,
    decide_create_partitions,
)
from penstock.cluster.controller.create_topics import NewTopic, TopicCreated, decide_create_topics
from penstock.cluster.controller.decision import Charge, Decision, NotController, no_charge
from penstock.cluster.controller.delete_topics import TopicDeleted, TopicToDelete, decide_delete_topics
from penstock.cluster.controller.directories import (
    DirectoryAssigned,
    DirectoryAssignment,
    decide_directories,
)
from penstock.cluster.controller.elect_leaders import Elected, decide_elect_leaders, decide_rebalance
from penstock.cluster.controller.features import (
    FeaturesUpdated,
    FeatureUpdate,
    decide_bootstrap,
    decide_update_features,
)
from penstock.cluster.controller.internal_topics import auto_created_topic
from penstock.cluster.controller.partition_change import Election
from penstock.cluster.controller.reassignments import Move, Moved, decide_reassignments
from penstock.cluster.controller.scram_credentials import (
    CredentialAltered,
    Deletion,
    NewUser,
    Upsertion,
    decide_alter_credentials,
    decide_first_users,
)
from penstock.cluster.controller.settings_review import decide_settings_review
from penstock.cluster.metadata.applied import Subscriber
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.cluster.metadata.log import MetadataLog
from penstock.config.broker import BrokerConfig
from penstock.config.live import LiveConfig
from penstock.config.overrides import topic_config
from penstock.config.property import ConfigError
from penstock.config.topic import TopicConfig
from penstock.protocol.messages.metadata_records import AbortTransactionRecord
from penstock.security.acl import AccessControlEntry, AclFilter

log = logging.getLogger(__name__)

R = TypeVar("R")
MirrorDecision = Callable[[MetadataImage, BrokerConfig, random.Random], Decision[R]]


class Controller:
    """`image` is the state of the cluster, `config` the current settings of this broker."""

    def __init__(self, log: MetadataLog, settings: LiveConfig, randomness: random.Random) -> None:
        self._log = log
        self._settings = settings
        self._randomness = randomness
        self._lock = asyncio.Lock()
        self._running: set[asyncio.Task[object]] = set()
        log.subscribe(self._follow_settings)

    @property
    def config(self) -> BrokerConfig:
        return self._settings.current

    @property
    def controller_id(self) -> int:
        """The node id of the active controller, -1 for none."""
        leader_id = self._log.sink.leader_id
        return -1 if leader_id is None else leader_id

    @property
    def is_active(self) -> bool:
        """Whether this node leads the quorum: it decides when it has applied all that was committed before."""
        return self._log.sink.leader_id == self.config.node_id

    @property
    def image(self) -> MetadataImage:
        return self._log.image

    def subscribe(self, subscriber: Subscriber) -> None:
        """Notify of every change of the image."""
        self._log.subscribe(subscriber)

    def topic_config(self, name: str) -> TopicConfig:
        """The effective settings of a topic."""
        return topic_config(self.config, self.image.topic_settings(name))

    async def bootstrap(
        self, levels: Mapping[str, int] | None = None, *, users: Sequence[NewUser] = ()
    ) -> None:
        """Write the first records of a new cluster, and its first users.

        Raises `MetadataError` when it is from a version that works differently.
        """
        is_new = not self.image.features.finalized
        await self._mutate(lambda: decide_bootstrap(self.image, self.config, levels))
        if users and is_new:
            await self._mutate(lambda: decide_first_users(self.image, users, self._randomness))

    async def review_settings(self) -> None:
        """Apply the settings in the file of this node, which has become the active controller."""
        await self._mutate(lambda: decide_settings_review(self.image, self.config))

    async def register_broker(self, broker: BrokerRegistration, *, fenced: bool) -> int:
        return await self._mutate(lambda: self._decide_register(broker, fenced))

    def _decide_register(self, broker: BrokerRegistration, fenced: bool) -> Decision[int]:
        known = self.image.brokers.get(broker.broker_id)
        if known is not None and known.incarnation_id == broker.incarnation_id:
            return decide_amend_registration(self.image, broker, known)
        return decide_register_broker(
            self.image, self.config, broker, epoch=self._log.sink.next_offset, fenced=fenced
        )

    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False, charge: Charge = no_charge
    ) -> list[TopicCreated]:
        return await self._mutate(
            lambda: decide_create_topics(self.image, self.config, topics, self._randomness, charge),
            validate_only=validate_only,
        )

    async def auto_create_topic(self, name: str) -> TopicCreated:
        """Create a topic on first use; TOPIC_ALREADY_EXISTS when another request was first."""
        created = await self.create_topics([auto_created_topic(self.image, self.config, name)])
        return created[0]

    async def delete_topics(
        self, topics: Sequence[TopicToDelete], *, charge: Charge = no_charge
    ) -> list[TopicDeleted]:
        return await self._mutate(lambda: decide_delete_topics(self.image, self.config, topics, charge))

    async def create_partitions(
        self, topics: Sequence[NewPartitions], *, validate_only: bool = False, charge: Charge = no_charge
    ) -> list[PartitionsCreated]:
        return await self._mutate(
            lambda: decide_create_partitions(self.image, topics, self._randomness, charge),
            validate_only=validate_only,
        )

    async def incremental_alter_configs(
        self, resources: Sequence[ResourceChanges], *, validate_only: bool = False
    ) -> list[ConfigsAltered]:
        return await self._mutate(
            lambda: decide_incremental_alter_configs(self.image, self.config, resources),
            validate_only=validate_only,
        )

    async def alter_configs(
        self, resources: Sequence[ResourceChanges], *, validate_only: bool = False
    ) -> list[ConfigsAltered]:
        return await self._mutate(
            lambda: decide_alter_configs(self.image, self.config, resources),
            validate_only=validate_only,
        )

    async def update_features(
        self, updates: Sequence[FeatureUpdate], *, validate_only: bool = False
    ) -> FeaturesUpdated:
        return await self._mutate(
            lambda: decide_update_features(self.image, self.config, updates, self._log.sink.voter_ids),
            validate_only=validate_only,
        )

    async def alter_quotas(
        self, changes: Sequence[QuotaChange], *, validate_only: bool = False
    ) -> list[QuotasAltered]:
        return await self._mutate(
            lambda: decide_alter_quotas(self.image, changes), validate_only=validate_only
        )

    async def alter_scram_credentials(
        self, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]
    ) -> list[CredentialAltered]:
        return await self._mutate(
            lambda: decide_alter_credentials(self.image, deletions, upsertions, self._randomness)
        )

    async def create_acls(self, entries: Sequence[AccessControlEntry]) -> list[AclCreated]:
        return await self._mutate(lambda: decide_create_acls(self.image, entries, self._randomness))

    async def delete_acls(self, filters: Sequence[AclFilter]) -> list[AclsDeleted]:
        return await self._mutate(lambda: decide_delete_acls(self.image, filters))

    async def elect_leaders(
        self, wanted: Sequence[tuple[str, int]] | None, election: Election
    ) -> list[Elected]:
        return await self._mutate(lambda: decide_elect_leaders(self.image, self.config, wanted, election))

    async def rebalance_leaders(self, tolerated_percent: int) -> int:
        """Elect preferred leaders; returns how many."""
        return await self._mutate(lambda: decide_rebalance(self.image, self.config, tolerated_percent))

    async def reassign(self, moves: Sequence[Move], *, may_change_factor: bool) -> list[Moved]:
        return await self._mutate(
            lambda: decide_reassignments(self.image, self.config, moves, may_change_factor=may_change_factor)
        )

    async def alter_partitions(
        self, broker_id: int, broker_epoch: int, changes: Sequence[InSyncChange]
    ) -> list[InSyncChanged]:
        """Change in-sync sets as their leader requests. Raises `Refusal` for a stale broker epoch."""
        return await self._mutate(
            lambda: decide_alter_partitions(self.image, self.config, broker_id, broker_epoch, changes)
        )

    async def change_mirror(self, decide: MirrorDecision[R]) -> R:
        """Decide for the worker of a mirror, which runs beside the active controller. Raises `Refusal`."""
        return await self._mutate(lambda: decide(self.image, self.config, self._randomness))

    async def fence_broker(self, broker_id: int, broker_epoch: int) -> None:
        await self._mutate_broker(
            broker_id, broker_epoch, lambda: decide_fence(self.image, self.config, broker_id)
        )

    async def retire_broker(self, broker_id: int) -> None:
        """Fence the only broker, which stops."""
        await self._mutate(lambda: decide_retirement(self.image, broker_id))

    async def unfence_broker(self, broker_id: int, broker_epoch: int) -> None:
        await self._mutate_broker(
            broker_id, broker_epoch, lambda: decide_unfence(self.image, self.config, broker_id)
        )

    async def take_disk_offline(
        self, broker_id: int, broker_epoch: int, offline_log_dirs: Collection[bytes]
    ) -> None:
        """Move leaderships away from a broker with a failed disk."""
        await self._mutate_broker(
            broker_id,
            broker_epoch,
            lambda: decide_disk_failure(self.image, self.config, broker_id, offline_log_dirs),
        )

    async def cordon_directories(
        self, broker_id: int, broker_epoch: int, cordoned_log_dirs: Collection[bytes]
    ) -> None:
        await self._mutate_broker(
            broker_id, broker_epoch, lambda: decide_cordon(self.image, broker_id, cordoned_log_dirs)
        )

    async def drain_broker(self, broker_id: int, broker_epoch: int) -> None:
        """Hand over a broker's leaderships where another replica can lead."""
        await self._mutate_broker(
            broker_id, broker_epoch, lambda: decide_controlled_shutdown(self.image, self.config, broker_id)
        )

    async def _mutate_broker(
        self, broker_id: int, broker_epoch: int, decide: Callable[[], Decision[None]]
    ) -> None:
        """Decide about a broker. Raises `Refusal` for a stale broker epoch."""

        def decide_in_epoch() -> Decision[None]:
            check_broker_epoch(self.image, broker_id, broker_epoch)
            return decide()

        await self._mutate(decide_in_epoch)

    async def register_controller(self, controller: ControllerRegistration) -> None:
        await self._mutate(lambda: decide_register_controller(self.image, controller))

    async def assign_directories(
        self, broker_id: int, broker_epoch: int, assignments: Sequence[DirectoryAssignment]
    ) -> list[DirectoryAssigned]:
        """Note which directories hold a broker's replicas. Raises `Refusal` for a stale broker epoch."""
        return await self._mutate(
            lambda: decide_directories(self.image, self.config, broker_id, broker_epoch, assignments)
        )

    async def unregister_broker(self, broker_id: int) -> None:
        """Raises `Refusal` when no such broker is registered."""
        await self._mutate(lambda: decide_unregister(self.image, self.config, broker_id))

    async def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> ProducerIdBlock:
        """Allocate the next producer ids. Raises `Refusal` for a stale broker epoch."""
        return await self._mutate(lambda: decide_producer_id_block(self.image, broker_id, broker_epoch))

    async def _mutate(self, decide: Callable[[], Decision[R]], *, validate_only: bool = False) -> R:
        """Finish even if the caller is cancelled: records in the log must also get into the image."""
        task = asyncio.ensure_future(self._run(decide, validate_only))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _run(self, decide: Callable[[], Decision[R]], validate_only: bool) -> R:
        async with self._lock:
            if not self._log.sink.is_active:  # this node's image may be out of date
                raise NotController("this node is not the active controller")
            if self.image.open_transaction is not None:  # of a Kafka controller that has failed
                await self._log.append([AbortTransactionRecord(reason="The controller has changed.")])
            records, result = decide()
            if records and not validate_only:
                await self._log.append(records)
            return result

    def _follow_settings(self, delta: MetadataDelta) -> None:
        node_id = self.config.node_id
        ours = {(ResourceType.BROKER, ""), (ResourceType.BROKER, str(node_id))}
        if ours.isdisjoint(delta.configs_changed):
            return
        try:
            self._settings.current = self.config.with_dynamic(
                cluster_wide=self.image.cluster_settings(), per_broker=self.image.broker_settings(node_id)
            )
        except (
            ConfigError
        ) as error:  # in combination with this broker's file, which the controller does not know
            log.error(  # noqa: TRY400
                "Kept the previous dynamic settings of this broker: %s. broker=%d", error, node_id
            )
