import asyncio
import random
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from penstock.cluster.controller import Controller
from penstock.cluster.controller.brokers import BrokerRegistration
from penstock.cluster.controller.create_topics import NewTopic
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.heartbeats import Heartbeat
from penstock.cluster.controller.membership import Membership, Refuses
from penstock.config.broker import BrokerConfig
from penstock.config.live import LiveConfig
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import ManualClock
from tests.cluster.support import MemorySink, disk_of, metadata_log, no_broker_refuses, registration, start

SESSION_MS = 1000
CONFIG = BrokerConfig(
    {"broker.session.timeout.ms": str(SESSION_MS), "broker.heartbeat.interval.ms": "100", "node.id": "1"}
)

Scenario = Callable[[Controller, Membership, ManualClock], Awaitable[None]]


def run(scenario: Scenario, refuses: Refuses = no_broker_refuses) -> None:
    """With broker 1, whose node is the controller."""

    async def started() -> None:
        clock = ManualClock()
        controller = Controller(metadata_log(MemorySink()), LiveConfig(CONFIG), random.Random(1))
        await start(controller, registration(1))
        await scenario(controller, Membership(controller, clock, refuses), clock)

    asyncio.run(started())


async def join(controller: Controller, members: Membership, broker_id: int) -> int:
    epoch = await members.register(registration(broker_id), "cluster")
    answer = await members.heartbeat(broker_id, epoch, Heartbeat(metadata_offset=controller.image.offset))
    assert (answer.is_caught_up, answer.is_fenced, answer.should_shut_down) == (True, False, False)
    return epoch


def incarnation(broker_id: int, number: int) -> BrokerRegistration:
    return msgspec.structs.replace(registration(broker_id), incarnation_id=bytes([number] * 16))


def test_a_broker_is_fenced_until_it_has_read_its_own_registration() -> None:
    async def scenario(controller: Controller, members: Membership, clock: ManualClock) -> None:
        epoch = await members.register(registration(2), "cluster")
        answer = await members.heartbeat(2, epoch, Heartbeat(metadata_offset=epoch - 1))
        assert (answer.is_caught_up, answer.is_fenced) == (False, True)
        answer = await members.heartbeat(2, epoch, Heartbeat(metadata_offset=epoch))
        assert (answer.is_caught_up, answer.is_fenced) == (True, False)
        assert controller.image.brokers[2].is_active

    run(scenario)


def test_a_broker_without_a_heartbeat_for_a_session_is_fenced_and_others_lead_its_partitions() -> None:
    async def scenario(controller: Controller, members: Membership, clock: ManualClock) -> None:
        epoch = await join(controller, members, 2)
        await controller.create_topics([NewTopic(name="t", num_partitions=4, replication_factor=2)])
        watching = asyncio.create_task(members.watch())
        for _ in range(3):  # the controller's own broker needs no heartbeat
            clock.advance(SESSION_MS / 2)
            for _ in range(20):
                await asyncio.sleep(0)
        watching.cancel()
        assert controller.image.brokers[2].fenced
        assert {each.leader for each in controller.image.topics["t"].partitions.values()} == {1}
        answer = await members.heartbeat(2, epoch, Heartbeat(metadata_offset=controller.image.offset))
        assert not answer.is_fenced  # it was only slow

    run(scenario)


async def watch_for(members: Membership, clock: ManualClock, duration_ms: int) -> None:
    task = asyncio.create_task(members.watch())
    for advance_ms in (0, duration_ms):
        clock.advance(advance_ms)
        for _ in range(20):
            await asyncio.sleep(0)
    task.cancel()


def test_a_broker_whose_connection_ended_and_that_refuses_new_ones_is_fenced_at_once() -> None:
    async def only_the_second(broker_id: int) -> bool:
        return broker_id == 2

    async def scenario(controller: Controller, members: Membership, clock: ManualClock) -> None:
        await join(controller, members, 2)
        await join(controller, members, 3)
        for broker_id in (2, 3):
            members.on_disconnect(broker_id)
        await watch_for(members, clock, 1)
        assert controller.image.brokers[2].fenced
        assert not controller.image.brokers[3].fenced  # it may be suspended, or have another connection
        assert await members.register(incarnation(2, 77), "cluster")  # it is not taken for a second one

    run(scenario, only_the_second)


def test_a_new_controller_does_not_wait_for_the_session_timeout_of_a_broker_that_refuses_connections() -> (
    None
):
    async def every_broker(_broker_id: int) -> bool:
        return True

    async def scenario(controller: Controller, members: Membership, clock: ManualClock) -> None:
        epoch = await join(controller, members, 2)
        successor = Membership(controller, clock, every_broker)
        await watch_for(successor, clock, 1)
        assert controller.image.brokers[2].fenced
        answer = await successor.heartbeat(2, epoch, Heartbeat(metadata_offset=controller.image.offset))
        assert not answer.is_fenced
        successor.on_disconnect(2)  # it refused while alive: a refusal no longer means that it is dead
        await watch_for(successor, clock, SESSION_MS - 1)
        assert not controller.image.brokers[2].fenced

    run(scenario)


def test_an_unregistered_broker_is_not_fenced(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(controller: Controller, members: Membership, clock: ManualClock) -> None:
        await join(controller, members, 2)
        await join(controller, members, 3)
        await controller.unregister_broker(2)
        watching = asyncio.create_task(members.watch())
        for _ in range(3):
            clock.advance(SESSION_MS / 2)
            for _ in range(20):
                await asyncio.sleep(0)
        watching.cancel()
        missed = [each.getMessage() for each in caplog.records if "no heartbeat" in each.getMessage()]
        assert missed == ["Fenced broker 3: no heartbeat for 1000 ms"]

    run(scenario)


def test_a_broker_of_an_earlier_controller_has_a_whole_session_for_its_first_heartbeat() -> None:
    async def scenario(controller: Controller, members: Membership, clock: ManualClock) -> None:
        await join(controller, members, 2)
        successor = Membership(controller, clock, no_broker_refuses)
        clock.advance(SESSION_MS - 1)
        assert successor.is_alive(2)
        clock.advance(1)
        assert not successor.is_alive(2)

    run(scenario)


def test_invalid_registrations_and_heartbeats_are_refused() -> None:
    async def scenario(controller: Controller, members: Membership, clock: ManualClock) -> None:
        await join(controller, members, 2)
        with pytest.raises(Refusal) as other_cluster:
            await members.register(registration(3), "another")
        assert other_cluster.value.code is ErrorCode.INCONSISTENT_CLUSTER_ID
        with pytest.raises(Refusal) as duplicate:
            await members.register(incarnation(2, 77), "cluster")
        assert duplicate.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
        with pytest.raises(Refusal) as stale:
            await members.heartbeat(2, 12345, Heartbeat(metadata_offset=0))
        assert stale.value.code is ErrorCode.STALE_BROKER_EPOCH

    run(scenario)


def test_a_retried_registration_gets_the_same_epoch() -> None:
    async def scenario(controller: Controller, members: Membership, clock: ManualClock) -> None:
        epoch = await join(controller, members, 2)
        assert await members.register(registration(2), "cluster") == epoch
        assert controller.image.brokers[2].is_active

    run(scenario)


def test_a_dead_broker_can_register_again_once_its_session_is_over() -> None:
    async def scenario(controller: Controller, members: Membership, clock: ManualClock) -> None:
        first = await join(controller, members, 2)
        clock.advance(SESSION_MS)
        second = await members.register(incarnation(2, 77), "cluster")
        assert second > first
        assert controller.image.brokers[2].fenced

    run(scenario)


def test_a_broker_may_stop_once_the_new_leaders_of_its_partitions_have_read_the_metadata() -> None:
    async def scenario(controller: Controller, members: Membership, clock: ManualClock) -> None:
        epoch = await join(controller, members, 2)
        other = await join(controller, members, 3)
        await controller.create_topics([NewTopic(name="t", num_partitions=4, replication_factor=3)])
        wanted = Heartbeat(metadata_offset=controller.image.offset, wants_shutdown=True)
        draining = await members.heartbeat(2, epoch, wanted)
        assert not draining.should_shut_down
        assert 2 not in {each.leader for each in controller.image.topics["t"].partitions.values()}
        assert not (
            await members.heartbeat(2, epoch, wanted)
        ).should_shut_down  # broker 3 has not read the metadata yet
        await members.heartbeat(3, other, Heartbeat(metadata_offset=controller.image.offset))
        assert (await members.heartbeat(2, epoch, wanted)).should_shut_down
        assert controller.image.brokers[2].fenced

    run(scenario)


def test_after_a_heartbeat_with_a_failed_disk_others_lead_and_the_broker_may_stop_at_once() -> None:
    async def scenario(controller: Controller, members: Membership, clock: ManualClock) -> None:
        epoch = await join(controller, members, 2)
        await controller.create_topics([NewTopic(name="t", num_partitions=4, replication_factor=2)])
        failed = Heartbeat(metadata_offset=controller.image.offset, offline_log_dirs=(disk_of(2),))
        answer = await members.heartbeat(2, epoch, failed)
        assert not answer.is_fenced
        assert {each.leader for each in controller.image.topics["t"].partitions.values()} == {1}
        offset = controller.image.offset
        await members.heartbeat(2, epoch, failed)
        assert controller.image.offset == offset, "it is recorded once"
        leaving = msgspec.structs.replace(failed, wants_fence=True, wants_shutdown=True)
        assert (await members.heartbeat(2, epoch, leaving)).should_shut_down

    run(scenario)
