"""Copies the partitions of one mirror that this broker leads, each from its leader at the source.

One task looks at the metadata of the source; another one keeps a fetcher for each broker of the source, as followers do
for the brokers of their own cluster.
"""

import asyncio
import logging
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

import msgspec

from penstock.client.aio import LATEST
from penstock.client.connector import Connector
from penstock.client.core.steps import Address
from penstock.client.metadata import NO_LEADER, TopicPartition
from penstock.client.mirrors import PartitionProgress
from penstock.cluster.fetching.fetcher import Fetcher, LeaderChannel
from penstock.cluster.fetching.fetchers import FetchSettings
from penstock.cluster.fetching.session import FetchSession, PartitionKey
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.mirrors import Mirror, MirroredTopic, MirrorState, TopicState
from penstock.cluster.replica import Replica
from penstock.cluster.replicas import Replicas
from penstock.mirror.mirrored_partition import MirroredPartition
from penstock.mirror.source import FAILURES, Source
from penstock.mirror.source_leader import SourceLeader, SourceName
from penstock.mirror.throttle import MirrorThrottle
from penstock.runtime.clock import Clock, sleep_or
from penstock.storage.errors import LogError
from penstock.storage.store.log_store import LogStore

log = logging.getLogger(__name__)

_TICK_MS: Final = 500
_REFRESH_MS: Final = 5_000
_RETRY_MS: Final = 500
_NO_ID: Final = bytes(16)
_CONSUMER: Final = -1


class CopyDeps(msgspec.Struct, frozen=True, eq=False):
    image: MetadataImage
    replicas: Replicas
    store: LogStore
    settings: FetchSettings
    network: Connector
    clock: Clock


class _Wanted(NamedTuple):
    replica: Replica
    mirrored: MirroredTopic


class _Running(NamedTuple):
    fetcher: Fetcher
    task: "asyncio.Task[None]"
    address: Address


class MirrorCopier:
    def __init__(self, mirror: Mirror, deps: CopyDeps) -> None:
        """`mirror` is as it is when this begins; a mirror with another source needs another copier."""
        self.name = mirror.name
        self._mirror = mirror
        self._deps = deps
        self._source: Source | None = None
        self._tracked: dict[PartitionKey, MirroredPartition] = {}
        self._leader_of: dict[PartitionKey, int] = {}
        self._fetchers: dict[int, _Running] = {}
        self._ended: set[asyncio.Task[None]] = set()
        self._wakeup, self._stale = asyncio.Event(), asyncio.Event()
        self.throttle = MirrorThrottle(lambda: self._mirror.bytes_per_second_max, deps.clock)
        self.error = ""
        """Why the source cannot be reached."""

    @property
    def partitions(self) -> Iterator[MirroredPartition]:
        """The partitions of this mirror that this broker leads."""
        return iter(list(self._tracked.values()))

    def wake(self) -> None:
        """The metadata has changed."""
        self._wakeup.set()

    async def run(self) -> None:
        """Until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow_source())
                tasks.create_task(self._copy())
        finally:
            for leader in list(self._fetchers):
                self._end(leader)
            await asyncio.gather(*self._ended, return_exceptions=True)
            if self._source is not None:
                await self._source.close()

    # -- the source -----------------------------------------------------------------------------------

    async def _follow_source(self) -> None:
        while True:
            wait_ms = _REFRESH_MS
            self._stale.clear()
            if self._mirror.is_copying and self._tracked:
                try:
                    await self._refresh()
                except FAILURES as error:
                    self._note_error(str(error) or type(error).__name__)
                    wait_ms = _RETRY_MS
                else:
                    self.error = ""
                self._wakeup.set()
            await self._deps.clock.sleep(_RETRY_MS)
            await sleep_or(self._deps.clock, wait_ms, self._stale)

    async def _refresh(self) -> None:
        if self._source is None:
            self._source = Source(self._mirror, self._deps.network, self._deps.clock)
        metadata = await self._source.refresh()
        if metadata.cluster_id not in (None, self._mirror.source_cluster):
            raise ConnectionError(
                f"{self._mirror.servers} is cluster {metadata.cluster_id} now, and was cluster "
                f"{self._mirror.source_cluster}: nothing is copied"
            )
        if self._mirror.state is MirrorState.PROMOTING:
            await self._set_targets(self._source)

    async def _set_targets(self, source: Source) -> None:
        """A promotion waits for the records that the source has now, and for the transactions that are open then."""
        without = {
            TopicPartition(each.replica.topic, each.replica.partition): each
            for each in self._tracked.values()
            if each.target is None
        }
        if without:
            found = await source.client.list_offsets(dict.fromkeys(without, LATEST))
            for where, at in found.items():
                without[where].target = at.offset

    def _note_error(self, reason: str) -> None:
        if reason != self.error:
            self.error = reason
            log.warning("Mirror %s cannot reach its source, retrying: %s", self.name, reason)

    # -- the partitions -------------------------------------------------------------------------------

    async def _copy(self) -> None:
        while True:
            self._wakeup.clear()
            try:
                await self._turn()
            except (LogError, OSError):
                log.exception("Mirror %s failed, retrying", self.name)
            await sleep_or(self._deps.clock, _TICK_MS, self._wakeup)

    async def _turn(self) -> None:
        mirror = self._deps.image.mirror(self.name)
        if mirror is None:
            return
        self._mirror = mirror
        wanted = self._wanted()
        for key in [each for each in self._tracked if each not in wanted]:
            self._leave(key)
            del self._tracked[key]
        has_new = any(key not in self._tracked for key in wanted)
        for key, (replica, mirrored) in wanted.items():
            known = self._tracked.get(key)
            is_reset = known is not None and known.is_frozen and mirror.state is MirrorState.RUNNING
            if known is None or known.leader_epoch != replica.leader_epoch or is_reset:
                self._leave(key)
                known = self._track(key, mirrored, replica)
            if mirror.state is MirrorState.RUNNING:
                known.target = None
        lacks_target = mirror.state is MirrorState.PROMOTING and any(
            each.target is None for each in self._tracked.values()
        )
        if lacks_target or has_new or any(each.trouble for each in self._tracked.values()):
            self._stale.set()
        if mirror.is_copying:
            self._assign(wanted)
        else:
            for key in list(self._leader_of):
                self._leave(key)
        await self._prepare_promotion(mirror.state)

    def _wanted(self) -> dict[PartitionKey, _Wanted]:
        image, replicas = self._deps.image, self._deps.replicas
        found = {}
        for mirrored in image.mirrored_topics(self.name):
            topic = image.topic(mirrored.topic)
            if topic is None or not mirrored.is_read_only:
                continue
            for number in topic.partitions:
                replica = replicas.get(topic.name, number)
                if replica is not None and replica.is_leader and replica.is_read_only:
                    found[topic.topic_id, number] = _Wanted(replica, mirrored)
        return found

    def _track(self, key: PartitionKey, mirrored: MirroredTopic, replica: Replica) -> MirroredPartition:
        may_truncate = mirrored.state is TopicState.ADOPTED
        tracked = MirroredPartition(replica, self._deps.store, may_truncate=may_truncate)
        known = self._tracked.get(key)
        if known is not None:
            tracked.source_offset, tracked.truncated_from = known.source_offset, known.truncated_from
        self._tracked[key] = tracked
        return tracked

    def _assign(self, wanted: dict[PartitionKey, _Wanted]) -> None:
        """Follow each partition at its current leader at the source."""
        source = self._source
        if source is None:
            return
        for key, (replica, mirrored) in wanted.items():
            tracked = self._tracked[key]
            if tracked.is_frozen:
                continue
            topic = source.metadata.topics.get(replica.topic)
            leader = source.leader_of(replica.topic, replica.partition)
            trouble = ""
            if topic is not None and _differ(topic.topic_id, mirrored.source_topic_id):
                trouble = "the topic was deleted at the source and created again"
            elif leader == NO_LEADER or leader not in source.metadata.brokers:
                trouble = "the partition has no leader at the source"
            if trouble:
                self._leave(key)
                tracked.on_trouble(trouble)
                continue
            if self._leader_of.get(key, leader) != leader:
                self._leave(key)
            self._leader_of[key] = leader
            self._fetcher(source, leader).follow(replica)

    def _fetcher(self, source: Source, leader: int) -> Fetcher:
        address = source.metadata.brokers[leader]
        running = self._fetchers.get(leader)
        if running is not None and running.address != address:
            self._end(leader)
            running = None
        if running is None:
            deps = self._deps
            fetcher = Fetcher(
                FetchSession(_CONSUMER, -1),
                partial(self._connect, source, leader),
                self._tracked_of,
                deps.settings,
                throttle=self.throttle,
                clock=deps.clock,
            )
            name = f"mirror {self.name} from broker {leader}"
            task = asyncio.get_running_loop().create_task(fetcher.run(), name=name)
            running = self._fetchers[leader] = _Running(fetcher, task, address)
        return running.fetcher

    def _tracked_of(self, replica: Replica) -> MirroredPartition:
        return self._tracked[replica.topic_id, replica.partition]

    async def _connect(self, source: Source, leader: int) -> LeaderChannel:
        try:
            connection = await source.connect(leader)
        except OSError as error:
            self._note_error(str(error))
            self._stale.set()
            raise
        return SourceLeader(connection, partial(self._source_name, source), self._timeout_ms)

    def _timeout_ms(self) -> int:
        return self._deps.settings.timeout_ms

    def _source_name(self, source: Source, topic_id: bytes) -> SourceName | None:
        topic = self._deps.image.topic_by_id(topic_id)
        there = None if topic is None else source.metadata.topics.get(topic.name)
        return None if there is None else SourceName(there.name, there.topic_id)

    def _leave(self, key: PartitionKey) -> None:
        leader = self._leader_of.pop(key, None)
        running = None if leader is None else self._fetchers.get(leader)
        if leader is not None and running is not None:
            running.fetcher.leave(*key)
            if not len(running.fetcher):
                self._end(leader)

    def _end(self, leader: int) -> None:
        task = self._fetchers.pop(leader).task
        for key in [key for key, each in self._leader_of.items() if each == leader]:
            del self._leader_of[key]
        task.cancel()
        self._ended.add(task)
        task.add_done_callback(self._ended.discard)

    # -- promotion ------------------------------------------------------------------------------------

    async def _prepare_promotion(self, state: MirrorState) -> None:
        for key, tracked in list(self._tracked.items()):
            try:
                if state is MirrorState.FORCING:
                    await tracked.drop_open_transactions()
                elif state is MirrorState.PROMOTING and not tracked.is_frozen and self._is_level(tracked):
                    tracked.is_frozen = True
                    self._leave(key)
                elif tracked.source_start >= 0:
                    tracked.follow_start()
            except (LogError, OSError) as error:
                tracked.on_trouble(str(error))

    @staticmethod
    def _is_level(tracked: MirroredPartition) -> bool:
        """Whether everything up to the target is here and committed, and no transaction is open."""
        replica = tracked.replica
        if tracked.target is None or replica.log.log_end_offset < tracked.target:
            return False
        end_offset = replica.log.log_end_offset
        if replica.high_watermark < end_offset:
            return False
        unstable = replica.log.first_unstable_offset
        if unstable is not None:
            tracked.on_trouble(
                f"a transaction is open since offset {unstable}: the promotion waits for its end, or use --force"
            )
        return unstable is None

    def progress(self) -> list[PartitionProgress]:
        """Of the partitions that this broker leads."""
        return [self._progress_of(each) for each in self.partitions if each.replica.is_open]

    def _progress_of(self, tracked: MirroredPartition) -> PartitionProgress:
        replica, own = tracked.replica, tracked.replica.log
        is_ready = tracked.is_frozen and replica.high_watermark >= own.log_end_offset
        return PartitionProgress(
            topic=replica.topic,
            partition=replica.partition,
            leader=replica.leader_id,
            leader_epoch=tracked.leader_epoch,
            end_offset=own.log_end_offset,
            source_offset=tracked.source_offset,
            is_ready=is_ready and (self._mirror.state is not MirrorState.FORCING or tracked.has_dropped),
            is_same=tracked.source_offset >= 0 and not tracked.trouble,
            truncated_from=tracked.truncated_from,
            trouble=tracked.trouble or self.error,
        )


def _differ(one: bytes, other: bytes) -> bool:
    return _NO_ID not in (one, other) and one != other
