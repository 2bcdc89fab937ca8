"""The tasks of the active controller: broker sessions, and the balance of leaderships."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from penstock.cluster.controller.controller import Controller
from penstock.cluster.controller.decision import NotController
from penstock.cluster.controller.membership import Membership, Refuses
from penstock.config.settings import replication
from penstock.runtime.clock import Clock
from penstock.storage.errors import LogError

log = logging.getLogger(__name__)

_RETRY_MS = 1000


class ActiveController:
    """`membership` is None unless this node is the active controller."""

    def __init__(self, controller: Controller, clock: Clock, refuses: Refuses) -> None:
        self._controller = controller
        self._clock = clock
        self._refuses = refuses
        self._tasks: list[asyncio.Task[None]] = []
        self.membership: Membership | None = None

    def change(self, is_active: bool) -> None:
        """Start or stop the tasks: the leader of the quorum has changed."""
        self._cancel()
        self.membership = Membership(self._controller, self._clock, self._refuses) if is_active else None
        if self.membership is not None:
            log.debug("This node became the active controller")
            loop = asyncio.get_running_loop()
            duties: list[tuple[str, Callable[[], Awaitable[None]]]] = [
                ("settings", self._controller.review_settings),
                ("sessions", self.membership.watch),
                ("leader balance", self._balance),
            ]
            self._tasks = [
                loop.create_task(self._until_replaced(duty), name=f"controller: {name}")
                for name, duty in duties
            ]

    async def _until_replaced(self, duty: Callable[[], Awaitable[None]]) -> None:
        """Run a task, and retry when the metadata log refuses a write: its disk may be full for a while."""
        while True:
            try:
                await duty()
            except NotController as error:
                log.info("This node is no longer the active controller: %s", error)
            except LogError as error:
                log.warning("Cannot write to the metadata log, retrying: %s", error)
                await self._clock.sleep(_RETRY_MS)
                continue
            return

    async def _balance(self) -> None:
        config = self._controller.config
        while True:
            await self._clock.sleep(config[replication.LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS] * 1000)
            config = self._controller.config
            if config[replication.AUTO_LEADER_REBALANCE_ENABLE]:
                tolerated = config[replication.LEADER_IMBALANCE_PER_BROKER_PERCENTAGE]
                moved = await self._controller.rebalance_leaders(tolerated)
                if moved:
                    log.info("Elected the preferred leaders. partitions=%d", moved)

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks = []

    async def stop(self) -> None:
        tasks = self._tasks
        self._cancel()
        self.membership = None
        await asyncio.gather(*tasks, return_exceptions=True)
