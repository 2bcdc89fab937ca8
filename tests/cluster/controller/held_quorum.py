"""A controller whose quorum commits when the test releases it."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from penstock.cluster.controller import Controller
from penstock.cluster.controller.heartbeats import Heartbeat
from penstock.cluster.controller.membership import Membership
from penstock.config.live import LiveConfig
from penstock.runtime.clock import ManualClock
from tests.cluster.controller.test_membership import CONFIG
from tests.cluster.support import MemorySink, metadata_log, no_broker_refuses, registration, start


class Stage:
    """Broker 1 is the controller's own; the quorum commits when the test releases it."""

    def __init__(self) -> None:
        self.sink = MemorySink()
        self.clock = ManualClock()
        self.controller = Controller(metadata_log(self.sink), LiveConfig(CONFIG), random.Random(1))
        self.members = Membership(self.controller, self.clock, no_broker_refuses)

    def hold(self) -> None:
        self.sink.gate = asyncio.get_running_loop().create_future()

    def release(self) -> None:
        gate, self.sink.gate = self.sink.gate, None
        assert gate is not None
        gate.set_result(None)

    async def begin(self, work: Awaitable[object]) -> "asyncio.Future[object]":
        begun = asyncio.ensure_future(work)
        await turns()
        return begun

    def heartbeat(self, broker_id: int, epoch: int) -> Awaitable[object]:
        return self.members.heartbeat(
            broker_id, epoch, Heartbeat(metadata_offset=self.controller.image.offset)
        )

    async def fence(self, broker_id: int) -> None:
        await self.controller.fence_broker(broker_id, self.controller.image.brokers[broker_id].epoch)


async def turns() -> None:
    for _ in range(60):
        await asyncio.sleep(0)


def run(scenario: Callable[[Stage], Awaitable[None]]) -> None:
    async def staged() -> None:
        stage = Stage()
        await start(stage.controller, registration(1))
        await scenario(stage)

    asyncio.run(staged())
