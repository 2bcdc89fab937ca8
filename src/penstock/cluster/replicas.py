"""The partitions this broker holds, kept in step with the metadata image."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Collection, Iterable, Iterator

from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.cluster.metadata.mirrors import MIRRORED_TOPIC
from penstock.cluster.metadata.state import Partition, Topic
from penstock.cluster.metadata.topic_names import CLUSTER_METADATA
from penstock.cluster.replica import Replica
from penstock.cluster.replica_deps import ReplicaDeps
from penstock.cluster.replica_errors import NotLeader, PartitionGone
from penstock.cluster.throttle import MeanRate, ReplicationThrottle
from penstock.config.broker import BrokerConfig
from penstock.config.overrides import topic_config
from penstock.config.settings import replication
from penstock.config.topic import TopicConfig
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import Clock
from penstock.runtime.observers import Observers
from penstock.runtime.offload import InlineOffload, Offload
from penstock.storage.damage.checkpoint import Damages
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.directory.disk_space import DiskSpace
from penstock.storage.directory.usage import DirectoryUsage
from penstock.storage.errors import LogError, StorageError
from penstock.storage.flusher import Flusher
from penstock.storage.journal.reading import PartitionId
from penstock.storage.store.log_store import LogStore

log = logging.getLogger(__name__)

_PARTITIONS_AT_ONCE = 8  # making one takes half a millisecond
_MS_AT_ONCE = 5.0  # or a hundred times that, where others keep the disk busy


class Replicas:
    """Finds replicas for handlers, and creates, changes and removes them as the metadata says."""

    def __init__(
        self,
        node_id: int,
        image: MetadataImage,
        store: LogStore,
        flusher: Flusher,
        config: BrokerConfig,
        *,
        clock: Clock,
        checks: Offload | None = None,
    ) -> None:
        self._node_id = node_id
        self._image = image
        self._store = store
        self._config = config
        self.in_sync_changes: Observers[Replica] = Observers()
        """Notified when a partition wants another in-sync set."""
        self.suspicions: Observers[Replica] = Observers()
        """Notified when a partition's log may be damaged."""
        self.disk_failures: Observers[Exception] = Observers()
        """Notified each time that an operation finds that the disk has failed."""
        self.deps = ReplicaDeps(
            node_id,
            clock,
            flusher,
            checks=checks or InlineOffload(),
            lag_ms_max=lambda: self._config[replication.REPLICA_LAG_TIME_MAX_MS],
            may_join=self._may_join,
            on_in_sync_change=self.in_sync_changes.notify,
            on_suspicion=self.suspicions.notify,
            on_disk_failure=self.disk_failures.notify,
        )
        self.leader_throttle = ReplicationThrottle(
            node_id,
            _rate(config),
            clock,
            bytes_per_second_max=lambda: self._config[replication.LEADER_REPLICATION_THROTTLED_RATE],
            listed=lambda topic: topic.leader_replication_throttled_replicas,
        )
        self.follower_throttle = ReplicationThrottle(
            node_id,
            _rate(config),
            clock,
            bytes_per_second_max=lambda: self._config[replication.FOLLOWER_REPLICATION_THROTTLED_RATE],
            listed=lambda topic: topic.follower_replication_throttled_replicas,
        )
        self._configs: dict[str, TopicConfig] = {}  # one for all partitions of a topic
        self._by_name: dict[str, dict[int, Replica]] = {}
        self._by_id: dict[bytes, dict[int, Replica]] = {}
        self._refusals: dict[Replica, str] = {}  # why their logs could not be opened the last time

    def __iter__(self) -> Iterator[Replica]:
        for partitions in self._by_name.values():
            yield from partitions.values()

    @property
    def directory(self) -> str:
        return self._store.directory

    @property
    def disk(self) -> DiskSpace:
        return self.deps.disk

    @property
    def damage(self) -> Damages:
        """The damaged records in the logs of this broker. They are not served."""
        return self._store.damage

    async def measure(self, replicas: Iterable[Replica]) -> DirectoryUsage:
        """The size of the data directory, and how much of it these replicas take. Raises `OSError`."""
        return await self._store.measure(PartitionName(r.topic, r.partition) for r in replicas)

    def get(self, topic: str, partition: int) -> Replica | None:
        return self._by_name.get(topic, {}).get(partition)

    def leader_of(self, topic: str, partition: int, *, or_follower: bool = False) -> Replica | ErrorCode:
        """The replica here that leads this partition, its log open, or the error for the client.

        `or_follower`: the caller may read from any replica.
        """
        partitions = self._by_name.get(topic)
        replica = partitions.get(partition) if partitions is not None else None
        if replica is None:
            return self._missing_reason(
                self._image.topic(topic), partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
        if replica.is_leader and replica.is_open:
            return replica
        return self._leading(replica, or_follower=or_follower)

    def leader_by_id(
        self, topic_id: bytes, partition: int, *, or_follower: bool = False
    ) -> Replica | ErrorCode:
        """Like `leader_of`, for a topic named by its id (KIP-516)."""
        partitions = self._by_id.get(topic_id)
        replica = partitions.get(partition) if partitions is not None else None
        if replica is None:
            return self._missing_reason(
                self._image.topic_by_id(topic_id), partition, ErrorCode.UNKNOWN_TOPIC_ID
            )
        if replica.is_leader and replica.is_open:
            return replica
        return self._leading(replica, or_follower=or_follower)

    def _leading(self, replica: Replica, *, or_follower: bool) -> Replica | ErrorCode:
        if not (replica.is_leader or or_follower):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return replica if replica.is_open or self._open(replica) else ErrorCode.KAFKA_STORAGE_ERROR

    def _open(self, replica: Replica) -> bool:
        """Open the log; False if that fails."""
        try:
            _ = replica.log
        except (LogError, OSError) as error:
            self._note_refusal(replica, error)
            self.deps.on_storage_error(error)
            return False
        if self._refusals.pop(replica, None) is not None:
            log.info("Partition %s-%d is online again", replica.topic, replica.partition)
        return True

    def _note_refusal(self, replica: Replica, error: Exception) -> None:
        """Log each reason once: clients retry."""
        reason = str(error)
        if self._refusals.get(replica) != reason:
            self._refusals[replica] = reason
            log.error("Partition %s-%d is offline: %s", replica.topic, replica.partition, reason)

    @staticmethod
    def _missing_reason(topic: Topic | None, partition: int, unknown: ErrorCode) -> ErrorCode:
        if topic is None:
            return unknown
        is_known = partition in topic.partitions
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    async def apply(self, delta: MetadataDelta, config: BrokerConfig) -> None:
        """Apply one change of the metadata. `config` has the broker's settings after it."""
        if config is not self._config:  # a topic inherits the settings that it does not set itself
            self._config = config
            for name in self._by_name:
                self._reconfigure(name)
        for topic in delta.topics_deleted.values():
            await self._remove(topic)
        for kind, name in delta.configs_changed:
            if kind == MIRRORED_TOPIC:  # before the leader epoch that begins with it
                for replica in self._by_name.get(name, {}).values():
                    self._set_mirrored(replica)
        made = []
        for change in delta.partitions.values():
            if self._node_id in change.after.replicas:
                is_new = self.get(change.topic.name, change.partition) is None
                self._hold(change.topic, change.partition, change.after)
                if is_new:
                    made.append(self._by_name[change.topic.name][change.partition])
            elif self.get(change.topic.name, change.partition) is not None:
                await self._drop(change.topic, change.partition)
        for kind, name in delta.configs_changed:
            if kind == ResourceType.TOPIC:
                self._reconfigure(name)
        pace = _Pacer(self.deps.clock)
        for replica in made:
            self._open(replica)
            await pace.yield_if_due()

    def load(self, config: BrokerConfig) -> None:
        """Create the replicas that the image assigns to this broker; called once, before the first `apply`.

        After a clean stop logs are opened on first use; otherwise `recover` must come before any use.
        """
        self._config = config
        for topic in self._image.topics.values():
            for number, partition in topic.partitions.items():
                if self._node_id in partition.replicas:
                    self._hold(topic, number, partition)
        for name in sorted(self._store.partitions):
            if name.topic != CLUSTER_METADATA and self.get(name.topic, name.partition) is None:
                self._store.rename_as_stray(name)

    async def recover(self) -> set[PartitionId]:
        """Open the logs that may have lost records since the last stop, and sync them concurrently.

        After a clean stop these are the logs that have changed since; otherwise see `_recover_suspects`. Returns those
        that could not be opened, for `LogStore.recovered`.
        """
        failed: set[PartitionId] = set()
        changed = await self._store.find_changed()
        if self._store.was_clean:
            for replica in self:
                if PartitionName(replica.topic, replica.partition) in changed:
                    self._open(replica)
        else:
            failed = await self._recover_suspects(changed)
        self._store.end_comparison()
        return failed

    async def _recover_suspects(self, changed: Collection[PartitionName]) -> set[PartitionId]:
        """Open the logs that an unclean shutdown may have left incomplete.

        These are the logs named in the journal, logs of topics that waive syncs, and replicated logs: missing
        records must be known before a replica leads. The others are recovered on first use.
        """
        suspects = self._store.suspects
        replicas = [
            each
            for each in self
            if suspects is None
            or _id_of(each) in suspects
            or each.is_replicated
            or PartitionName(each.topic, each.partition) in changed
            or self.topic_config(each.topic).flush_messages != 1
        ]
        if not replicas:
            return set()
        log.info("Recovering %d partitions after an unclean shutdown", len(replicas))
        clock = self.deps.clock
        began_ms = clock.monotonic_ms()
        opened: list[Replica] = []
        pace = _Pacer(clock)
        for replica in replicas:
            with self._store.deferred_syncs():
                if self._open(replica):
                    opened.append(replica)
            await pace.yield_if_due()
        await self._store.sync_opened()
        syncs = [self.deps.flusher.sync(each.log) for each in opened if each.log.has_unsynced]
        if syncs:
            await asyncio.wait(syncs)  # unlike `gather` it does not cancel the syncs
        for replica in opened:
            replica.recovered()  # or its log has failed, and has logged that
        duration_s = (clock.monotonic_ms() - began_ms) / 1000
        log.info("Recovered %d partitions in %.1f s after an unclean shutdown", len(replicas), duration_s)
        return {_id_of(each) for each in replicas if not each.is_open}

    async def delete_records(self, replica: Replica, offset: int) -> None:
        """Move the start of a log forward, durably. Raises `LogError`."""
        replica.log.advance_log_start(offset)
        if not await self._store.save_offsets():
            raise StorageError(f"the start of {replica.topic}-{replica.partition} could not be saved")

    def topic_config(self, topic: str) -> TopicConfig:
        config = self._configs.get(topic)
        if config is None:
            config = self._configs[topic] = topic_config(self._config, self._image.topic_settings(topic))
        return config

    def _hold(self, topic: Topic, number: int, partition: Partition) -> None:
        partitions = self._by_name.get(topic.name)
        if partitions is None:
            partitions = self._by_name[topic.name] = self._by_id[topic.topic_id] = {}
        replica = partitions.get(number)
        if replica is None:
            replica = partitions[number] = Replica(
                topic.name,
                topic.topic_id,
                number,
                lambda: self._store.open_or_create(
                    topic.name, topic.topic_id, number, self.topic_config(topic.name)
                ),
                self.deps,
                saved_high_watermark=self._store.high_watermark(topic.name, number),
            )
            self._set_mirrored(replica)
        replica.follow(partition)

    def _set_mirrored(self, replica: Replica) -> None:
        mirrored = self._image.mirrored_topic(replica.topic)
        if mirrored is not None:
            replica.set_mirrored(is_read_only=mirrored.is_read_only, promoted_epoch=mirrored.promoted_epoch)

    def _may_join(self, broker_id: int, epoch: int) -> bool:
        broker = self._image.brokers.get(broker_id)
        return broker is not None and broker.may_lead and epoch in (-1, broker.epoch)

    async def _remove(self, topic: Topic) -> None:
        self._by_id.pop(topic.topic_id, None)
        self._configs.pop(topic.name, None)
        removed = self._by_name.pop(topic.name, {})
        for replica in removed.values():
            replica.close(PartitionGone(f"topic {topic.name} was deleted"))
            self._refusals.pop(replica, None)
        pace = _Pacer(self.deps.clock)
        for number in removed:
            await pace.yield_if_due()
            async with self._removing(topic.name, number):
                self._store.delete(topic.name, topic.topic_id, number)

    async def _drop(self, topic: Topic, number: int) -> None:
        """Remove a replica that has moved to other brokers."""
        replica = self._by_name[topic.name].pop(number)
        replica.close(NotLeader(f"{topic.name}-{number} has moved to other brokers"))
        self._refusals.pop(replica, None)
        async with self._removing(topic.name, number):
            await self._store.drop(topic.name, topic.topic_id, number)

    @contextlib.asynccontextmanager
    async def _removing(self, topic: str, number: int) -> AsyncIterator[None]:
        async with self._store.passes.paused(topic, number):
            try:
                yield
            except (LogError, OSError):
                log.exception(
                    "Cannot remove %s-%d: delete its directory when the broker is stopped", topic, number
                )

    def _reconfigure(self, topic: str) -> None:
        self._configs.pop(topic, None)
        partitions = self._by_name.get(topic)
        if partitions:
            config = self.topic_config(topic)
            for replica in partitions.values():
                replica.configure(config)


def _rate(config: BrokerConfig) -> MeanRate:
    return MeanRate(
        config[replication.REPLICATION_QUOTA_WINDOW_NUM],
        config[replication.REPLICATION_QUOTA_WINDOW_SIZE_SECONDS] * 1000,
    )


def _id_of(replica: Replica) -> PartitionId:
    return PartitionId(replica.topic_id, replica.partition)


class _Pacer:
    """Lets the event loop run other tasks while the files of thousands of partitions are created.

    The metadata quorum is among them: it considers a node dead that is silent for a second.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since_ms = clock.monotonic_ms()
        self._count = 0

    async def yield_if_due(self) -> None:
        """Call this after each partition."""
        self._count += 1
        if self._count >= _PARTITIONS_AT_ONCE or self._clock.monotonic_ms() - self._since_ms >= _MS_AT_ONCE:
            await asyncio.sleep(0)
            self._count = 0
            self._since_ms = self._clock.monotonic_ms()
