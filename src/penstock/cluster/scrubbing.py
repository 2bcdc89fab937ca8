"""Scrubs the logs of this broker for damaged bytes: all logs in turn and slowly, a suspect log at once.

A log is suspect when recovery or a read has found a batch whose checksum does not match.
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Iterable

from penstock.cluster.replica import Replica
from penstock.runtime.clock import Clock, sleep_or
from penstock.storage.errors import LogError
from penstock.storage.log.log import Log
from penstock.storage.log.repair import LogRepair

log = logging.getLogger(__name__)

_FIRST_PASS_MS_MAX = 600_000
_REST_FACTOR = 30  # the scrubber rests this many times longer than it works, so that clients do not notice it


IsUnopenedSuspect = Callable[[str, int, Callable[[], Awaitable[None]]], Awaitable[bool]]
"""Whether the closed log of a partition has to be opened and checked: see `LogStore.is_unopened_suspect`."""


class Scrubber:
    def __init__(
        self,
        replicas: Callable[[], Iterable[Replica]],
        on_damage: Callable[[Replica], None],
        clock: Clock,
        *,
        interval_ms: Callable[[], int],
        is_unopened_suspect: IsUnopenedSuspect,
    ) -> None:
        """`interval_ms` is the time between two passes over all logs; 0 disables them."""
        self._replicas = replicas
        self._on_damage = on_damage
        self._clock = clock
        self._interval_ms = interval_ms
        self._is_unopened_suspect = is_unopened_suspect
        self._suspects: dict[Replica, None] = {}
        self._wakeup = asyncio.Event()

    def suspect(self, replica: Replica) -> None:
        self._suspects[replica] = None
        self._wakeup.set()

    def on_settings_change(self) -> None:
        """Recompute when the next pass is due: the interval may have changed."""
        self._wakeup.set()

    async def run(self) -> None:
        """Until cancelled."""
        since_ms, delay_ms_max = self._clock.monotonic_ms(), _FIRST_PASS_MS_MAX
        while True:
            await self._wait(since_ms, delay_ms_max)
            await self._check_suspects()
            if self._is_due(since_ms, delay_ms_max):
                await self._check_all()
                since_ms, delay_ms_max = self._clock.monotonic_ms(), sys.maxsize

    def _is_due(self, since_ms: float, delay_ms_max: int) -> bool:
        interval_ms = self._interval_ms()
        return interval_ms > 0 and self._clock.monotonic_ms() - since_ms >= min(interval_ms, delay_ms_max)

    async def _wait(self, since_ms: float, delay_ms_max: int) -> None:
        """Wait until a pass is due, a log is suspect, or the interval has changed."""
        interval_ms = self._interval_ms()
        if interval_ms == 0:
            await self._wakeup.wait()
            return
        due_ms = since_ms + min(interval_ms, delay_ms_max)
        await sleep_or(self._clock, max(0.0, due_ms - self._clock.monotonic_ms()), self._wakeup)

    async def _check_all(self) -> None:
        for replica in list(self._replicas()):
            await self._check_suspects()
            if not self._interval_ms():
                return
            if replica.is_open:
                await self._check(replica, _REST_FACTOR)
            elif await self._is_suspect(replica):
                self.suspect(replica)
        await self._check_suspects()

    async def _check_suspects(self) -> None:
        self._wakeup.clear()
        while self._suspects:
            replica = next(iter(self._suspects))
            await self._check(replica, 0)
            self._suspects.pop(replica, None)

    async def _is_suspect(self, replica: Replica) -> bool:
        """Whether an unused log has damage. Only then is it opened."""
        try:
            return await self._is_unopened_suspect(replica.topic, replica.partition, self._rest(_REST_FACTOR))
        except Exception:
            log.exception(
                "Scrubbing of %s-%d failed, retrying in the next pass",
                replica.topic,
                replica.partition,
            )
            return False

    async def _check(self, replica: Replica, rest_factor: int) -> None:
        try:
            checked = replica.log
        except (LogError, OSError) as error:
            log.warning("Cannot scrub %s-%d: %s", replica.topic, replica.partition, error)
            return
        known = list(checked.damaged)
        try:
            await self._scrub(checked, rest_factor)
        except Exception:
            log.exception("Scrubbing of %s failed, retrying in the next pass", checked.directory)
        for damage in checked.damaged:
            if damage not in known:
                log.error("Found damage in %s: %s do not match their checksums", checked.directory, damage)
        if checked.damaged or checked.producers.unverified_from is not None:
            self._on_damage(replica)

    async def _scrub(self, checked: Log, rest_factor: int) -> None:
        rest = self._rest(rest_factor)
        for segment in list(checked.segments):
            if checked.failure is None and segment in checked.segments:
                await LogRepair(checked).check(segment, rest)

    def _rest(self, factor: int) -> Callable[[], Awaitable[None]]:
        """Make the coroutine function to await after each slice of work."""
        worked_ms = self._clock.monotonic_ms()

        async def rest() -> None:
            nonlocal worked_ms
            if factor:
                await self._clock.sleep((self._clock.monotonic_ms() - worked_ms) * factor)
                worked_ms = self._clock.monotonic_ms()

        return rest
