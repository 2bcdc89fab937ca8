"""Measures the free space of the data directory, and logs when the disk is full and when writes resume."""

import asyncio
import logging
import os
from collections.abc import Callable
from typing import Final

from penstock.config.disk_reserve import reserve_bytes
from penstock.observability.log_limiter import LogLimiter
from penstock.runtime.clock import Clock, sleep_or
from penstock.runtime.offload import Offload
from penstock.storage.directory.disk_space import DiskSpace, DiskState
from penstock.storage.files import Usage

log = logging.getLogger(__name__)

_INTERVAL_MS: Final = 1_000
_INTERVAL_NEAR_THE_END_MS: Final = 100
_NEAR_THE_END_BYTES: Final = 1 << 29  # more than a broker writes in a second


class DiskWatch:
    def __init__(
        self,
        directory: str,
        space: DiskSpace,
        usage: Callable[[], Usage],
        *,
        reserve: Callable[[], int],
        offload: Offload,
        clock: Clock,
    ) -> None:
        """`usage` may block. `reserve` returns the current `penstock.disk.reserve.bytes`."""
        self._directory = os.path.abspath(directory)
        self._space = space
        self._usage = usage
        self._reserve = reserve
        self._offload = offload
        self._clock = clock
        self._news = asyncio.Event()
        self._rate_limit = LogLimiter(clock)
        self._was_logged = False
        self._was_failed = False
        space.news.subscribe(self._news.set)

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            is_near = self._space.room_bytes < _NEAR_THE_END_BYTES
            await sleep_or(self._clock, _INTERVAL_NEAR_THE_END_MS if is_near else _INTERVAL_MS, self._news)
            self._news.clear()
            await self.measure()

    async def measure(self) -> None:
        """Measure once, and log changes."""
        try:
            usage = await self._offload.run(self._usage)
        except OSError as error:
            if self._rate_limit.times("usage"):
                log.warning("Cannot measure the free space of %s: %s", self._directory, error.strerror)
        else:
            setting = reserve_bytes(self._reserve(), usage.total_bytes)
            self._space.measured(usage, setting, self._clock.monotonic_ms())
        self._log_state()

    def _log_state(self) -> None:
        space = self._space
        if space.state is DiskState.FAILED:
            if not self._was_failed:
                log.error(
                    "Disk of %s failed (%s): check the disk, then restart the broker",
                    self._directory,
                    space.failure,
                )
            self._was_failed = True
        elif space.state is DiskState.FULL:
            if self._rate_limit.times("full"):
                self._was_logged = True
                log.error(
                    "Disk full: %s has %s. Clients' writes are refused. Delete topics, lower their retention.ms or "
                    "retention.bytes, or enlarge the disk; writes resume by themselves",
                    self._directory,
                    space.figures,
                )
        elif self._was_logged:
            self._was_logged = False
            log.warning("Disk space recovered on %s; writes resumed: %s", self._directory, space.figures)
