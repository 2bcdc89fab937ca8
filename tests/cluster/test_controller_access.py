"""A broker's requests to a controller on another node, over connections that the test plays."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from penstock.client.connection import Connection, Disconnected
from penstock.client.core.handshake import BrokerInfo
from penstock.cluster.controller import Controller
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.heartbeats import Heartbeat
from penstock.cluster.controller.membership import Membership
from penstock.cluster.controller_access import (
    ControllerAccess,
    ControllerIsLocal,
    NoController,
    NoProducerIds,
)
from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.config.live import LiveConfig
from penstock.config.settings import replication
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from penstock.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from penstock.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from penstock.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from penstock.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from penstock.runtime.clock import ManualClock
from tests.cluster.support import MemorySink, metadata_log, no_broker_refuses, registration, start

CONFIG = BrokerConfig({"node.id": "2"})
Answer = object | Exception | None  # None: never


def endpoint(port: int) -> Endpoint:
    return Endpoint(name="PLAINTEXT", host="h", port=port, security_protocol="PLAINTEXT")


class PlayedConnection:
    def __init__(self, network: "Network", port: int) -> None:
        self._network = network
        self._port = port
        self._waiting: list[asyncio.Future[Any]] = []
        self.is_lost = False
        self.info = BrokerInfo(address=f"h:{port}")

    def call(self, _api_key: int, _version: int, request: Any) -> "asyncio.Future[Any]":
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._network.requests.append((self._port, request))
        answers = self._network.answers[type(request)]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer is None:
            self._waiting.append(future)
        elif isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
        return future

    def abort(self) -> None:
        self.is_lost = True
        for each in self._waiting:
            if not each.done():
                each.set_exception(Disconnected("cut off"))


class Network:
    """Answers by the kind of request, in turn; the last one of a kind stays."""

    def __init__(self) -> None:
        self.answers: dict[type, list[Answer]] = {}
        self.requests: list[tuple[int, Any]] = []
        self.opened: list[int] = []

    async def dial(self, to: Endpoint) -> Connection:
        self.opened.append(to.port)
        return cast("Connection", PlayedConnection(self, to.port))


class View:
    def __init__(self) -> None:
        self.is_active = False
        self.leader: Endpoint | None = endpoint(1)
        self.voter_ids = (1, 2)


class Stage:
    def __init__(self) -> None:
        self.network = Network()
        self.view = View()
        self.clock = ManualClock()
        self.membership: Membership | None = None
        sink = MemorySink()
        sink.leader_id = CONFIG.node_id + 1
        self.controller = Controller(metadata_log(sink), LiveConfig(CONFIG), random.Random(1))
        self.access = ControllerAccess(
            self.controller, lambda: self.membership, self.view, self.network.dial, clock=self.clock
        )

    async def result(self, asking: Awaitable[Any]) -> Any:
        """Advance the clock until it is answered."""
        task = asyncio.ensure_future(asking)
        while not task.done():
            await asyncio.sleep(0)
            self.clock.advance(10)
        return await task


def run(scenario: Callable[[Stage], Awaitable[None]]) -> None:
    async def played() -> None:
        stage = Stage()
        async with asyncio.timeout(20):
            await scenario(stage)
        await stage.access.close()

    asyncio.run(played())


def test_later_requests_name_the_epoch_of_the_registration() -> None:
    async def scenario(stage: Stage) -> None:
        stage.network.answers = {
            BrokerRegistrationRequest: [BrokerRegistrationResponse(broker_epoch=77)],
            BrokerHeartbeatRequest: [BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False)],
        }
        assert await stage.access.register(registration(2), "cluster") == 77
        answer = await stage.access.heartbeat(Heartbeat(metadata_offset=5))
        assert (answer.is_caught_up, answer.is_fenced, answer.should_shut_down) == (True, False, False)
        _, beat = stage.network.requests[-1]
        assert (beat.broker_id, beat.broker_epoch, beat.current_metadata_offset) == (2, 77, 5)

    run(scenario)


def test_a_broker_is_cut_off_when_no_heartbeat_was_answered_for_its_session() -> None:
    async def scenario(stage: Stage) -> None:
        session_ms = CONFIG[replication.BROKER_SESSION_TIMEOUT_MS]
        answered = BrokerHeartbeatResponse(is_caught_up=True, is_fenced=True)
        stage.network.answers = {BrokerHeartbeatRequest: [answered, Disconnected("cut off"), answered]}
        stage.clock.advance(session_ms)
        await stage.access.heartbeat(Heartbeat(metadata_offset=1))
        stage.clock.advance(session_ms)
        with pytest.raises(Disconnected):
            await stage.access.heartbeat(Heartbeat(metadata_offset=1))
        lost = [stage.access.is_cut_off]
        stage.clock.advance(1)
        lost.append(stage.access.is_cut_off)
        await stage.access.heartbeat(Heartbeat(metadata_offset=1))
        lost.append(stage.access.is_cut_off)
        assert lost == [False, True, False]

    run(scenario)


def test_a_refused_registration_raises_the_reason() -> None:
    async def scenario(stage: Stage) -> None:
        refused = BrokerRegistrationResponse(error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION)
        stage.network.answers = {BrokerRegistrationRequest: [refused]}
        with pytest.raises(Refusal) as caught:
            await stage.access.register(registration(2), "cluster")
        assert caught.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION

    run(scenario)


def test_without_a_leader_no_request_is_sent() -> None:
    async def scenario(stage: Stage) -> None:
        stage.view.leader = None
        with pytest.raises(NoController):
            await stage.access.heartbeat(Heartbeat(metadata_offset=1))
        assert stage.network.opened == []

    run(scenario)


def test_the_controller_of_this_node_is_asked_without_a_connection() -> None:
    async def scenario(stage: Stage) -> None:
        stage.view.is_active = True
        await start(stage.controller, registration(2))
        stage.membership = Membership(stage.controller, stage.clock, no_broker_refuses)
        await stage.access.register(registration(2), "cluster")
        assert not (await stage.access.heartbeat(Heartbeat(metadata_offset=99))).is_fenced
        first, second = [await stage.access.allocate_producer_ids() for _ in range(2)]
        assert set(first).isdisjoint(second)
        assert stage.network.opened == []

    run(scenario)


def test_a_request_that_reached_no_controller_is_retried_at_the_next_one() -> None:
    async def scenario(stage: Stage) -> None:
        stage.network.answers = {
            EnvelopeRequest: [
                EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER),
                ConnectionResetError(),
                ProtocolError("?"),
                EnvelopeResponse(response_data=b"done"),
            ]
        }
        assert await stage.result(stage.access.forward(b"frame", b"", b"", 10_000)) == b"done"
        assert [each.request_data for _, each in stage.network.requests] == [b"frame"] * 4

    run(scenario)


def test_a_refused_forwarded_request_is_not_retried() -> None:
    async def scenario(stage: Stage) -> None:
        stage.network.answers = {EnvelopeRequest: [EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)]}
        with pytest.raises(Refusal):
            await stage.result(stage.access.forward(b"frame", b"", b"", 10_000))
        assert len(stage.network.requests) == 1

    run(scenario)


def test_forwarding_ends_at_its_timeout() -> None:
    async def scenario(stage: Stage) -> None:
        stage.view.leader = None
        with pytest.raises(NoController):
            await stage.result(stage.access.forward(b"frame", b"", b"", 500))

    run(scenario)


def test_a_request_is_returned_when_this_node_becomes_the_controller() -> None:
    async def scenario(stage: Stage) -> None:
        stage.view.leader = None
        forwarded = asyncio.ensure_future(stage.result(stage.access.forward(b"frame", b"", b"", 10_000)))
        await asyncio.sleep(0)
        stage.view.is_active = True
        with pytest.raises(ControllerIsLocal):
            await forwarded

    run(scenario)


def test_a_request_to_a_replaced_leader_is_answered_by_the_new_one() -> None:
    async def scenario(stage: Stage) -> None:
        stage.network.answers = {EnvelopeRequest: [None, EnvelopeResponse(response_data=b"done")]}
        task = asyncio.ensure_future(stage.access.forward(b"frame", b"", b"", 10_000))
        while not stage.network.requests:
            await asyncio.sleep(0)
        stage.view.leader = endpoint(2)
        stage.access.leader_changed()
        assert await stage.result(task) == b"done"
        assert [port for port, _ in stage.network.requests] == [1, 2]

    run(scenario)


def test_a_request_in_progress_is_not_retried_because_the_leader_is_silent_for_a_while() -> None:
    async def scenario(stage: Stage) -> None:
        stage.network.answers = {EnvelopeRequest: [None, EnvelopeResponse(response_data=b"done")]}
        task = asyncio.ensure_future(stage.access.forward(b"frame", b"", b"", 10_000))
        while not stage.network.requests:
            await asyncio.sleep(0)
        for leader in (None, endpoint(1)):
            stage.view.leader = leader
            stage.access.leader_changed()
            for _ in range(20):
                await asyncio.sleep(0)
        assert [port for port, _ in stage.network.requests] == [1]
        stage.view.leader = endpoint(2)
        stage.access.leader_changed()
        assert await stage.result(task) == b"done"

    run(scenario)


def test_a_slow_forwarded_request_delays_no_heartbeat() -> None:
    """Nor does a client that goes away while it waits."""

    async def scenario(stage: Stage) -> None:
        stage.network.answers = {
            EnvelopeRequest: [None],
            BrokerHeartbeatRequest: [BrokerHeartbeatResponse(is_caught_up=True)],
        }
        forwarding = asyncio.ensure_future(stage.access.forward(b"frame", b"", b"", 10_000))
        while not stage.network.requests:
            await asyncio.sleep(0)
        await stage.access.heartbeat(Heartbeat(metadata_offset=1))
        forwarding.cancel()
        await asyncio.gather(forwarding, return_exceptions=True)
        await stage.access.heartbeat(Heartbeat(metadata_offset=1))
        assert stage.network.opened == [1, 1], "one connection for clients, one for the broker itself"

    run(scenario)


def test_a_refused_block_of_producer_ids_is_a_retriable_error() -> None:
    async def scenario(stage: Stage) -> None:
        stage.network.answers = {
            AllocateProducerIdsRequest: [AllocateProducerIdsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)]
        }
        with pytest.raises(NoProducerIds) as caught:
            await stage.result(stage.access.allocate_producer_ids())
        assert caught.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        stage.view.leader = None
        with pytest.raises(NoProducerIds):
            await stage.result(stage.access.allocate_producer_ids())

    run(scenario)


def test_producer_ids_come_in_the_block_that_the_controller_grants() -> None:
    async def scenario(stage: Stage) -> None:
        granted = AllocateProducerIdsResponse(producer_id_start=3000, producer_id_len=1000)
        stage.network.answers = {AllocateProducerIdsRequest: [granted]}
        assert await stage.access.allocate_producer_ids() == range(3000, 4000)

    run(scenario)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            CreateTopicsResponse(
                topics=[CreatableTopicResult(name="t", error_code=ErrorCode.TOPIC_ALREADY_EXISTS)]
            ),
            ErrorCode.TOPIC_ALREADY_EXISTS,
        ),
        (ConnectionResetError(), ErrorCode.LEADER_NOT_AVAILABLE),
    ],
)
def test_an_auto_created_topic_is_created_by_the_controller(answer: Answer, expected: ErrorCode) -> None:
    async def scenario(stage: Stage) -> None:
        stage.network.answers = {CreateTopicsRequest: [answer]}
        assert (await stage.access.auto_create_topic("t")).error is expected
        _, request = stage.network.requests[0]
        assert [topic.name for topic in request.topics] == ["t"]

    run(scenario)
