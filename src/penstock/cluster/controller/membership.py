"""The brokers of the cluster as the active controller keeps them: who registers, who is heard of, who is fenced.

A broker registers, which makes it known but fenced; is unfenced by a heartbeat that shows it knows the metadata up to
its registration; and is fenced again when it is not heard of for a session, or as soon as nobody listens at its address
any more (`doubts`). One that wants to stop hands its leaderships over first.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from penstock.cluster.controller.brokers import BrokerRegistration, check_broker_epoch
from penstock.cluster.controller.controller import Controller
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.doubts import Doubts
from penstock.cluster.controller.health import has_leaderships
from penstock.cluster.controller.heartbeats import Condition, Sessions, Verdict, Wanted, judge
from penstock.config.themes.replication import BROKER_HEARTBEAT_INTERVAL_MS, BROKER_SESSION_TIMEOUT_MS
from penstock.observability.clock import Clock, sleep_or
from penstock.protocol.errors import ErrorCode

log = logging.getLogger(__name__)

Refuses = Callable[[int], Awaitable[bool]]
"""Whether a broker's listener refuses connections. Where there is no answer it does not."""


class HeartbeatAnswer(msgspec.Struct, frozen=True, kw_only=True):
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


class Membership:
    """Kept by one controller, from when it becomes active until it is not any more."""

    def __init__(self, controller: Controller, clock: Clock, refuses: Refuses) -> None:
        self._controller = controller
        self._clock = clock
        self._refuses = refuses
        self._sessions = Sessions(controller.config[BROKER_SESSION_TIMEOUT_MS])
        self._doubts = Doubts(controller.config[BROKER_HEARTBEAT_INTERVAL_MS])
        self._sooner = asyncio.Event()
        for broker in controller.image.brokers.values():
            if not broker.fenced and broker.broker_id != controller.config.node_id:
                self._sessions.expect(broker.broker_id, self._now_ms())
                self._doubts.expect(broker.broker_id, self._now_ms())

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
        epoch = await self._controller.register_broker(broker, fenced=True)
        if known is None or known.incarnation_id != broker.incarnation_id:
            self._doubts.registers(broker.broker_id)
        self._heard(broker.broker_id, -1)
        return epoch

    def _heard(self, broker_id: int, metadata_offset: int) -> None:
        now_ms = self._now_ms()
        is_first = self._next_ms() is None
        self._sessions.heard(broker_id, now_ms, metadata_offset)
        self._doubts.heard(broker_id, now_ms)
        if is_first:
            self._sooner.set()

    def lost(self, broker_id: int) -> None:
        """The connection on which a broker's heartbeats came has ended."""
        self._doubts.lost(broker_id, self._now_ms())
        self._sooner.set()

    async def heartbeat(self, broker_id: int, broker_epoch: int, wanted: Wanted) -> HeartbeatAnswer:
        """Take in that a broker is alive, and act on what it wants to be. Raises `Refusal`."""
        controller = self._controller
        check_broker_epoch(controller.image, broker_id, broker_epoch)
        if broker_id != controller.config.node_id:  # the controller's own broker needs no proof of life
            self._heard(broker_id, wanted.metadata_offset)
        if wanted.offline_log_dirs and not controller.image.brokers[broker_id].has_failed_disk:
            await self._take_disk_offline(broker_id, broker_epoch, wanted)
            check_broker_epoch(controller.image, broker_id, broker_epoch)
        broker = controller.image.brokers[broker_id]
        condition = Condition(
            is_fenced=broker.fenced,
            is_draining=broker.in_controlled_shutdown,
            registered_at=broker.epoch,
            has_leaderships=wanted.wants_shutdown and has_leaderships(controller.image, broker_id),
        )
        verdict = judge(condition, wanted, has_drained=self._sessions.has_drained(broker_id))
        if verdict is Verdict.UNFENCE:
            await controller.unfence_broker(broker_id, broker_epoch)
        elif verdict is Verdict.FENCE:
            await controller.fence_broker(broker_id, broker_epoch)
        elif verdict is Verdict.DRAIN:
            await controller.drain_broker(broker_id, broker_epoch)
            self._sessions.draining(broker_id, controller.image.offset)
        elif verdict is Verdict.STOP:
            await controller.fence_broker(broker_id, broker_epoch)
            self._forget(broker_id)
        after = controller.image.brokers.get(broker_id)
        return HeartbeatAnswer(
            is_caught_up=wanted.metadata_offset >= broker.epoch,
            is_fenced=after is None or after.fenced,
            should_shut_down=verdict is Verdict.STOP,
        )

    async def _take_disk_offline(self, broker_id: int, broker_epoch: int, wanted: Wanted) -> None:
        await self._controller.take_disk_offline(broker_id, broker_epoch, wanted.offline_log_dirs)
        broker = self._controller.image.brokers.get(broker_id)
        if broker is not None and broker.has_failed_disk:
            log.warning(
                "the disk of broker %d has failed: others lead what they can of what it led", broker_id
            )

    def is_alive(self, broker_id: int) -> bool:
        return self._sessions.is_alive(broker_id, self._now_ms())

    def _forget(self, broker_id: int) -> None:
        self._sessions.forget(broker_id)
        self._doubts.forget(broker_id)

    async def watch(self) -> None:
        """Fence whoever is gone, or is not heard of for a session, until cancelled."""
        while True:
            await self._next_turn()
            await self._look()
            for broker_id in self._sessions.expired(self._now_ms()):
                if not self.is_alive(broker_id):  # it may have been heard of while another was fenced
                    await self._fence(broker_id, f"it was not heard of for {self._sessions.timeout_ms} ms")

    async def _look(self) -> None:
        """Fence those that nobody can have heard of because they are gone: see `doubts`."""
        brokers = self._controller.image.brokers
        looked_at = [
            each
            for each in self._doubts.begin(self._now_ms())
            if each in brokers and not brokers[each].fenced  # else it leads nothing that another could
        ]
        refusals = await asyncio.gather(*map(self._refuses, looked_at))
        for broker_id, refuses in zip(looked_at, refusals, strict=True):
            if self._doubts.is_dead(broker_id, refuses=refuses):
                await self._fence(broker_id, "nobody listens at its address any more")

    async def _fence(self, broker_id: int, reason: str) -> None:
        broker = self._controller.image.brokers.get(broker_id)
        last_heard_ms = self._sessions.last_heard_ms(broker_id)
        if broker is not None:  # else it was removed, and nobody misses it
            try:
                await self._controller.fence_broker(broker_id, broker.epoch)
            except Refusal:  # it registered anew meanwhile, and is fenced until it is heard of
                return
            log.warning("Fenced broker %d: %s", broker_id, reason)
        if self._sessions.last_heard_ms(broker_id) == last_heard_ms:
            self._forget(broker_id)

    async def _next_turn(self) -> None:
        """Wait until there is something to look at, or to give up."""
        self._sooner.clear()
        next_ms = self._next_ms()
        if next_ms is None:
            await self._sooner.wait()
            return
        await sleep_or(self._clock, max(1, next_ms - self._now_ms()), self._sooner)

    def _next_ms(self) -> int | None:
        times = (self._sessions.next_expiry_ms(), self._doubts.next_ms)
        return min((each for each in times if each is not None), default=None)
