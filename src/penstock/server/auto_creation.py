"""Topics that are created because a client requested them: in the background, each once at a time.

As in Kafka, the client gets the error that the topic is unknown and asks again. No response waits for the controller.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from penstock.cluster.controller.decision import Refusal
from penstock.cluster.raft.errors import RaftError
from penstock.storage.errors import LogError

log = logging.getLogger(__name__)


class AutoCreation:
    def __init__(self, create: Callable[[str], Awaitable[object]]) -> None:
        self._create = create
        self._running: dict[str, asyncio.Task[None]] = {}

    def begin(self, topic: str) -> None:
        if topic not in self._running:
            task = asyncio.get_running_loop().create_task(self._run(topic), name=f"creation of {topic}")
            self._running[topic] = task

    async def until_done(self, topic: str) -> None:
        """Wait for the creation of a topic if it has begun."""
        task = self._running.get(topic)
        if task is not None:
            await asyncio.wait([task])

    async def _run(self, topic: str) -> None:
        try:
            await self._create(topic)
        except (LogError, RaftError, Refusal, OSError) as error:  # the client that wants it asks again
            log.debug("Cannot create a topic: %s. topic=%s", error, topic)
        finally:
            del self._running[topic]

    async def stop(self) -> None:
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
