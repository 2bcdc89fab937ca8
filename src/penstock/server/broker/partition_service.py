"""Runs the partitions of this broker as the metadata says: leads or follows, coordinates and maintains them."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from penstock.cluster.controller_access import ControllerAccess
from penstock.cluster.fetching.fetchers import Fetchers, FetchSettings
from penstock.cluster.in_sync_requests import InSyncRequests
from penstock.cluster.metadata.applied import AppliedMetadata
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.image import ResourceType
from penstock.cluster.peers import Peers
from penstock.cluster.repair import DamageRepairer
from penstock.cluster.scrubbing import Scrubber
from penstock.config.settings.logs import LOG_SCRUB_INTERVAL_MS
from penstock.config.settings.replication import REPLICA_LAG_TIME_MAX_MS
from penstock.runtime.clock import Clock
from penstock.server.broker.maintenance import MaintenanceTasks
from penstock.server.context import Services
from penstock.storage.cleaner.cleaner import Cleaner
from penstock.storage.store.log_store import LogStore


class PartitionService:
    def __init__(
        self,
        services: Services,
        store: LogStore,
        metadata: AppliedMetadata,
        peers: Peers,
        access: ControllerAccess,
        *,
        cleaner: Cleaner,
        clock: Clock,
        liveness: Clock,
    ) -> None:
        """`liveness` is the clock by which followers and leaders wait for each other."""
        self._services = services
        self._store = store
        self._metadata = metadata
        self._cleaner = cleaner
        self._clock = clock
        self._fetchers = Fetchers(
            services.node_id,
            metadata.image,
            peers,
            store,
            FetchSettings(lambda: services.config),
            throttle=services.replicas.follower_throttle,
            clock=liveness,
        )
        self._in_sync = InSyncRequests(
            lambda: services.replicas,
            access.alter_partitions,
            liveness,
            lag_ms_max=lambda: services.config[REPLICA_LAG_TIME_MAX_MS],
        )
        self._repairer = DamageRepairer(services.node_id, peers, clock)
        self._scrubber = Scrubber(
            lambda: services.replicas,
            self._repairer.on_damage,
            clock,
            interval_ms=lambda: services.config[LOG_SCRUB_INTERVAL_MS],
            is_unopened_suspect=store.is_unopened_suspect,
        )
        self._missed: list[MetadataDelta] | None = []
        """Metadata changes during partition recovery: their authors do not wait for this broker."""
        self._cleanup = contextlib.AsyncExitStack()

    async def start(self, on_lost_records: Callable[[], Awaitable[None]]) -> None:
        """Open the partitions that the metadata assigns to this broker, and follow the metadata from here on.

        `on_lost_records` is called when logs have lost records: before they are led or followed.
        """
        services = self._services
        services.replicas.in_sync_changes.subscribe(self._in_sync.note)
        services.replicas.suspicions.subscribe(self._scrubber.suspect)
        services.replicas.load(services.config)
        services.quotas.follow(self._metadata.image.quotas)
        services.telemetry.follow(self._metadata.image.settings_of(ResourceType.CLIENT_METRICS))
        self._metadata.subscribe(self._follow)
        failed = await services.replicas.recover()
        if self._store.has_lost_records:
            await on_lost_records()
        await self._store.recovered(failed)
        self._check_known_damage()
        maintenance = MaintenanceTasks(
            self._store, services.replicas, services.controller, self._cleaner, self._clock
        )
        self._cleanup.push_async_callback(maintenance.stop)
        maintenance.start()
        self._cleanup.push_async_callback(services.auto_creation.stop)
        # Stopped before the server, so that clients waiting for a group get a response.
        self._cleanup.push_async_callback(services.groups.stop)
        services.groups.start()
        self._cleanup.push_async_callback(services.transactions.stop)
        services.transactions.start()
        self._cleanup.push_async_callback(services.share_state.stop)
        services.share_state.start()
        self._cleanup.push_async_callback(services.persister.stop)
        self._cleanup.push_async_callback(services.shares.stop)
        self._run(self._in_sync.run(), "in-sync sets")
        self._run(self._in_sync.watch_lag(), "lag of followers")
        self._run(self._scrubber.run(), "scrubbing")
        self._run(self._repairer.run(), "repair of damaged records")
        self._cleanup.push_async_callback(self._fetchers.stop)
        self._fetchers.follow(services.replicas)
        self._cleanup.push_async_callback(services.mirrors.stop)
        services.mirrors.start()
        while self._missed:
            await self._take_in(self._missed.pop(0))
        self._missed = None

    def _check_known_damage(self) -> None:
        """Damage that was known before the restart may be repaired by now, or another replica can repair it."""
        for name in self._store.damage:
            replica = self._services.replicas.get(name.topic, name.partition)
            if replica is not None:
                self._scrubber.suspect(replica)

    def _run(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)

        async def end() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self._cleanup.push_async_callback(end)

    async def _follow(self, delta: MetadataDelta) -> None:
        if self._missed is None:
            await self._take_in(delta)
        else:
            self._missed.append(delta)

    async def _take_in(self, delta: MetadataDelta) -> None:
        services = self._services
        for topic in delta.topics_deleted.values():
            for number in topic.partitions:
                self._fetchers.leave(topic.topic_id, number)
        await services.replicas.apply(delta, services.config)
        services.groups.apply(delta)
        services.transactions.apply(delta)
        services.shares.apply(delta)
        services.share_state.apply(delta)
        changed = []
        for change in delta.partitions.values():
            replica = services.replicas.get(change.topic.name, change.partition)
            if replica is None:
                self._fetchers.leave(change.topic.topic_id, change.partition)
            else:
                changed.append(replica)
        self._fetchers.follow(changed)
        services.mirrors.apply(delta)
        if delta.quotas_changed:
            services.quotas.follow(self._metadata.image.quotas)
        if any(kind == ResourceType.CLIENT_METRICS for kind, _ in delta.configs_changed):
            services.telemetry.follow(self._metadata.image.settings_of(ResourceType.CLIENT_METRICS))
        if any(kind == ResourceType.BROKER for kind, _ in delta.configs_changed):
            self._scrubber.on_settings_change()
        if delta.brokers_changed:
            self._fetchers.brokers_changed(delta.brokers_changed, lambda: services.replicas)

    async def stop(self) -> None:
        await self._cleanup.aclose()
