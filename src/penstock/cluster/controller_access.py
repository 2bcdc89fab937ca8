"""Calls the active controller: this node's own, or another node over the network.

The leader of the metadata quorum is the active controller. A request that finds no leader, or a former one, is retried
until it is answered or times out.

Clients' requests have a separate connection: a topic that takes long to create must not delay a heartbeat.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from penstock.client.connection import Connection
from penstock.client.core.handshake import BrokerInfo
from penstock.cluster.controller import wire
from penstock.cluster.controller.alter_partition import InSyncChange, InSyncChanged
from penstock.cluster.controller.brokers import BrokerRegistration
from penstock.cluster.controller.controller import Controller
from penstock.cluster.controller.controllers import ControllerRegistration
from penstock.cluster.controller.create_topics import TopicCreated
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.heartbeats import Heartbeat
from penstock.cluster.controller.internal_topics import auto_created_topic
from penstock.cluster.controller.membership import HeartbeatAnswer, Membership
from penstock.cluster.controller.session_timing import session_timeout_ms
from penstock.cluster.peers import PeerChannel
from penstock.config.listeners import Endpoint
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from penstock.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from penstock.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from penstock.runtime.clock import Clock
from penstock.storage.errors import LogError

T = TypeVar("T")
CreateTopic = Callable[[str], Awaitable[TopicCreated]]
"""Creates a topic on first use: `ControllerAccess.auto_create_topic`."""

_CREATE_TOPICS, _ALTER_PARTITION, _ENVELOPE = (19, 7), (56, 3), (58, 0)
_REGISTER, _HEARTBEAT, _ALLOCATE, _REGISTER_CONTROLLER = (62, 4), (63, 1), (67, 0), (70, 0)
_REQUEST_MS_MAX = 2_000
_FORWARDED_MS_MAX = 10_000  # an early retry would do it twice
_OUTCOME_MS_MAX = 3_000  # until a former leader knows the outcome of its decisions
_RETRY_MS = 20


class NoController(ConnectionError):
    """The metadata quorum has no leader that this node knows."""


class ControllerIsLocal(Exception):
    """The active controller is this node now: the caller handles the request itself."""


class NoProducerIds(LogError):
    """No controller has granted producer ids: the client retries."""

    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


class QuorumView(Protocol):
    """The part of the quorum that is needed here: its leader."""

    @property
    def is_active(self) -> bool:
        """Whether this node leads and has applied everything that was committed before it did."""
        ...

    @property
    def voter_ids(self) -> Collection[int]: ...

    @property
    def leader(self) -> Endpoint | None:
        """The endpoint of the leader, if it is another node and known."""
        ...


class ControllerAccess:
    def __init__(
        self,
        controller: Controller,
        membership: Callable[[], Membership | None],
        quorum: QuorumView,
        dial: Callable[[Endpoint], Awaitable[Connection]],
        *,
        clock: Clock,
    ) -> None:
        self._controller = controller
        self._membership = membership
        self._quorum = quorum
        self._clock = clock
        self._own = _ControllerConnection(quorum, dial, clock, timeout_ms=_REQUEST_MS_MAX, patience_ms=0)
        self._forwarded = _ControllerConnection(
            quorum, dial, clock, timeout_ms=_FORWARDED_MS_MAX, patience_ms=_OUTCOME_MS_MAX
        )
        self.broker_id = controller.config.node_id
        self.broker_epoch = -1
        self._heard_ms = clock.monotonic_ms()

    @property
    def is_cut_off(self) -> bool:
        """Whether no controller has answered a heartbeat for a session: this broker is fenced by now."""
        silence_ms = self._clock.monotonic_ms() - self._heard_ms
        is_mixed = bool(self._controller.image.kafka_nodes(self._quorum.voter_ids))
        return silence_ms > session_timeout_ms(self._controller.config, is_kafka=is_mixed)

    # -- requests of this broker -----------------------------------------------------------------------

    async def register(self, broker: BrokerRegistration, cluster_id: str) -> int:
        """Register this broker; returns its epoch. Raises `Refusal`, `OSError` or `ProtocolError`."""
        membership = self._membership()
        if self._quorum.is_active and membership is not None:
            self.broker_epoch = await self._controller.register_broker(broker, fenced=False)
        else:
            response = await self._own.ask(*_REGISTER, wire.registration_request(broker, cluster_id))
            self.broker_epoch = wire.registration_epoch(response)
        return self.broker_epoch

    async def heartbeat(self, wanted: Heartbeat) -> HeartbeatAnswer:
        membership = self._membership()
        if self._quorum.is_active and membership is not None:
            answer = await membership.heartbeat(self.broker_id, self.broker_epoch, wanted)
        else:
            request = wire.heartbeat_request(self.broker_id, self.broker_epoch, wanted)
            answer = wire.heartbeat_answer(await self._own.ask(*_HEARTBEAT, request))
        self._heard_ms = self._clock.monotonic_ms()
        return answer

    async def register_controller(self, controller: ControllerRegistration) -> None:
        """Register this node as a controller. Raises `Refusal`, `LogError`, `OSError` or `ProtocolError`."""
        if self._quorum.is_active:
            await self._controller.register_controller(controller)
            return
        request = wire.controller_registration_request(controller)
        response = await self._own.ask(*_REGISTER_CONTROLLER, request)
        wire.check(response.error_code, "this controller's registration")

    async def alter_partitions(self, changes: Sequence[InSyncChange]) -> Sequence[InSyncChanged]:
        if self._quorum.is_active:
            return await self._controller.alter_partitions(self.broker_id, self.broker_epoch, changes)
        request = wire.in_sync_request(self.broker_id, self.broker_epoch, changes)
        return wire.in_sync_results(await self._own.ask(*_ALTER_PARTITION, request))

    async def allocate_producer_ids(self) -> range:
        """Raises `LogError`."""

        async def ask() -> range:
            if self._quorum.is_active:
                block = await self._controller.allocate_producer_ids(self.broker_id, self.broker_epoch)
                return range(block.first_id, block.first_id + block.size)
            request = AllocateProducerIdsRequest(broker_id=self.broker_id, broker_epoch=self.broker_epoch)
            response: AllocateProducerIdsResponse = await self._own.ask(*_ALLOCATE, request)
            wire.check(response.error_code, "producer ids")
            first_id = response.producer_id_start
            return range(first_id, first_id + response.producer_id_len)

        try:
            return await self._until_answered(ask, _REQUEST_MS_MAX * 5)
        except (Refusal, OSError, ProtocolError) as error:
            raise NoProducerIds(str(error) or type(error).__name__) from error

    async def auto_create_topic(self, name: str) -> TopicCreated:
        """Create a topic on first use; TOPIC_ALREADY_EXISTS when another request was first."""
        if self._controller.is_active:
            return await self._controller.auto_create_topic(name)
        wanted = auto_created_topic(self._controller.image, self._controller.config, name)
        topic = CreatableTopic(
            name=wanted.name,
            num_partitions=wanted.num_partitions,
            replication_factor=wanted.replication_factor,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in wanted.configs],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=_REQUEST_MS_MAX)
        try:
            response: CreateTopicsResponse = await self._own.ask(*_CREATE_TOPICS, request)
        except (OSError, ProtocolError) as error:
            return TopicCreated(name=name, error=ErrorCode.LEADER_NOT_AVAILABLE, message=str(error))
        made = response.topics[0]
        return TopicCreated(name=name, error=ErrorCode(made.error_code), message=made.error_message)

    # -- requests of clients ---------------------------------------------------------------------------

    async def forward(self, frame: bytes, principal: bytes, host: bytes, timeout_ms: float) -> bytes:
        """Forward a client's request to the controller; returns the response, both with their headers (KIP-590).

        Raises `OSError` or `ProtocolError` when no controller answers in time, `Refusal` when it refuses the envelope,
        and `ControllerIsLocal` when this node is the active controller.
        """
        request = EnvelopeRequest(request_data=frame, request_principal=principal, client_host_address=host)

        async def ask() -> bytes:
            if self._quorum.is_active:
                raise ControllerIsLocal
            response: EnvelopeResponse = await self._forwarded.ask(*_ENVELOPE, request)
            wire.check(response.error_code, "a forwarded request")
            return bytes(response.response_data or b"")

        return await self._until_answered(ask, timeout_ms)

    @property
    def forwarded_versions(self) -> Mapping[int, tuple[int, int]]:
        """The API versions of the controller that requests are forwarded to; empty if it is this node, or unknown."""
        peer = None if self._quorum.is_active else self._own.peer
        return {} if peer is None else peer.versions

    # -- connections -----------------------------------------------------------------------------------

    def leader_changed(self) -> None:
        self._own.leader_changed()
        self._forwarded.leader_changed()

    async def _until_answered(self, ask: Callable[[], Awaitable[T]], timeout_ms: float) -> T:
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        while True:
            try:
                return await ask()
            except Refusal as refusal:
                if refusal.code is not ErrorCode.NOT_CONTROLLER or self._clock.monotonic_ms() >= deadline_ms:
                    raise
            except (OSError, ProtocolError):
                if self._clock.monotonic_ms() >= deadline_ms:
                    raise
            await self._clock.sleep(_RETRY_MS)

    async def close(self) -> None:
        await self._own.close()
        await self._forwarded.close()


class _ControllerConnection:
    """One connection to the current leader. A former leader has `patience_ms` to answer earlier requests."""

    def __init__(
        self,
        quorum: QuorumView,
        dial: Callable[[Endpoint], Awaitable[Connection]],
        clock: Clock,
        *,
        timeout_ms: int,
        patience_ms: int,
    ) -> None:
        self._quorum = quorum
        self._dial = dial
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._patience_ms = patience_ms
        self._channel = self._new_channel()
        self._connected_to: Endpoint | None = None
        self._leaving: set[asyncio.Task[None]] = set()

    def _new_channel(self) -> PeerChannel:
        return PeerChannel(self._connect, lambda: self._timeout_ms)

    @property
    def peer(self) -> BrokerInfo | None:
        return self._channel.peer

    async def ask(self, api_key: int, newest: int, request: Any) -> Any:
        """Raises `OSError` or `ProtocolError`."""
        leader = self._quorum.leader
        if leader is None:
            raise NoController("the metadata quorum has no leader at the moment")
        if leader != self._connected_to:
            self._leave()
            self._connected_to = leader
        channel = self._channel
        try:
            return await channel.call(api_key, newest, request)
        except (OSError, ProtocolError):
            await channel.close()
            raise

    def leader_changed(self) -> None:
        """Drop the connection to a former leader after a while: it may be suspended, and never answer.

        Keep it while no other leader is known: the old one may still lead, and a retry would do the work twice.
        """
        leader = self._quorum.leader
        is_replaced = leader is not None and leader != self._connected_to
        if self._connected_to is not None and (is_replaced or self._quorum.is_active):
            self._leave()

    def _leave(self) -> None:
        former, self._channel, self._connected_to = self._channel, self._new_channel(), None
        if not self._patience_ms:
            former.drop()
            return
        task = asyncio.get_running_loop().create_task(self._drop_later(former))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _drop_later(self, former: PeerChannel) -> None:
        try:
            await self._clock.sleep(self._patience_ms)
        finally:
            former.drop()

    async def _connect(self) -> Connection:
        if self._connected_to is None:
            raise NoController("the metadata quorum has no leader at the moment")
        return await self._dial(self._connected_to)

    async def close(self) -> None:
        for task in self._leaving:
            task.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)
        await self._channel.close()
