"""Reading partitions on and on, wherever their leaders are.

Each broker has at most one fetch under way, which is sent only when the reader is asked for more: whoever is slow to
ask holds one answer of each broker and slows nobody else down. What was fetched for a partition that was taken away or
moved meanwhile is dropped. A partition that cannot be read just now is tried again after a while, and the others go on.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from penstock.client.blocking.retry import Retry, backoff_ms
from penstock.client.cluster.client import Client
from penstock.client.cluster.fetching import FetchedPartition, FetchLimits
from penstock.client.connection import Disconnected
from penstock.client.errors import TimedOut
from penstock.client.metadata import TopicPartition

_NO_JITTER = 0.5


class _UnderWay(NamedTuple):
    asked: Mapping[TopicPartition, int]
    answer: "asyncio.Task[dict[TopicPartition, FetchedPartition]]"


class _Pause(NamedTuple):
    """After so many failures in a row a partition is left alone until then."""

    failures: int
    until_ms: float


class Reader:
    """Uses a client of its own: a `branch`, which it closes."""

    def __init__(self, client: Client, limits: FetchLimits) -> None:
        self._client = client
        self._limits = limits
        self.positions: dict[TopicPartition, int] = {}
        self._under_way: dict[int, _UnderWay] = {}
        self._paused: dict[TopicPartition, _Pause] = {}
        self._failing_since_ms: float | None = None  # since nothing at all could be read
        self._changed: asyncio.Future[None] | None = None

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these too, from these offsets."""
        self.positions.update(positions)
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    def revoke(self, where: TopicPartition) -> None:
        self.positions.pop(where, None)
        self._paused.pop(where, None)

    async def next(self) -> dict[TopicPartition, FetchedPartition]:
        """Whatever comes first: records, or an error that a partition has for good (its position is given up).

        May be cancelled and called again. `TimedOut` when nothing could be read for as long as the client retries;
        `BrokerError` when a topic is gone or may not be read.
        """
        while True:
            looked_ms = await self._ask()
            await self._something_happens(looked_ms)
            found = self._taken()
            if found:
                return found

    async def close(self) -> None:
        for each in self._under_way.values():
            each.answer.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await each.answer
        await self._client.close()

    async def _ask(self) -> float:
        """Have a fetch under way at every leader that has none; gives when it was looked who is paused."""
        busy = {where for each in self._under_way.values() for where in each.asked}
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
            if node not in self._under_way:
                fetch = self._client.fetch_of(node, asked, self._limits)
                self._under_way[node] = _UnderWay(asked, asyncio.create_task(fetch))
        return now_ms

    async def _something_happens(self, looked_ms: float) -> None:
        """A fetch is answered, a partition is added, or the time of one that is paused has come."""
        self._changed = asyncio.get_running_loop().create_future()
        waited: list[asyncio.Future[Any]] = [each.answer for each in self._under_way.values()]
        waited.append(self._changed)
        alarm = None
        # One whose time had come by then waits for its broker to answer what it was asked before.
        due_ms = min(
            (pause.until_ms for pause in self._paused.values() if pause.until_ms > looked_ms), default=None
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

    def _taken(self) -> dict[TopicPartition, FetchedPartition]:
        """What the finished fetches bring that is still wanted."""
        found: dict[TopicPartition, FetchedPartition] = {}
        for node in [node for node, each in self._under_way.items() if each.answer.done()]:
            asked, answer = self._under_way.pop(node)
            try:
                answers = answer.result()
            except (Retry, Disconnected) as failure:
                self._pause(asked, failure)
                continue
            for where, fetched in answers.items():
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
            self._pause(asked.keys() - answers.keys(), Retry(f"broker {node} does not lead it"))
        return found

    def _pause(self, partitions: Iterable[TopicPartition], failure: Exception) -> None:
        """`TimedOut` when there was nothing but failures for too long."""
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
