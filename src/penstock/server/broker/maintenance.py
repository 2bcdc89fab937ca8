"""Periodic tasks of a broker: checkpoints, closing idle logs, expiry of producers, retention, compaction."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from penstock.cluster.controller import Controller
from penstock.cluster.replicas import Replicas
from penstock.config.settings import logs, replication
from penstock.runtime.clock import Clock
from penstock.storage.cleaner.cleaner import Cleaner
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.store.log_store import LogStore

log = logging.getLogger(__name__)


class MaintenanceTasks:
    """Each task has its own interval; a failed one is logged and retried after it."""

    def __init__(
        self, store: LogStore, replicas: Replicas, controller: Controller, cleaner: Cleaner, clock: Clock
    ) -> None:
        self._store = store
        self._replicas = replicas
        self._controller = controller
        self._cleaner = cleaner
        self._clock = clock
        self._tasks: list[asyncio.Task[None]] = []
        self._saved_watermarks: dict[PartitionName, int] = {}

    def start(self) -> None:
        tasks: list[tuple[str, Callable[[], int], Callable[[], Awaitable[None]]]] = [
            ("checkpoint", self._checkpoint_interval_ms, self._checkpoint),
            ("producer-expiry", self._expiry_interval_ms, self.expire_producers),
            ("high watermarks", self._watermarks_interval_ms, self.save_high_watermarks),
        ]
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._repeat(*each), name=each[0]) for each in tasks]
        self._tasks.append(loop.create_task(self._cleaner.run(), name="cleaner"))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            await self.save_high_watermarks()
        except OSError as error:  # those on disk are older and still valid
            log.warning("Cannot write the high watermark checkpoint: %s", error.strerror)

    async def _repeat(
        self, name: str, interval_ms: Callable[[], int], task: Callable[[], Awaitable[None]]
    ) -> None:
        while True:
            await self._clock.sleep(interval_ms())
            try:
                await task()
            except OSError as error:
                log.warning(
                    "Maintenance task failed: %s. task=%s retry_ms=%d", error.strerror, name, interval_ms()
                )
            except Exception:
                log.exception("Maintenance task failed. task=%s retry_ms=%d", name, interval_ms())

    def _checkpoint_interval_ms(self) -> int:
        return self._controller.config[logs.LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS]

    async def _checkpoint(self) -> None:
        await self._store.checkpoint()
        self._store.release_idle()

    def _expiry_interval_ms(self) -> int:
        return self._controller.config[logs.PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS]

    async def expire_producers(self) -> None:
        """Expire idle producers by the current setting, which applies to logs that are opened later too."""
        now_ms = self._clock.now_ms()
        expiration_ms = self._controller.config[logs.PRODUCER_ID_EXPIRATION_MS]
        self._store.producer_expiration_ms = expiration_ms
        for replica in self._replicas:
            if replica.is_open:
                replica.log.producers.expiration_ms = expiration_ms
                replica.log.producers.expire(now_ms)

    def _watermarks_interval_ms(self) -> int:
        return self._controller.config[replication.REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS]

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
