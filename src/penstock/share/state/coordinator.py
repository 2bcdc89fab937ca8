"""The share coordinator of a broker: the shell that gives the pure `ShareStateShard` its log and its clock.

A request is decided at once, on top of what was decided before it; what is then awaited is the log. Nothing is shown
that is not committed.

The log is not compacted, since updates add up: it is cut, from time to time, before the oldest snapshot that is the
last of its share partition. Those that nobody has written to for long get a new one, so that they hold nothing back.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from penstock.cluster.controller import Controller
from penstock.cluster.controller_access import CreateTopic
from penstock.cluster.coordination.change import Change
from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.cluster.coordination.partitions import CoordinatorPartitions
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.raft.errors import RaftError
from penstock.cluster.replicas import Replicas
from penstock.cluster.topic_names import SHARE_GROUP_STATE
from penstock.config.broker import BrokerConfig
from penstock.config.themes import coordinators
from penstock.observability.clock import Clock
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.errors import CorruptRecords
from penstock.share.state.keys import coordinator_key
from penstock.share.state.shard import Moment, ShareStateShard
from penstock.share.values import PersisterError, SharePartitionKey, ShareState, ShareSummary, StateBatch
from penstock.storage.log.errors import LogError

log = logging.getLogger(__name__)

T = TypeVar("T")

Shard = CoordinatorPartition[ShareStateShard]

_TURN = 100  # snapshots that are made before others get their turn


class ShareStateCoordinator:
    """Whoever asks for something gets it decided on the spot, or `PersisterError`; the awaitable waits for the log."""

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
            on_loaded=self._forget_deleted_topics,
            on_ended=lambda _: None,
            codec=Codec(config[coordinators.SHARE_COORDINATOR_STATE_TOPIC_COMPRESSION_CODEC]),
            write_timeout_ms=config[coordinators.SHARE_COORDINATOR_WRITE_TIMEOUT_MS],
        )
        self._upkeep: list[asyncio.Task[None]] = []
        self.prune_count = 0
        """How often the logs were looked over for what can go."""

    @property
    def config(self) -> BrokerConfig:
        return self._controller.config

    # -- life -----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load what is led here; requests are answered from now on."""
        self.shards.start()
        loop = asyncio.get_running_loop()
        self._upkeep = [
            loop.create_task(
                self._repeat(self._snapshot_interval_ms, self.snapshot_cold), name="cold share partitions"
            ),
            loop.create_task(self._repeat(self._prune_interval_ms, self.prune), name="share state pruning"),
        ]

    async def stop(self) -> None:
        for task in self._upkeep:
            task.cancel()
        await asyncio.gather(*self._upkeep, return_exceptions=True)
        await self.shards.stop()

    def apply(self, delta: MetadataDelta) -> None:
        """Follow one change of the metadata, after `Replicas` has."""
        self.shards.apply(delta)
        if delta.topics_deleted:
            for shard in self.shards:
                self._forget_deleted_topics(shard)

    def _forget_deleted_topics(self, shard: Shard) -> None:
        self._write_unattended(shard, shard.state.forget_deleted_topics(self._moment(shard)))

    def _partition_count_of(self, topic_id: bytes) -> int:
        topic = self._controller.image.topics_by_id.get(topic_id)
        return 0 if topic is None else len(topic.partitions)

    # -- where a share partition's state lives --------------------------------------------------------

    async def ensure_topic(self) -> None:
        """Make the topic if there is none; when that fails there still is none."""
        if self.shards.partition_count == 0:
            try:
                await self._create_topic(SHARE_GROUP_STATE)
            except (LogError, RaftError) as error:
                log.warning("%s could not be made: %s", SHARE_GROUP_STATE, error)

    async def ready_home(self, key: SharePartitionKey) -> bool:
        """See to it that the topic exists; whether the key's partition is led and loaded here, then."""
        await self.ensure_topic()
        return await self.shards.until_ready(coordinator_key(key))

    def leader_of(self, key: SharePartitionKey) -> int:
        """The broker that keeps the state of a share partition, -1 when there is none now."""
        return self.shards.leader_of(coordinator_key(key))

    def _shard_of(self, key: SharePartitionKey) -> Shard:
        shard = self.shards.find(coordinator_key(key))
        if isinstance(shard, ErrorCode):
            raise PersisterError(shard)
        return shard

    # -- what is asked --------------------------------------------------------------------------------

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Awaitable[None]:
        shard = self._shard_of(key)
        change = shard.state.initialize(key, state_epoch, start_offset, self._moment(shard))
        return self._written(shard, change, None)

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Awaitable[ShareState]:
        shard = self._shard_of(key)
        state, change = shard.state.read(key, leader_epoch, self._moment(shard))
        return self._written(shard, change, state)

    def write(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
    ) -> Awaitable[None]:
        shard = self._shard_of(key)
        change = shard.state.write(
            key,
            state_epoch=state_epoch,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=delivery_complete_count,
            batches=batches,
            moment=self._moment(shard),
        )
        return self._written(shard, change, None)

    def summary(self, key: SharePartitionKey) -> Awaitable[ShareSummary]:
        shard = self._shard_of(key)
        return self._written(shard, None, shard.state.summary(key))

    def delete(self, key: SharePartitionKey) -> Awaitable[None]:
        shard = self._shard_of(key)
        return self._written(shard, shard.state.delete(key, self._moment(shard)), None)

    # -- writing --------------------------------------------------------------------------------------

    def _moment(self, shard: Shard) -> Moment:
        return Moment(self._clock.now_ms(), shard.replica.log.log_end_offset, shard.payload_bytes_max)

    @staticmethod
    def _written(shard: Shard, change: Change | None, result: T) -> Awaitable[T]:
        """Write, and give the result once that is committed; without a change, once all it rests on is."""
        if change is None:
            return _after(shard.settled(), result)
        try:
            return _after(shard.submit(change), result)
        except CoordinatorError as error:
            raise PersisterError(error.code, error.message or "") from error

    @staticmethod
    def _write_unattended(shard: Shard, change: Change) -> None:
        """Write what nobody waits for. What is refused is not changed.

        Nothing is written while too few replicas are in sync: a write that fails has the shard loaded again, which ends
        in the same write. `prune` tries again.
        """
        if change.records:
            with contextlib.suppress(CoordinatorError):
                shard.require_in_sync()
                shard.submit(change)

    # -- what nobody asks for -------------------------------------------------------------------------

    def _snapshot_interval_ms(self) -> int:
        return self.config[coordinators.SHARE_COORDINATOR_COLD_PARTITION_SNAPSHOT_INTERVAL_MS]

    def _prune_interval_ms(self) -> int:
        return self.config[coordinators.SHARE_COORDINATOR_STATE_TOPIC_PRUNE_INTERVAL_MS]

    async def _repeat(self, interval_ms: Callable[[], int], duty: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._clock.sleep(interval_ms())
            try:
                await duty()
            except Exception:
                log.exception("it is tried again in %d ms", interval_ms())

    async def snapshot_cold(self) -> None:
        """Write a new snapshot of every share partition whose last one is old."""
        for shard in self.shards:
            cold = shard.state.cold(self._clock.now_ms(), self._snapshot_interval_ms())
            for number, key in enumerate(cold, start=1):
                if not shard.is_loaded:
                    break
                snapshot = shard.state.snapshot(key, self._moment(shard))
                if snapshot is not None:
                    self._write_unattended(shard, snapshot)
                if number % _TURN == 0:
                    await asyncio.sleep(0)

    async def prune(self) -> None:
        """Forget the topics that are gone, and cut the logs before what is needed of them."""
        for shard in self.shards:
            self._forget_deleted_topics(shard)
            try:
                await self._prune(shard)
            except (PersisterError, LogError, CorruptRecords) as error:
                log.warning("%s-%d could not be cut: %s", SHARE_GROUP_STATE, shard.number, error)
        self.prune_count += 1

    async def _prune(self, shard: Shard) -> None:
        kept = shard.replica.log
        end_offset = kept.log_end_offset
        needed_from = shard.state.needed_from(end_offset)
        await _after(shard.settled(), None)  # a snapshot that is not committed makes nothing redundant
        if needed_from < end_offset:
            # Whole batches: a follower whose log ends within one could not go on behind the cut.
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
