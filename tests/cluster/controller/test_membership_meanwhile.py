"""What brokers ask of the controller while it waits for the quorum to commit an earlier decision."""

import asyncio
import errno
import random
from collections.abc import Awaitable, Callable

import pytest

from penstock.cluster.controller import Controller
from penstock.cluster.controller.active import ActiveController
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.heartbeats import Heartbeat
from penstock.cluster.controller.membership import Membership
from penstock.config.live import LiveConfig
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import ManualClock
from penstock.storage.errors import StorageError
from tests.cluster.controller.test_membership import CONFIG, SESSION_MS, incarnation, join
from tests.cluster.support import MemorySink, metadata_log, nobody_refuses, registration, start


class Stage:
    """Broker 1 is the controller's own; the quorum commits when the test lets it."""

    def __init__(self) -> None:
        self.sink = MemorySink()
        self.clock = ManualClock()
        self.controller = Controller(metadata_log(self.sink), LiveConfig(CONFIG), random.Random(1))
        self.members = Membership(self.controller, self.clock, nobody_refuses)

    def hold(self) -> None:
        self.sink.gate = asyncio.get_running_loop().create_future()

    def let_go(self) -> None:
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


def test_a_late_heartbeat_of_a_broker_does_not_unfence_the_one_that_has_registered_in_its_place() -> None:
    async def scenario(stage: Stage) -> None:
        epoch = await join(stage.controller, stage.members, 2)
        await stage.fence(2)
        stage.hold()
        first = stage.controller.image.brokers[1].epoch
        deciding = await stage.begin(stage.controller.drain_broker(1, first))
        registering = await stage.begin(stage.members.register(incarnation(2, 99), "cluster"))
        late = await stage.begin(stage.heartbeat(2, epoch))
        stage.let_go()
        await deciding
        broker_epoch = await registering
        with pytest.raises(Refusal) as refusal:
            await late
        assert refusal.value.code is ErrorCode.STALE_BROKER_EPOCH
        broker = stage.controller.image.brokers[2]
        assert (broker.epoch, broker.fenced) == (broker_epoch, True)

    run(scenario)


def test_a_heartbeat_of_a_broker_that_is_removed_meanwhile_is_refused() -> None:
    async def scenario(stage: Stage) -> None:
        epoch = await join(stage.controller, stage.members, 2)
        await stage.fence(2)
        stage.hold()
        removing = await stage.begin(stage.controller.unregister_broker(2))
        late = await stage.begin(stage.heartbeat(2, epoch))
        stage.let_go()
        await removing
        with pytest.raises(Refusal):
            await late

    run(scenario)


def test_a_broker_that_is_heard_of_while_another_is_fenced_is_not_fenced() -> None:
    async def scenario(stage: Stage) -> None:
        await join(stage.controller, stage.members, 2)
        epoch = await join(stage.controller, stage.members, 3)
        watching = await stage.begin(stage.members.watch())
        stage.hold()
        stage.clock.advance(SESSION_MS + 1)
        await turns()  # broker 2 is being fenced
        await stage.heartbeat(3, epoch)
        stage.let_go()
        await turns()
        watching.cancel()
        fenced = [stage.controller.image.brokers[each].fenced for each in (2, 3)]
        assert fenced == [True, False]

    run(scenario)


def test_two_tries_of_one_registration_give_one_epoch() -> None:
    """With two, the broker would name the wrong one when it has stopped cleanly, and be taken for crashed."""

    async def scenario(stage: Stage) -> None:
        stage.hold()
        first = await stage.begin(stage.members.register(registration(2), "cluster"))
        second = await stage.begin(stage.members.register(registration(2), "cluster"))
        stage.let_go()
        assert await first == await second

    run(scenario)


def test_a_controller_whose_disk_was_full_once_fences_dead_brokers_when_it_has_room() -> None:
    async def scenario(stage: Stage) -> None:
        active = ActiveController(stage.controller, stage.clock, nobody_refuses)
        active.change(is_active=True)
        assert active.membership is not None
        await join(stage.controller, active.membership, 2)
        stage.hold()
        assert stage.sink.gate is not None
        stage.sink.gate.set_exception(StorageError("no room", OSError(errno.ENOSPC, "no room")))
        stage.clock.advance(SESSION_MS + 1)
        await turns()
        stage.sink.gate = None
        for _ in range(5):
            stage.clock.advance(SESSION_MS)
            await turns()
        assert stage.controller.image.brokers[2].fenced
        await active.stop()

    run(scenario)
