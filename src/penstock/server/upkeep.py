"""What a broker does by itself from time to time: checkpoints, idle logs, old producers, retention, compaction."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from penstock.cluster.controller import Controller
from penstock.cluster.replicas import Replicas
from penstock.config.themes import logs, replication
from penstock.observability.clock import Clock
from penstock.storage.checkpoints import PartitionName
from penstock.storage.cleaner import Cleaner
from penstock.storage.log_store import LogStore

log = logging.getLogger(__name__)


class Upkeep:
    """Each duty has its own pace; one that fails is logged and tried again at the next turn."""

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
        duties: list[tuple[str, Callable[[], int], Callable[[], Awaitable[None]]]] = [
            ("checkpoint", self._checkpoint_interval_ms, self._checkpoint),
            ("producer-expiry", self._expiry_interval_ms, self.expire_producers),
            ("high watermarks", self._watermarks_interval_ms, self.save_high_watermarks),
        ]
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._repeat(*duty), name=duty[0]) for duty in duties]
        self._tasks.append(loop.create_task(self._cleaner.run(), name="cleaner"))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            await self.save_high_watermarks()
        except OSError as error:  # what is on disk is older, and as true
            log.warning("cannot write down the high watermarks: %s", error.strerror)

    async def _repeat(
        self, name: str, interval_ms: Callable[[], int], duty: Callable[[], Awaitable[None]]
    ) -> None:
        while True:
            await self._clock.sleep(interval_ms())
            try:
                await duty()
            except OSError as error:
                log.warning("%s failed (%s); it is tried again in %d ms", name, error.strerror, interval_ms())
            except Exception:
                log.exception("%s failed; it is tried again in %d ms", name, interval_ms())

    def _checkpoint_interval_ms(self) -> int:
        return self._controller.config[logs.LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS]

    async def _checkpoint(self) -> None:
        await self._store.checkpoint()
        self._store.release_idle()

    def _expiry_interval_ms(self) -> int:
        return self._controller.config[logs.PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS]

    async def expire_producers(self) -> None:
        """By the setting as it is now; logs that are opened later begin with it."""
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
        """Of partitions that others hold too: a replica alone finds its own in its log.

        As far as it is durable here: a recovery takes what lies below for lost, if it is not there.
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
