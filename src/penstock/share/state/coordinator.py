"""The share coordinator of a broker. It provides the `ShareStateShard`, which does no I/O, with its log and clock.

It decides a request at once, based on earlier decisions, and then waits for the log: clients see nothing that is
not committed.

The log is not compacted, because updates depend on each other. Records before the oldest of the last snapshots of all
share partitions are deleted at intervals. Cold share partitions get a new snapshot, so that they do not prevent that.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable
from typing import TypeVar

from penstock.cluster.controller import Controller
from penstock.cluster.controller_access import CreateTopic
from penstock.cluster.coordination.change import Change
from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.cluster.coordination.partitions import CoordinatorPartitions
from penstock.cluster.coordination.periodic import PeriodicTasks
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.topic_names import SHARE_GROUP_STATE
from penstock.cluster.raft.errors import RaftError
from penstock.cluster.replicas import Replicas
from penstock.config.broker import BrokerConfig
from penstock.config.settings import coordinators
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.errors import CorruptRecords
from penstock.runtime.clock import Clock
from penstock.share.state.keys import coordinator_key
from penstock.share.state.shard import ShareStateShard, WriteContext
from penstock.share.state.values import (
    PersisterError,
    SharePartitionKey,
    ShareState,
    ShareSummary,
    StateUpdate,
)
from penstock.storage.errors import LogError

log = logging.getLogger(__name__)

T = TypeVar("T")

Shard = CoordinatorPartition[ShareStateShard]

_SNAPSHOTS_PER_TURN = 100  # before other tasks run


class ShareStateCoordinator:
    """Requests are decided at once, or raise `PersisterError`; the awaitable waits for the log."""

    def __init__(
        self, controller: Controller, replicas: Replicas, clock: Clock, *, create_topic: CreateTopic
    ) -> None:
        config = controller.config
        self._controller = controller
        self._create_topic = create_topic
        self._replicas = replicas
        self._clock = clock
        self.shards: CoordinatorPartitions[ShareStateShard] = CoordinatorPartitions(
            SHARE_GROUP_STATE,
            config.node_id,
            controller.image,
            replicas,
            clock,
            make_state=lambda: ShareStateShard(
                self._partition_count_of,
                config[coordinators.SHARE_COORDINATOR_SNAPSHOT_UPDATE_RECORDS_PER_SNAPSHOT],
            ),
            on_loaded=self._delete_removed_topics,
            on_ended=lambda _: None,
            codec=Codec(config[coordinators.SHARE_COORDINATOR_STATE_TOPIC_COMPRESSION_CODEC]),
            write_timeout_ms=config[coordinators.SHARE_COORDINATOR_WRITE_TIMEOUT_MS],
        )
        self._maintenance = PeriodicTasks(clock)
        self.prune_count = 0
        """The number of times that the logs were pruned."""

    @property
    def config(self) -> BrokerConfig:
        return self._controller.config

    # -- lifecycle ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load the partitions that this broker leads, and begin to answer requests."""
        self.shards.start()
        prune_interval = coordinators.SHARE_COORDINATOR_STATE_TOPIC_PRUNE_INTERVAL_MS
        self._maintenance.start("cold share partitions", self._snapshot_interval_ms, self.snapshot_cold)
        self._maintenance.start("share state pruning", lambda: self.config[prune_interval], self.prune)

    async def stop(self) -> None:
        await self._maintenance.stop()
        await self.shards.stop()

    def apply(self, delta: MetadataDelta) -> None:
        """Apply a change of the metadata, after `Replicas` has."""
        self.shards.apply(delta)
        if delta.topics_deleted:
            for shard in self.shards:
                self._delete_removed_topics(shard)

    def _delete_removed_topics(self, shard: Shard) -> None:
        self._write_in_background(shard, shard.state.delete_removed_topics(self._write_context(shard)))

    def _partition_count_of(self, topic_id: bytes) -> int:
        topic = self._controller.image.topics_by_id.get(topic_id)
        return 0 if topic is None else len(topic.partitions)

    # -- placement ------------------------------------------------------------------------------------

    async def ensure_topic(self) -> None:
        """Create the topic if it is missing. Logs a failure."""
        if self.shards.partition_count == 0:
            try:
                await self._create_topic(SHARE_GROUP_STATE)
            except (LogError, RaftError) as error:
                log.warning("Cannot create a topic: %s. topic=%s", error, SHARE_GROUP_STATE)

    async def ensure_ready(self, key: SharePartitionKey) -> bool:
        """Create the topic if it is missing. Return whether this broker has loaded the key's partition."""
        await self.ensure_topic()
        return await self.shards.wait_until_ready(coordinator_key(key))

    def leader_of(self, key: SharePartitionKey) -> int:
        """Return the broker that coordinates a share partition, -1 when there is none."""
        return self.shards.leader_of(coordinator_key(key))

    def _shard_of(self, key: SharePartitionKey) -> Shard:
        shard = self.shards.find(coordinator_key(key))
        if isinstance(shard, ErrorCode):
            raise PersisterError(shard)
        return shard

    # -- requests -------------------------------------------------------------------------------------

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Awaitable[None]:
        shard = self._shard_of(key)
        change = shard.state.initialize(key, state_epoch, start_offset, self._write_context(shard))
        return self._written(shard, change, None)

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Awaitable[ShareState]:
        shard = self._shard_of(key)
        state, change = shard.state.read(key, leader_epoch, self._write_context(shard))
        return self._written(shard, change, state)

    def write(self, key: SharePartitionKey, update: StateUpdate) -> Awaitable[None]:
        shard = self._shard_of(key)
        return self._written(shard, shard.state.write(key, update, self._write_context(shard)), None)

    def summary(self, key: SharePartitionKey) -> Awaitable[ShareSummary]:
        shard = self._shard_of(key)
        return self._written(shard, None, shard.state.summary(key))

    def delete(self, key: SharePartitionKey) -> Awaitable[None]:
        shard = self._shard_of(key)
        return self._written(shard, shard.state.delete(key, self._write_context(shard)), None)

    # -- writing --------------------------------------------------------------------------------------

    def _write_context(self, shard: Shard) -> WriteContext:
        return WriteContext(self._clock.now_ms(), shard.replica.log.log_end_offset, shard.payload_bytes_max)

    @staticmethod
    def _written(shard: Shard, change: Change | None, result: T) -> Awaitable[T]:
        """Write, and return the result once that is committed; without a change, once the writes before are."""
        if change is None:
            return _after(shard.pending_commit(), result)
        try:
            return _after(shard.submit(change), result)
        except CoordinatorError as error:
            raise PersisterError(error.code, error.message or "") from error

    @staticmethod
    def _write_in_background(shard: Shard, change: Change) -> None:
        """Write a change that no client waits for. It is not made if the log refuses it.

        Nothing is written while too few replicas are in sync: a write that fails makes the shard load again, which
        ends in the same write. `prune` retries.
        """
        if change.records:
            with contextlib.suppress(CoordinatorError):
                shard.require_in_sync()
                shard.submit(change)

    # -- maintenance ----------------------------------------------------------------------------------

    def _snapshot_interval_ms(self) -> int:
        return self.config[coordinators.SHARE_COORDINATOR_COLD_PARTITION_SNAPSHOT_INTERVAL_MS]

    async def snapshot_cold(self) -> None:
        """Write a new snapshot of every cold share partition."""
        for shard in self.shards:
            cold = shard.state.cold(self._clock.now_ms(), self._snapshot_interval_ms())
            for number, key in enumerate(cold, start=1):
                if not shard.is_loaded:
                    break
                snapshot = shard.state.snapshot(key, self._write_context(shard))
                if snapshot is not None:
                    self._write_in_background(shard, snapshot)
                if number % _SNAPSHOTS_PER_TURN == 0:
                    await asyncio.sleep(0)

    async def prune(self) -> None:
        """Delete the state of removed topics, and truncate the logs before the first needed record."""
        for shard in self.shards:
            self._delete_removed_topics(shard)
            try:
                await self._prune(shard)
            except (PersisterError, LogError, CorruptRecords) as error:
                log.warning("Cannot prune %s-%d: %s", SHARE_GROUP_STATE, shard.number, error)
        self.prune_count += 1

    async def _prune(self, shard: Shard) -> None:
        kept = shard.replica.log
        end_offset = kept.log_end_offset
        needed_from = shard.state.needed_from(end_offset)
        await _after(shard.pending_commit(), None)  # records before an uncommitted snapshot are still needed
        if needed_from < end_offset:
            # Whole batches: a follower whose log ends within a batch could not continue after the cut.
            piece = await kept.read_cold(needed_from, 1, offset_limit=end_offset)
            needed_from = min(needed_from, *(header.base_offset for _, header in iter_batches(piece.records)))
        if shard.is_loaded and needed_from > kept.log_start_offset:
            await self._replicas.delete_records(shard.replica, needed_from)


async def _after(settled: Awaitable[None] | None, result: T) -> T:
    if settled is not None:
        try:
            await settled
        except CoordinatorError as error:
            raise PersisterError(error.code) from error
    return result
