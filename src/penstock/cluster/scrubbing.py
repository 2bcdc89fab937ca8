"""Looks for bytes that have rotted in the logs of this broker: all of them in turn, slowly, and a suspect one at once.

A log is suspect when recovery or a read has met a batch whose checksum does not match.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from penstock.cluster.replica import Replica
from penstock.observability.clock import Clock, sleep_or
from penstock.storage.log import Log

log = logging.getLogger(__name__)

_FIRST_PASS_MS_MAX = 600_000
_REST_FACTOR = 30  # how many times longer than it worked it rests: clients do not notice it


class Scrubber:
    def __init__(
        self,
        replicas: Callable[[], Iterable[Replica]],
        on_damage: Callable[[Replica], None],
        clock: Clock,
        *,
        interval_ms: Callable[[], int],
    ) -> None:
        """`interval_ms` is from one pass over all logs to the next; 0 for never."""
        self._replicas = replicas
        self._on_damage = on_damage
        self._clock = clock
        self._interval_ms = interval_ms
        self._suspects: dict[Replica, None] = {}
        self._news = asyncio.Event()

    def suspect(self, replica: Replica) -> None:
        self._suspects[replica] = None
        self._news.set()

    async def run(self) -> None:
        """Until cancelled."""
        due_ms = self._clock.monotonic_ms() + min(
            self._interval_ms() or _FIRST_PASS_MS_MAX, _FIRST_PASS_MS_MAX
        )
        while True:
            await self._wait(due_ms)
            await self._check_suspects()
            if self._clock.monotonic_ms() >= due_ms:
                if self._interval_ms():
                    await self._check_all()
                due_ms = self._clock.monotonic_ms() + (self._interval_ms() or _FIRST_PASS_MS_MAX)

    async def _wait(self, due_ms: float) -> None:
        """Until a pass is due, or there is a suspect."""
        await sleep_or(self._clock, max(0.0, due_ms - self._clock.monotonic_ms()), self._news)

    async def _check_all(self) -> None:
        for replica in list(self._replicas()):
            await self._check_suspects()
            if replica.is_open:
                await self._check(replica, _REST_FACTOR)

    async def _check_suspects(self) -> None:
        self._news.clear()
        while self._suspects:
            replica = next(iter(self._suspects))
            await self._check(replica, 0)
            self._suspects.pop(replica, None)

    async def _check(self, replica: Replica, rest_factor: int) -> None:
        known = list(replica.log.damaged)
        try:
            await self._look_through(replica.log, rest_factor)
        except Exception:
            log.exception("%s cannot be checked; it is tried again at the next turn", replica.log.directory)
        for damage in replica.log.damaged:
            if damage not in known:
                log.error("%s is damaged: %s are not what was written", replica.log.directory, damage)
        if replica.log.damaged or replica.log.producers.doubtful_from is not None:
            self._on_damage(replica)

    async def _look_through(self, checked: Log, rest_factor: int) -> None:
        worked_ms = self._clock.monotonic_ms()

        async def rest() -> None:
            nonlocal worked_ms
            if rest_factor:
                await self._clock.sleep((self._clock.monotonic_ms() - worked_ms) * rest_factor)
                worked_ms = self._clock.monotonic_ms()

        for segment in list(checked.segments):
            if checked.failure is None and segment in checked.segments:
                await checked.check(segment, rest)
