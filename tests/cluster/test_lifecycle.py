"""A broker's registration and heartbeats at a controller that the test plays, on a manual clock."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from penstock.cluster.controller import Controller
from penstock.cluster.controller.brokers import BrokerRegistration
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.heartbeats import Heartbeat
from penstock.cluster.controller.membership import HeartbeatAnswer
from penstock.cluster.controller_access import ControllerAccess
from penstock.cluster.lifecycle import Lifecycle, NotAdmitted
from penstock.config.broker import BrokerConfig
from penstock.config.live import LiveConfig
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.runtime.clock import ManualClock
from tests.cluster.support import MemorySink, disk_of, metadata_log, registration, start

TIMEOUT_MS = 3000
INTERVAL_MS = 500
CONFIG = BrokerConfig(
    {
        "node.id": "2",
        "initial.broker.registration.timeout.ms": str(TIMEOUT_MS),
        "broker.heartbeat.interval.ms": str(INTERVAL_MS),
    }
)
FENCED = HeartbeatAnswer(is_caught_up=False, is_fenced=True, should_shut_down=False)
SERVING = HeartbeatAnswer(is_caught_up=True, is_fenced=False, should_shut_down=False)
LET_GO = HeartbeatAnswer(is_caught_up=True, is_fenced=True, should_shut_down=True)
STALE = Refusal(ErrorCode.STALE_BROKER_EPOCH, "Expected broker epoch 9, but got broker epoch 3")


class PlayedAccess:
    """Returns the given answers in turn; the last one stays."""

    def __init__(self) -> None:
        self.registrations: list[Exception | None] = [None]
        self.answers: list[HeartbeatAnswer | Exception] = [SERVING]
        self.registered = 0
        self.broker_epoch = -1
        self.beats: list[Heartbeat] = []

    async def register(self, _broker: BrokerRegistration, _cluster_id: str) -> int:
        self.registered += 1
        result = self.registrations.pop(0) if len(self.registrations) > 1 else self.registrations[0]
        if result is not None:
            raise result
        return 3

    async def heartbeat(self, wanted: Heartbeat) -> HeartbeatAnswer:
        self.beats.append(wanted)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Stage:
    def __init__(self, controller: Controller) -> None:
        self.clock = ManualClock()
        self.controller = controller
        self.access = PlayedAccess()
        self.lifecycle = Lifecycle(
            cast("ControllerAccess", self.access),
            registration(2),
            "cluster",
            controller=controller,
            clock=self.clock,
        )

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def through(self, doing: Awaitable[None]) -> None:
        """Advance the clock until it is done."""
        task = asyncio.ensure_future(doing)
        while not task.done():
            await self.settle()
            self.clock.advance(10)
        await task


def run(scenario: Callable[[Stage], Awaitable[None]]) -> None:
    async def played() -> None:
        controller = Controller(metadata_log(MemorySink()), LiveConfig(CONFIG), random.Random(1))
        await start(controller, registration(1))
        await controller.register_broker(registration(2), fenced=False)
        stage = Stage(controller)
        async with asyncio.timeout(20):
            await scenario(stage)
        await stage.lifecycle.stop()

    asyncio.run(played())


@pytest.mark.parametrize(
    "failure", [ConnectionResetError(), ProtocolError("?"), Refusal(ErrorCode.NOT_CONTROLLER, "not here")]
)
def test_registration_is_retried_until_a_controller_is_found(failure: Exception) -> None:
    async def scenario(stage: Stage) -> None:
        stage.access.registrations = [failure, failure, None]
        await stage.through(stage.lifecycle.register())
        assert stage.access.registered == 3

    run(scenario)


def test_a_broker_of_another_cluster_is_refused_at_once() -> None:
    async def scenario(stage: Stage) -> None:
        stage.access.registrations = [Refusal(ErrorCode.INCONSISTENT_CLUSTER_ID, "no")]
        with pytest.raises(
            NotAdmitted, match="belongs to cluster cluster, which is not the one that answers"
        ):
            await stage.lifecycle.register()
        assert stage.access.registered == 1

    run(scenario)


def test_a_node_id_that_stays_in_use_is_reported_after_the_timeout() -> None:
    async def scenario(stage: Stage) -> None:
        stage.access.registrations = [Refusal(ErrorCode.DUPLICATE_BROKER_REGISTRATION, "no")]
        with pytest.raises(NotAdmitted, match=f"node id 2 runs already.*for {TIMEOUT_MS} ms"):
            await stage.through(stage.lifecycle.register())
        assert stage.access.registered > 1

    run(scenario)


def test_a_broker_serves_when_a_heartbeat_has_unfenced_it() -> None:
    async def scenario(stage: Stage) -> None:
        stage.access.answers = [FENCED, ConnectionResetError(), SERVING]
        await stage.through(stage.lifecycle.start())
        assert len(stage.access.beats) == 3

    run(scenario)


def test_heartbeats_keep_their_interval_and_are_retried_sooner_without_an_answer() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.lifecycle.start()
        await stage.settle()
        stage.clock.advance(INTERVAL_MS - 1)
        await stage.settle()
        assert len(stage.access.beats) == 1
        stage.access.answers = [ConnectionResetError(), SERVING]
        stage.clock.advance(1)
        await stage.settle()
        assert len(stage.access.beats) == 2
        stage.clock.advance(INTERVAL_MS // 5)
        await stage.settle()
        assert len(stage.access.beats) == 3

    run(scenario)


def test_an_unregistered_broker_stops_sending_heartbeats(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.access.answers = [SERVING, STALE]
        await stage.lifecycle.start()
        await stage.settle()
        stage.clock.advance(INTERVAL_MS)
        assert "the registration of node 2 is gone" in await stage.lifecycle.evicted()
        for _ in range(5):
            stage.clock.advance(INTERVAL_MS)
            await stage.settle()
        assert len(stage.access.beats) == 2
        await stage.lifecycle.leave()
        assert len(stage.access.beats) == 2, "no controller is there to release it"

    run(scenario)
    assert not [each for each in caplog.records if each.levelno >= logging.INFO], "waiters get the reason"


def test_a_broker_learns_of_its_removal_from_the_metadata_without_a_heartbeat() -> None:
    async def scenario(stage: Stage) -> None:
        stage.access.broker_epoch = stage.controller.image.brokers[2].epoch
        await stage.lifecycle.start()
        await stage.controller.register_broker(registration(3), fenced=False)
        await stage.controller.fence_broker(2, stage.controller.image.brokers[2].epoch)
        evicted = asyncio.ensure_future(stage.lifecycle.evicted())
        await stage.settle()
        assert not evicted.done()
        await stage.controller.unregister_broker(2)
        assert "the registration of node 2 is gone" in await evicted
        assert len(stage.access.beats) == 1

    run(scenario)


def test_metadata_from_before_its_registration_does_not_stop_a_broker() -> None:
    async def scenario(stage: Stage) -> None:
        stage.access.broker_epoch = stage.controller.image.offset + 3
        await stage.lifecycle.start()
        await stage.controller.unregister_broker(2)
        evicted = asyncio.ensure_future(stage.lifecycle.evicted())
        await stage.settle()
        assert not evicted.done()
        evicted.cancel()

    run(scenario)


@pytest.mark.parametrize(
    ("code", "count"), [(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, 2), (ErrorCode.NOT_CONTROLLER, 0)]
)
def test_a_refused_heartbeat_is_logged_once_and_a_change_of_controller_never(
    caplog: pytest.LogCaptureFixture, code: ErrorCode, count: int
) -> None:
    refused = Refusal(code, "not so")

    async def scenario(stage: Stage) -> None:
        stage.access.answers = [SERVING, refused, refused, ConnectionResetError(), refused]
        stage.access.answers += [SERVING, refused, refused, SERVING]
        await stage.lifecycle.start()
        for _ in range(20):
            await stage.settle()
            stage.clock.advance(INTERVAL_MS)
        assert len(stage.access.beats) > 9

    with caplog.at_level(logging.INFO):
        run(scenario)
    assert [each.message for each in caplog.records].count("Heartbeat refused: not so") == count


def test_a_broker_that_is_evicted_before_it_serves_does_not_start() -> None:
    async def scenario(stage: Stage) -> None:
        stage.access.answers = [FENCED, STALE]
        with pytest.raises(NotAdmitted, match="was unregistered, or another broker has its id"):
            await stage.through(stage.lifecycle.start())

    run(scenario)


def test_a_stopping_broker_waits_until_the_controller_lets_it_stop() -> None:
    async def scenario(stage: Stage) -> None:
        stage.access.answers = [SERVING, SERVING, ConnectionResetError(), LET_GO]
        await stage.lifecycle.start()
        await stage.through(stage.lifecycle.leave())
        assert [each.wants_shutdown for each in stage.access.beats] == [False, True, True, True]

    run(scenario)


def test_a_stopping_broker_of_a_cluster_without_a_controller_stops_by_itself() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.lifecycle.start()
        stage.access.answers = [ConnectionResetError()]
        began_ms = stage.clock.monotonic_ms()
        await stage.through(stage.lifecycle.leave())
        assert stage.clock.monotonic_ms() - began_ms < 10_000

    run(scenario)


def test_a_failed_disk_is_reported_at_once_and_in_every_later_heartbeat() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.lifecycle.start()
        await stage.settle()
        stage.lifecycle.on_disk_failure(OSError("broken"))
        stage.lifecycle.on_disk_failure(OSError("broken"))
        await stage.settle()
        stage.clock.advance(INTERVAL_MS)
        await stage.settle()
        assert [each.offline_log_dirs for each in stage.access.beats] == [(), (disk_of(2),), (disk_of(2),)]

    run(scenario)


def test_a_broker_with_a_failed_disk_asks_to_stop_and_does_not_wait() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.lifecycle.start()
        stage.lifecycle.on_disk_failure(OSError("broken"))
        stage.access.answers = [LET_GO]
        await stage.lifecycle.leave()
        last = stage.access.beats[-1]
        assert (last.wants_fence, last.wants_shutdown, last.offline_log_dirs) == (True, True, (disk_of(2),))
        stage.access.answers = [ConnectionResetError()]
        began_ms = stage.clock.monotonic_ms()
        await stage.through(stage.lifecycle.leave())
        assert stage.clock.monotonic_ms() - began_ms < 2_000

    run(scenario)
