"""Reading partitions on and on, wherever their leaders are.

Each broker has at most one fetch under way, which is sent only when the reader is asked for more: whoever is slow to
ask holds one answer of each broker and slows nobody else down. What was fetched for a partition that was taken away or
moved meanwhile is dropped.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock.client.blocking.errors import TimedOut
from penstock.client.blocking.metadata import TopicPartition
from penstock.client.blocking.retry import Retry, backoff_ms
from penstock.client.cluster.client import Client
from penstock.client.cluster.fetching import FetchedPartition, FetchLimits
from penstock.client.connection import Disconnected


class _UnderWay(NamedTuple):
    asked: Mapping[TopicPartition, int]
    answer: "asyncio.Task[dict[TopicPartition, FetchedPartition]]"


class Reader:
    """Uses a client of its own: a `branch`, which it closes."""

    def __init__(self, client: Client, limits: FetchLimits) -> None:
        self._client = client
        self._limits = limits
        self.positions: dict[TopicPartition, int] = {}
        self._under_way: dict[int, _UnderWay] = {}
        self._failures = 0
        self._failing_since_ms = 0.0
        self._changed: asyncio.Future[None] | None = None

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these too, from these offsets."""
        self.positions.update(positions)
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    def revoke(self, where: TopicPartition) -> None:
        self.positions.pop(where, None)

    async def next(self) -> dict[TopicPartition, FetchedPartition]:
        """Whatever comes first: records, or an error that a partition has for good (its position is given up).

        May be cancelled and called again. `TimedOut` when nothing could be read for as long as the client retries;
        `BrokerError` when a topic is gone or may not be read.
        """
        while True:
            try:
                await self._ask()
            except (Retry, Disconnected) as failure:
                await self._wait_after(failure)
                continue
            self._changed = asyncio.get_running_loop().create_future()
            answers = [each.answer for each in self._under_way.values()]
            waited: list[asyncio.Future[Any]] = [*answers, self._changed]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            found = await self._taken()
            if found:
                return found

    async def close(self) -> None:
        for each in self._under_way.values():
            each.answer.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await each.answer
        await self._client.close()

    async def _ask(self) -> None:
        """Have a fetch under way at every leader that has none."""
        busy = {where for each in self._under_way.values() for where in each.asked}
        by_leader: dict[int, dict[TopicPartition, int]] = {}
        for where, offset in list(self.positions.items()):
            if where not in busy:
                leader = await self._client.leader(where)
                by_leader.setdefault(leader.leader_id, {})[where] = offset
        for node, asked in by_leader.items():
            if node not in self._under_way:
                fetch = self._client.fetch_of(node, asked, self._limits)
                self._under_way[node] = _UnderWay(asked, asyncio.create_task(fetch))

    async def _taken(self) -> dict[TopicPartition, FetchedPartition]:
        """What the finished fetches bring that is still wanted."""
        found: dict[TopicPartition, FetchedPartition] = {}
        failure: Exception | None = None
        for node in [node for node, each in self._under_way.items() if each.answer.done()]:
            asked, answer = self._under_way.pop(node)
            try:
                answers = answer.result()
            except (Retry, Disconnected) as error:
                failure = error
                continue
            self._failures = 0
            for where, fetched in answers.items():
                if self.positions.get(where) != asked[where]:
                    continue
                if fetched.error:
                    del self.positions[where]
                    found[where] = fetched
                elif fetched.next_offset != asked[where]:
                    self.positions[where] = fetched.next_offset
                    found[where] = fetched
            if len(answers) < len(asked):
                failure = Retry("leaders have moved")
        if failure is not None and not found:
            await self._wait_after(failure)
        return found

    async def _wait_after(self, failure: Exception) -> None:
        settings, clock = self._client.settings, self._client.clock
        if self._failures == 0:
            self._failing_since_ms = clock.monotonic_ms()
        self._failures += 1
        if clock.monotonic_ms() - self._failing_since_ms > settings.deadline_ms:
            raise TimedOut(f"reading did not work in {self._failures} attempts: {failure}") from failure
        await clock.sleep(
            backoff_ms(self._failures, settings.retry_backoff_ms, settings.retry_backoff_max_ms, 0.5)
        )
