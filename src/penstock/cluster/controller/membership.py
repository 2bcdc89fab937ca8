"""The brokers of the cluster as the active controller keeps them: who registers, who is heard of, who is fenced.

A broker registers, which makes it known but fenced; is unfenced by a heartbeat that shows it knows the metadata up to
its registration; and is fenced again when it is not heard of for a session. One that wants to stop hands its
leaderships over first.
"""

import asyncio
import logging

import msgspec

from penstock.cluster.controller.brokers import BrokerRegistration, check_broker_epoch
from penstock.cluster.controller.controller import Controller
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.health import has_leaderships
from penstock.cluster.controller.heartbeats import Condition, Sessions, Verdict, Wanted, judge
from penstock.config.themes.replication import BROKER_SESSION_TIMEOUT_MS
from penstock.observability.clock import Clock
from penstock.protocol.errors import ErrorCode

log = logging.getLogger(__name__)


class HeartbeatAnswer(msgspec.Struct, frozen=True, kw_only=True):
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


class Membership:
    """Kept by one controller, from when it becomes active until it is not any more."""

    def __init__(self, controller: Controller, clock: Clock) -> None:
        self._controller = controller
        self._clock = clock
        self._sessions = Sessions(controller.config[BROKER_SESSION_TIMEOUT_MS])
        self._sooner = asyncio.Event()
        for broker in controller.image.brokers.values():
            if not broker.fenced and broker.broker_id != controller.config.node_id:
                self._sessions.expect(broker.broker_id, self._now_ms())

    def _now_ms(self) -> int:
        return int(self._clock.monotonic_ms())

    async def register(self, broker: BrokerRegistration, cluster_id: str) -> int:
        """Make a broker known, and give its epoch. Raises `Refusal`."""
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
        if known is not None and known.incarnation_id == broker.incarnation_id:
            epoch = known.epoch  # its first try was answered too late
        else:
            epoch = await self._controller.register_broker(broker, fenced=True)
        self._sessions.heard(broker.broker_id, self._now_ms(), -1)
        self._sooner.set()
        return epoch

    async def heartbeat(self, broker_id: int, broker_epoch: int, wanted: Wanted) -> HeartbeatAnswer:
        """Take in that a broker is alive, and act on what it wants to be. Raises `Refusal`."""
        controller = self._controller
        check_broker_epoch(controller.image, broker_id, broker_epoch)
        if broker_id != controller.config.node_id:  # the controller's own broker needs no proof of life
            self._sessions.heard(broker_id, self._now_ms(), wanted.metadata_offset)
            self._sooner.set()
        if wanted.offline_log_dirs and not controller.image.brokers[broker_id].has_failed_disk:
            await self._take_disk_offline(broker_id, wanted)
        broker = controller.image.brokers[broker_id]
        condition = Condition(
            is_fenced=broker.fenced,
            is_draining=broker.in_controlled_shutdown,
            registered_at=broker.epoch,
            has_leaderships=wanted.wants_shutdown and has_leaderships(controller.image, broker_id),
        )
        verdict = judge(condition, wanted, has_drained=self._sessions.has_drained(broker_id))
        if verdict is Verdict.UNFENCE:
            await controller.unfence_broker(broker_id)
        elif verdict is Verdict.FENCE:
            await controller.fence_broker(broker_id)
        elif verdict is Verdict.DRAIN:
            await controller.drain_broker(broker_id)
            self._sessions.draining(broker_id, controller.image.offset)
        elif verdict is Verdict.STOP:
            await controller.fence_broker(broker_id)
            self._sessions.forget(broker_id)
        after = controller.image.brokers.get(broker_id)
        return HeartbeatAnswer(
            is_caught_up=wanted.metadata_offset >= broker.epoch,
            is_fenced=after is None or after.fenced,
            should_shut_down=verdict is Verdict.STOP,
        )

    async def _take_disk_offline(self, broker_id: int, wanted: Wanted) -> None:
        await self._controller.take_disk_offline(broker_id, wanted.offline_log_dirs)
        if self._controller.image.brokers[broker_id].has_failed_disk:
            log.warning(
                "the disk of broker %d has failed: others lead what they can of what it led", broker_id
            )

    def is_alive(self, broker_id: int) -> bool:
        return self._sessions.is_alive(broker_id, self._now_ms())

    async def watch(self) -> None:
        """Fence whoever is not heard of for a session, until cancelled."""
        while True:
            await self._next_expiry()
            for broker_id in self._sessions.expired(self._now_ms()):
                self._sessions.forget(broker_id)
                if broker_id not in self._controller.image.brokers:  # it was removed, and nobody misses it
                    continue
                log.warning(
                    "broker %d was not heard of for %d ms: it is fenced", broker_id, self._sessions.timeout_ms
                )
                await self._controller.fence_broker(broker_id)

    async def _next_expiry(self) -> None:
        expiry_ms = self._sessions.next_expiry_ms()
        if expiry_ms is None:
            self._sooner.clear()
            await self._sooner.wait()
            return
        await self._clock.sleep(max(1, expiry_ms - self._now_ms()))
