"""The sessions of brokers with the active controller: registration, heartbeats, fencing, controlled shutdown.

A broker that registers is fenced. A heartbeat unfences it when the broker knows the metadata up to its registration. It
is fenced again after a session without heartbeats, or as soon as its address refuses connections
(`failure_detector`). A broker that shuts down hands over its leaderships first.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from penstock.cluster.controller.broker_health import has_leaderships
from penstock.cluster.controller.brokers import BrokerRegistration, check_broker_epoch
from penstock.cluster.controller.controller import Controller
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.failure_detector import FailureDetector
from penstock.cluster.controller.heartbeats import (
    BrokerCondition,
    Heartbeat,
    HeartbeatAction,
    Sessions,
    decide_heartbeat,
)
from penstock.cluster.controller.session_timing import heartbeat_interval_ms, session_timeout_ms
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import Clock, sleep_or

log = logging.getLogger(__name__)

Refuses = Callable[[int], Awaitable[bool]]
"""Whether a broker's listener refuses connections. No answer is no refusal."""


class HeartbeatAnswer(msgspec.Struct, frozen=True, kw_only=True):
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


class Membership:
    """Exists while this node is the active controller."""

    def __init__(self, controller: Controller, clock: Clock, refuses: Refuses) -> None:
        self._controller = controller
        self._clock = clock
        self._refuses = refuses
        self._sessions = Sessions(self._session_timeout_ms)
        self._detector = FailureDetector(self._heartbeat_interval_ms)
        self._wakeup = asyncio.Event()
        for broker in controller.image.brokers.values():
            if not broker.fenced and broker.broker_id != controller.config.node_id:
                self._sessions.expect(broker.broker_id, self._now_ms())
                self._detector.expect(broker.broker_id, self._now_ms())

    def _session_timeout_ms(self, broker_id: int) -> int:
        return session_timeout_ms(self._controller.config, is_kafka=self._is_kafka(broker_id))

    def _heartbeat_interval_ms(self, broker_id: int) -> int:
        return heartbeat_interval_ms(self._controller.config, is_kafka=self._is_kafka(broker_id))

    def _is_kafka(self, broker_id: int) -> bool:
        broker = self._controller.image.brokers.get(broker_id)
        return broker is not None and broker.is_kafka

    def _now_ms(self) -> int:
        return int(self._clock.monotonic_ms())

    async def register(self, broker: BrokerRegistration, cluster_id: str) -> int:
        """Register a broker; returns its epoch. Raises `Refusal`."""
        image = self._controller.image
        if cluster_id != image.cluster_id:
            raise Refusal(
                ErrorCode.INCONSISTENT_CLUSTER_ID,
                f"Expected cluster ID {image.cluster_id}, but got cluster ID {cluster_id}",
            )
        known = image.brokers.get(broker.broker_id)
        if (
            known is not None
            and known.incarnation_id != broker.incarnation_id
            and not known.fenced
            and self._sessions.is_alive(broker.broker_id, self._now_ms())
        ):
            raise Refusal(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION,
                f"Another broker is registered with that broker id. If the broker {broker.broker_id} was recently "
                "restarted this should self-resolve once the heartbeat manager expires the broker's session.",
            )
        epoch = await self._controller.register_broker(broker, fenced=True)
        if known is None or known.incarnation_id != broker.incarnation_id:
            self._detector.on_registration(broker.broker_id)
        self._record_heartbeat(broker.broker_id, -1)
        return epoch

    def _record_heartbeat(self, broker_id: int, metadata_offset: int) -> None:
        now_ms = self._now_ms()
        is_first = self._next_ms() is None
        self._sessions.record_heartbeat(broker_id, now_ms, metadata_offset)
        self._detector.on_heartbeat(broker_id, now_ms)
        if is_first:
            self._wakeup.set()

    def on_disconnect(self, broker_id: int) -> None:
        """The connection of a broker's heartbeats has ended."""
        self._detector.on_disconnect(broker_id, self._now_ms())
        self._wakeup.set()

    async def heartbeat(self, broker_id: int, broker_epoch: int, wanted: Heartbeat) -> HeartbeatAnswer:
        """Extend a broker's session, and change its state as it asks. Raises `Refusal`."""
        controller = self._controller
        check_broker_epoch(controller.image, broker_id, broker_epoch)
        if broker_id != controller.config.node_id:  # the controller's own broker has no session
            self._record_heartbeat(broker_id, wanted.metadata_offset)
        await self._note_directories(broker_id, broker_epoch, wanted)
        check_broker_epoch(controller.image, broker_id, broker_epoch)
        broker = controller.image.brokers[broker_id]
        condition = BrokerCondition(
            is_fenced=broker.fenced,
            is_draining=broker.in_controlled_shutdown,
            registered_at=broker.epoch,
            has_leaderships=wanted.wants_shutdown and has_leaderships(controller.image, broker_id),
        )
        verdict = decide_heartbeat(condition, wanted, has_drained=self._sessions.has_drained(broker_id))
        if verdict is HeartbeatAction.UNFENCE:
            await controller.unfence_broker(broker_id, broker_epoch)
        elif verdict is HeartbeatAction.FENCE:
            await controller.fence_broker(broker_id, broker_epoch)
        elif verdict is HeartbeatAction.DRAIN:
            await controller.drain_broker(broker_id, broker_epoch)
            self._sessions.draining(broker_id, controller.image.offset)
        elif verdict is HeartbeatAction.STOP:
            await controller.fence_broker(broker_id, broker_epoch)
            self._forget(broker_id)
        after = controller.image.brokers.get(broker_id)
        return HeartbeatAnswer(
            is_caught_up=wanted.metadata_offset >= broker.epoch,
            is_fenced=after is None or after.fenced,
            should_shut_down=verdict is HeartbeatAction.STOP,
        )

    async def _note_directories(self, broker_id: int, broker_epoch: int, wanted: Heartbeat) -> None:
        broker = self._controller.image.brokers[broker_id]
        if not set(broker.log_dirs).isdisjoint(wanted.offline_log_dirs):
            await self._take_disk_offline(broker_id, broker_epoch, wanted)
        cordoned = wanted.cordoned_log_dirs
        if cordoned is not None and set(cordoned) != set(broker.cordoned_log_dirs or ()):
            await self._controller.cordon_directories(broker_id, broker_epoch, cordoned)

    async def _take_disk_offline(self, broker_id: int, broker_epoch: int, wanted: Heartbeat) -> None:
        await self._controller.take_disk_offline(broker_id, broker_epoch, wanted.offline_log_dirs)
        broker = self._controller.image.brokers.get(broker_id)
        if broker is not None and broker.has_failed_disk:
            log.warning(
                "Disk failure on broker %d: other replicas take over its leaderships where possible",
                broker_id,
            )

    def is_alive(self, broker_id: int) -> bool:
        return self._sessions.is_alive(broker_id, self._now_ms())

    def _forget(self, broker_id: int) -> None:
        self._sessions.forget(broker_id)
        self._detector.forget(broker_id)

    async def watch(self) -> None:
        """Fence brokers that are dead, or that sent no heartbeat for a session, until cancelled."""
        while True:
            await self._wait_until_due()
            await self._probe_brokers()
            for broker_id in self._sessions.expired(self._now_ms()):
                if not self.is_alive(broker_id):  # a heartbeat may have come while another broker was fenced
                    await self._fence(broker_id, f"no heartbeat for {self._session_timeout_ms(broker_id)} ms")

    async def _probe_brokers(self) -> None:
        """Fence the brokers whose addresses refuse connections: see `failure_detector`."""
        brokers = self._controller.image.brokers
        probed = [
            each
            for each in self._detector.begin_probes(self._now_ms())
            if each in brokers and not brokers[each].fenced  # a fenced one leads nothing
        ]
        refusals = await asyncio.gather(*map(self._refuses, probed))
        for broker_id, refuses in zip(probed, refusals, strict=True):
            if self._detector.is_dead(broker_id, refuses=refuses):
                await self._fence(broker_id, "its address refuses connections")

    async def _fence(self, broker_id: int, reason: str) -> None:
        broker = self._controller.image.brokers.get(broker_id)
        last_heard_ms = self._sessions.last_heard_ms(broker_id)
        if broker is not None:  # else it was unregistered
            try:
                await self._controller.fence_broker(broker_id, broker.epoch)
            except Refusal:  # it has registered again, and is fenced until its next heartbeat
                return
            log.warning("Fenced broker %d: %s", broker_id, reason)
        if self._sessions.last_heard_ms(broker_id) == last_heard_ms:
            self._forget(broker_id)

    async def _wait_until_due(self) -> None:
        """Wait until a probe is due or a session ends."""
        self._wakeup.clear()
        next_ms = self._next_ms()
        if next_ms is None:
            await self._wakeup.wait()
            return
        await sleep_or(self._clock, max(1, next_ms - self._now_ms()), self._wakeup)

    def _next_ms(self) -> int | None:
        times = (self._sessions.next_expiry_ms(), self._detector.next_probe_ms)
        return min((each for each in times if each is not None), default=None)
