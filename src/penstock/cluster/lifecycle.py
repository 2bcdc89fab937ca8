"""A broker's session with the controller: registration, heartbeats, controlled shutdown.

    register ──> heartbeats (fenced until it has applied its own registration) ──> wants to stop ──> may stop

A broker that was fenced because it was slow or cut off keeps sending heartbeats, and the first that arrives unfences
it. A broker whose disk has failed reports that in every heartbeat (KIP-858), and may stop at once. A broker must stop
if its registration is gone or belongs to another process: it was unregistered, or two brokers have one id. It learns
that from the metadata, or from a controller that refuses its heartbeat.
"""

import asyncio
import logging

import msgspec

from penstock.cluster.controller.brokers import LOST_RECORDS, BrokerRegistration
from penstock.cluster.controller.controller import Controller
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.heartbeats import Heartbeat
from penstock.cluster.controller.membership import HeartbeatAnswer
from penstock.cluster.controller_access import ControllerAccess
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.config.settings import replication
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.runtime.clock import Clock, sleep_or
from penstock.storage.errors import LogError

log = logging.getLogger(__name__)

_RETRY_MS = 100
_RETRY_MS_MIN = 5  # a node that has just started learns within milliseconds who leads the quorum
_NOBODY_ANSWERS_MS = 3_000  # the whole cluster may be stopping
_WITH_FAILED_DISK_MS = 1_000  # other brokers have taken over already
_FINAL = (ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.INVALID_REQUEST, ErrorCode.UNSUPPORTED_VERSION)


class NotAdmitted(Exception):
    """The cluster refused this broker; the message has the reason and what to do."""


class Lifecycle:
    def __init__(
        self,
        access: ControllerAccess,
        registration: BrokerRegistration,
        cluster_id: str,
        *,
        controller: Controller,
        clock: Clock,
    ) -> None:
        self._access = access
        self._registration = registration
        self._cluster_id = cluster_id
        self._controller = controller
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._is_unfenced = asyncio.Event()
        self._is_evicted = asyncio.Event()
        self._refused_with: ErrorCode | None = None
        self._offline_log_dirs: tuple[bytes, ...] = ()
        self._wakeup = asyncio.Event()
        controller.subscribe(self._follow)

    async def register(self) -> None:
        """Register, retrying until a controller answers or a timeout ends. Raises `NotAdmitted`."""
        timeout_ms = self._controller.config[replication.INITIAL_BROKER_REGISTRATION_TIMEOUT_MS]
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        retry_ms = _RETRY_MS_MIN
        while True:
            try:
                await self._access.register(self._registration, self._cluster_id)
            except Refusal as refusal:
                reason = self._refusal_reason(refusal)
                if refusal.code in _FINAL:
                    raise NotAdmitted(reason) from None
            except (OSError, ProtocolError, LogError) as error:
                reason = f"no controller has answered ({error or type(error).__name__})"
            else:
                return
            if self._clock.monotonic_ms() >= deadline_ms:
                raise NotAdmitted(f"{reason}, for {timeout_ms} ms")
            await self._clock.sleep(retry_ms)
            retry_ms = min(2 * retry_ms, _RETRY_MS)

    async def register_lost_records(self, incarnation_id: bytes) -> int:
        """Register again, as a broker that may lack committed records; returns the epoch. Only before `start`.

        Where another replica has the records, that one leads, and this broker leaves the in-sync set until it has
        caught up. `incarnation_id` must be new: with the old one this would be a retry of the first registration.
        """
        self._registration = msgspec.structs.replace(
            self._registration, incarnation_id=incarnation_id, previous_epoch=LOST_RECORDS
        )
        self._access.broker_epoch = -1  # else the new registration would look like another broker's
        await self.register()
        return self._access.broker_epoch

    def _refusal_reason(self, refusal: Refusal) -> str:
        broker_id = self._registration.broker_id
        if refusal.code is ErrorCode.INCONSISTENT_CLUSTER_ID:
            return (
                f"the data directory belongs to cluster {self._cluster_id}, which is not the one that answers: "
                "give another data directory, or join the cluster it belongs to"
            )
        if refusal.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            return (
                f"a broker with node id {broker_id} runs already: choose another --node-id, or stop that one"
            )
        return str(refusal)

    async def start(self) -> None:
        """Start sending heartbeats; returns when this broker is unfenced.

        Raises `NotAdmitted` when another broker has this broker's id, or it was unregistered.
        """
        self._task = asyncio.get_running_loop().create_task(self._beat(), name="heartbeats")
        waits = [asyncio.ensure_future(each.wait()) for each in (self._is_unfenced, self._is_evicted)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        if self._is_evicted.is_set():
            raise NotAdmitted(self._eviction_reason())

    async def evicted(self) -> str:
        """Wait until this broker's registration is gone; returns the reason for the log."""
        await self._is_evicted.wait()
        return self._eviction_reason()

    def _follow(self, delta: MetadataDelta) -> None:
        """Detect that the registration is gone or another's, in metadata that is not older than it."""
        broker_id, epoch = self._registration.broker_id, self._access.broker_epoch
        if broker_id in delta.brokers_changed and 0 <= epoch <= self._controller.image.offset:
            known = self._controller.image.brokers.get(broker_id)
            if known is None or known.epoch != epoch:
                self._is_evicted.set()

    def _eviction_reason(self) -> str:
        return (
            f"the registration of node {self._registration.broker_id} is gone: the broker was unregistered, or another "
            "broker has its id. Restart it to register again"
        )

    async def _beat(self) -> None:
        while not self._is_evicted.is_set():
            answer = await self._heartbeat(self._wanted())
            if answer is not None and not answer.is_fenced:
                self._is_unfenced.set()
            if answer is None:
                await self._clock.sleep(_RETRY_MS / 2)
            elif answer.is_fenced:
                await self._clock.sleep(_RETRY_MS / 10)
            else:
                await self._wait(self._controller.config[replication.BROKER_HEARTBEAT_INTERVAL_MS])

    async def _wait(self, delay_ms: float) -> None:
        """Wait until the next heartbeat is due, or there is something to report."""
        await sleep_or(self._clock, delay_ms, self._wakeup)
        self._wakeup.clear()

    def on_disk_failure(self, error: Exception) -> None:
        """Report the failed log directory to the controller, in every heartbeat until a restart."""
        if self._offline_log_dirs:
            return
        self._offline_log_dirs = tuple(self._registration.log_dirs)
        self._wakeup.set()
        if len(self._controller.image.brokers) > 1:
            log.error(
                "Disk of this broker failed: %s. Other brokers lead its partitions where they can. Replace the disk "
                "and restart this broker",
                error,
            )

    def _wanted(self, *, wants_shutdown: bool = False) -> Heartbeat:
        return Heartbeat(
            metadata_offset=self._controller.image.offset,
            wants_fence=wants_shutdown and self._has_failed_disk,  # there is nothing to hand over
            wants_shutdown=wants_shutdown,
            offline_log_dirs=self._offline_log_dirs,
        )

    @property
    def _has_failed_disk(self) -> bool:
        return len(self._offline_log_dirs) > 0

    async def _heartbeat(self, wanted: Heartbeat) -> HeartbeatAnswer | None:
        try:
            answer = await self._access.heartbeat(wanted)
        except Refusal as refusal:
            if refusal.code is ErrorCode.STALE_BROKER_EPOCH:
                self._is_evicted.set()  # `evicted` returns the reason
            elif refusal.code is ErrorCode.NOT_CONTROLLER:
                # That node does not know yet that it leads, or this one does not know the new leader.
                log.debug("Heartbeat refused: %s", refusal)
            elif refusal.code is not self._refused_with:
                self._refused_with = refusal.code  # logged once
                log.warning("Heartbeat refused: %s", refusal)
        except (OSError, ProtocolError, LogError) as error:
            log.debug("Heartbeat failed: %s", error or type(error).__name__)
        else:
            self._refused_with = None
            return answer
        return None

    async def leave(self) -> None:
        """Hand over leaderships before the broker stops (controlled shutdown), within a timeout."""
        await self.stop()
        config = self._controller.config
        others = [
            each
            for each in self._controller.image.active_brokers()
            if each.broker_id != self._registration.broker_id
        ]
        if not others or self._is_evicted.is_set() or not config[replication.CONTROLLED_SHUTDOWN_ENABLE]:
            return
        tries = config[replication.CONTROLLED_SHUTDOWN_MAX_RETRIES] + 1
        timeout_ms = tries * config[replication.CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS]
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        heard_ms = self._clock.monotonic_ms()
        patience_ms = _WITH_FAILED_DISK_MS if self._has_failed_disk else _NOBODY_ANSWERS_MS
        while self._clock.monotonic_ms() < min(deadline_ms, heard_ms + patience_ms):
            answer = await self._heartbeat(self._wanted(wants_shutdown=True))
            if answer is not None and answer.should_shut_down:
                return
            if answer is not None:
                heard_ms = self._clock.monotonic_ms()
            await self._clock.sleep(_RETRY_MS / 5)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
