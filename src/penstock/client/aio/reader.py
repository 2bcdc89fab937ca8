"""Continuous reading of partitions from their current leaders.

Each broker has at most one fetch in flight, sent only when the caller asks for more: a slow caller holds one response
of each broker. Records of a partition that was revoked or moved in the meantime are dropped. A partition that cannot
be read is retried with backoff while the others continue.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from penstock.client.aio.client import Client
from penstock.client.core.backoff import backoff_ms
from penstock.client.core.fetching import FetchedPartition, FetchLimits
from penstock.client.errors import Disconnected, Retry, TimedOut
from penstock.client.metadata import TopicPartition

_NO_JITTER = 0.5


class _InFlight(NamedTuple):
    asked: Mapping[TopicPartition, int]
    answer: "asyncio.Task[dict[TopicPartition, FetchedPartition]]"


class _Pause(NamedTuple):
    """A partition is not read until `until_ms`, after so many failures in a row."""

    failures: int
    until_ms: float


class Reader:
    """Owns its client, which should be a `branch`, and closes it."""

    def __init__(self, client: Client, limits: FetchLimits) -> None:
        self._client = client
        self._limits = limits
        self.positions: dict[TopicPartition, int] = {}
        self._in_flight: dict[int, _InFlight] = {}
        self._paused: dict[TopicPartition, _Pause] = {}
        self._failing_since_ms: float | None = None  # since no partition could be read
        self._changed: asyncio.Future[None] | None = None

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions too, from these offsets."""
        self.positions.update(positions)
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    def revoke(self, where: TopicPartition) -> None:
        self.positions.pop(where, None)
        self._paused.pop(where, None)

    async def next(self) -> dict[TopicPartition, FetchedPartition]:
        """Wait for records, or for an error of a partition that is not retriable; its position is dropped.

        May be cancelled and called again. Raises `TimedOut` when nothing could be read until the client's deadline,
        `BrokerError` when a topic was deleted or may not be read.
        """
        while True:
            checked_ms = await self._send_fetches()
            await self._wait_for_event(checked_ms)
            found = self._take_responses()
            if found:
                return found

    async def close(self) -> None:
        for each in self._in_flight.values():
            each.answer.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await each.answer
        await self._client.close()

    async def _send_fetches(self) -> float:
        """Send a fetch to every leader without one; returns the time at which pauses were checked."""
        busy = {where for each in self._in_flight.values() for where in each.asked}
        now_ms = self._client.clock.monotonic_ms()
        by_leader: dict[int, dict[TopicPartition, int]] = {}
        for where, offset in list(self.positions.items()):
            if where in busy or (where in self._paused and self._paused[where].until_ms > now_ms):
                continue
            try:
                leader = await self._client.leader(where)
            except (Retry, Disconnected) as failure:
                self._pause([where], failure)
            else:
                by_leader.setdefault(leader.leader_id, {})[where] = offset
        for node, asked in by_leader.items():
            if node not in self._in_flight:
                fetch = self._client.fetch_from(node, asked, self._limits)
                self._in_flight[node] = _InFlight(asked, asyncio.create_task(fetch))
        return now_ms

    async def _wait_for_event(self, checked_ms: float) -> None:
        """Wait until a fetch is answered, a partition is assigned, or a pause ends."""
        self._changed = asyncio.get_running_loop().create_future()
        waited: list[asyncio.Future[Any]] = [each.answer for each in self._in_flight.values()]
        waited.append(self._changed)
        alarm = None
        # A pause that had ended by then waits for the fetch in flight at its leader.
        due_ms = min(
            (pause.until_ms for pause in self._paused.values() if pause.until_ms > checked_ms), default=None
        )
        if due_ms is not None:
            left_ms = max(0.0, due_ms - self._client.clock.monotonic_ms())
            alarm = asyncio.ensure_future(self._client.clock.sleep(left_ms))
            waited.append(alarm)
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if alarm is not None:
                alarm.cancel()

    def _take_responses(self) -> dict[TopicPartition, FetchedPartition]:
        """The records of finished fetches, for partitions that are still assigned."""
        found: dict[TopicPartition, FetchedPartition] = {}
        for node in [node for node, each in self._in_flight.items() if each.answer.done()]:
            asked, response = self._in_flight.pop(node)
            try:
                responses = response.result()
            except (Retry, Disconnected) as failure:
                self._pause(asked, failure)
                continue
            for where, fetched in responses.items():
                self._failing_since_ms = None
                self._paused.pop(where, None)
                if self.positions.get(where) != asked[where]:
                    continue
                if fetched.error:
                    del self.positions[where]
                    found[where] = fetched
                elif fetched.next_offset != asked[where]:
                    self.positions[where] = fetched.next_offset
                    found[where] = fetched
            self._pause(asked.keys() - responses.keys(), Retry(f"broker {node} is not the leader"))
        return found

    def _pause(self, partitions: Iterable[TopicPartition], failure: Exception) -> None:
        """Raises `TimedOut` when all partitions have failed until the deadline."""
        settings = self._client.settings
        now_ms = self._client.clock.monotonic_ms()
        for where in partitions:
            if where not in self.positions:
                continue
            failures = self._paused[where].failures + 1 if where in self._paused else 1
            delay_ms = backoff_ms(
                failures, settings.retry_backoff_ms, settings.retry_backoff_max_ms, _NO_JITTER
            )
            self._paused[where] = _Pause(failures, now_ms + delay_ms)
            if self._failing_since_ms is None:
                self._failing_since_ms = now_ms
            elif now_ms - self._failing_since_ms > settings.deadline_ms:
                raise TimedOut(f"nothing could be read for {settings.deadline_ms} ms: {failure}") from failure
