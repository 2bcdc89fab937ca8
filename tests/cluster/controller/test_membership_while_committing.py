"""Requests of brokers while the controller waits for the quorum to commit an earlier decision."""

import pytest

from penstock.cluster.controller.decision import Refusal
from penstock.protocol.errors import ErrorCode
from tests.cluster.controller.held_quorum import Stage, run, turns
from tests.cluster.controller.test_membership import SESSION_MS, incarnation, join
from tests.cluster.support import registration


def test_a_late_heartbeat_of_a_replaced_broker_does_not_unfence_its_successor() -> None:
    async def scenario(stage: Stage) -> None:
        epoch = await join(stage.controller, stage.members, 2)
        await stage.fence(2)
        stage.hold()
        first = stage.controller.image.brokers[1].epoch
        deciding = await stage.begin(stage.controller.drain_broker(1, first))
        registering = await stage.begin(stage.members.register(incarnation(2, 99), "cluster"))
        late = await stage.begin(stage.heartbeat(2, epoch))
        stage.release()
        await deciding
        broker_epoch = await registering
        with pytest.raises(Refusal) as refusal:
            await late
        assert refusal.value.code is ErrorCode.STALE_BROKER_EPOCH
        broker = stage.controller.image.brokers[2]
        assert (broker.epoch, broker.fenced) == (broker_epoch, True)

    run(scenario)


def test_a_heartbeat_of_a_broker_that_is_being_removed_is_refused() -> None:
    async def scenario(stage: Stage) -> None:
        epoch = await join(stage.controller, stage.members, 2)
        await stage.fence(2)
        stage.hold()
        removing = await stage.begin(stage.controller.unregister_broker(2))
        late = await stage.begin(stage.heartbeat(2, epoch))
        stage.release()
        await removing
        with pytest.raises(Refusal):
            await late

    run(scenario)


def test_a_broker_that_sends_a_heartbeat_while_another_is_being_fenced_is_not_fenced() -> None:
    async def scenario(stage: Stage) -> None:
        await join(stage.controller, stage.members, 2)
        epoch = await join(stage.controller, stage.members, 3)
        watching = await stage.begin(stage.members.watch())
        stage.hold()
        stage.clock.advance(SESSION_MS + 1)
        await turns()  # broker 2 is being fenced
        await stage.heartbeat(3, epoch)
        stage.release()
        await turns()
        watching.cancel()
        fenced = [stage.controller.image.brokers[each].fenced for each in (2, 3)]
        assert fenced == [True, False]

    run(scenario)


def test_a_retried_registration_gets_the_epoch_of_the_first() -> None:
    """With two epochs, the broker would name the wrong one after a clean stop, and count as crashed."""

    async def scenario(stage: Stage) -> None:
        stage.hold()
        first = await stage.begin(stage.members.register(registration(2), "cluster"))
        second = await stage.begin(stage.members.register(registration(2), "cluster"))
        stage.release()
        assert await first == await second

    run(scenario)
