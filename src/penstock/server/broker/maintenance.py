"""Periodic tasks of a broker: checkpoints, closing idle logs, expiry of producers, retention, compaction."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from penstock.cluster.controller import Controller
from penstock.cluster.coordination.periodic import PeriodicTasks
from penstock.cluster.replicas import Replicas
from penstock.config.property import Property
from penstock.config.settings import logs, replication
from penstock.runtime.clock import Clock
from penstock.storage.cleaner.cleaner import Cleaner
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.store.log_store import LogStore

log = logging.getLogger(__name__)


class MaintenanceTasks:
    """Each task has its own interval; a failed task is logged and retried after the interval."""

    def __init__(
        self, store: LogStore, replicas: Replicas, controller: Controller, cleaner: Cleaner, clock: Clock
    ) -> None:
        self._store = store
        self._replicas = replicas
        self._controller = controller
        self._cleaner = cleaner
        self._clock = clock
        self._periodic = PeriodicTasks(clock)
        self._cleaning: asyncio.Task[None] | None = None
        self._saved_watermarks: dict[PartitionName, int] = {}

    def start(self) -> None:
        watermarks_interval = replication.REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS
        for name, prop, task in (
            ("checkpoint", logs.LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS, self._checkpoint),
            ("producer-expiry", logs.PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS, self.expire_producers),
            ("high watermarks", watermarks_interval, self.save_high_watermarks),
        ):
            interval = partial(self._setting, prop)
            self._periodic.start(name, interval, partial(self._run, name, interval, task))
        self._cleaning = asyncio.get_running_loop().create_task(self._cleaner.run(), name="cleaner")

    async def stop(self) -> None:
        if self._cleaning is not None:
            self._cleaning.cancel()
            await asyncio.gather(self._cleaning, return_exceptions=True)
        await self._periodic.stop()
        try:
            await self.save_high_watermarks()
        except OSError as error:  # those on disk are older and still valid
            log.warning("Cannot write the high watermark checkpoint: %s", error.strerror)

    def _setting(self, prop: Property[int]) -> int:
        return self._controller.config[prop]

    @staticmethod
    async def _run(name: str, interval_ms: Callable[[], int], task: Callable[[], Awaitable[None]]) -> None:
        try:
            await task()
        except OSError as error:  # without a traceback
            log.warning(
                "Maintenance task failed: %s. task=%s retry_ms=%d", error.strerror, name, interval_ms()
            )

    async def _checkpoint(self) -> None:
        await self._store.checkpoint()
        self._store.release_idle()

    async def expire_producers(self) -> None:
        """Expire idle producers by the current setting, which applies to logs that are opened later too."""
        now_ms = self._clock.now_ms()
        expiration_ms = self._controller.config[logs.PRODUCER_ID_EXPIRATION_MS]
        self._store.producer_expiration_ms = expiration_ms
        for replica in self._replicas:
            if replica.is_open:
                replica.log.producers.expiration_ms = expiration_ms
                replica.log.producers.expire(now_ms)

    async def save_high_watermarks(self) -> None:
        """Write the high watermarks of replicated partitions; a single replica finds its own in its log.

        Only up to the durable offset: recovery counts records below the high watermark that are missing as lost.
        """
        found = {
            PartitionName(replica.topic, replica.partition): min(
                replica.high_watermark, replica.log.durable_offset
            )
            for replica in self._replicas
            if replica.is_open and replica.is_replicated
        }
        if found != self._saved_watermarks:
            await self._store.save_high_watermarks(found)
            self._saved_watermarks = found
