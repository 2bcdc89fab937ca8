"""Requests in-sync sets for the leaders of this broker from the controller, many partitions in one request.

A request without an answer is repeated unchanged: the controller may have agreed to it, and until the metadata shows
the outcome both sets count (see `in_sync`). Only an explicit refusal withdraws a request.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence

from penstock.cluster.controller.alter_partition import InSyncChange, InSyncChanged
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.in_sync import WantedSet
from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.runtime.clock import Clock
from penstock.storage.errors import LogError

log = logging.getLogger(__name__)

Ask = Callable[[Sequence[InSyncChange]], Awaitable[Sequence[InSyncChanged]]]
"""Sends the changes to the controller. Raises `OSError`, `ProtocolError`, `LogError` or `Refusal`."""

_RETRY_MS = 50
_PARTITIONS_MAX = 1000
_SHOWN_BY_METADATA = (
    ErrorCode.NONE,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.NEW_LEADER_ELECTED,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
_RETRIED = (ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_SERVER_ERROR)


class InSyncRequests:
    def __init__(
        self,
        leaders: Callable[[], Iterable[Replica]],
        ask: Ask,
        clock: Clock,
        *,
        lag_ms_max: Callable[[], int],
    ) -> None:
        self._leaders = leaders
        self._ask = ask
        self._clock = clock
        self._lag_ms_max = lag_ms_max
        self._due: dict[Replica, None] = {}  # ordered, so that a simulation is reproducible
        self._open: dict[Replica, WantedSet] = {}
        self._wakeup = asyncio.Event()

    def note(self, replica: Replica) -> None:
        """Check soon whether this partition needs another in-sync set."""
        self._due[replica] = None
        self._wakeup.set()

    async def watch_lag(self) -> None:
        """Check periodically for followers that have fallen behind, until cancelled."""
        while True:
            await self._clock.sleep(self._lag_ms_max() / 2)
            for replica in self._leaders():
                if replica.is_leader and replica.is_open:
                    self.note(replica)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._wakeup.wait()
            self._wakeup.clear()
            due, self._due = self._due, {}
            for replica in due:
                self._consider(replica)
            await self._send()

    def _consider(self, replica: Replica) -> None:
        followers = replica.followers
        if followers is None:
            return
        now_ms = self._clock.monotonic_ms()
        wanted = followers.wanted(replica.log.log_end_offset, replica.high_watermark, now_ms)
        if wanted is not None:
            followers.asked(wanted)
            self._open[replica] = wanted

    async def _send(self) -> None:
        self._open = {replica: wanted for replica, wanted in self._open.items() if _is_open(replica, wanted)}
        asked = list(self._open.items())[:_PARTITIONS_MAX]
        if not asked:
            return
        changes = [_change(replica, wanted) for replica, wanted in asked]
        try:
            responses = await self._ask(changes)
        except (OSError, ProtocolError, LogError, Refusal) as error:
            log.debug("AlterPartition failed, retrying: %s", error)
            await self._clock.sleep(_RETRY_MS)
            self._wakeup.set()
            return
        by_key = {(each.topic_id, each.partition): each.error for each in responses}
        for replica, wanted in asked:
            self._answered(replica, wanted, by_key.get((replica.topic_id, replica.partition)))
        if self._open:
            await self._clock.sleep(_RETRY_MS)
            self._wakeup.set()

    def _answered(self, replica: Replica, wanted: WantedSet, error: ErrorCode | None) -> None:
        if error is None or error in _RETRIED:
            return
        self._open.pop(replica, None)
        if error not in _SHOWN_BY_METADATA:
            log.info(
                "Controller refused an ISR change of %s-%d: %s. isr=%s",
                replica.topic,
                replica.partition,
                error.name,
                [each for each, _ in wanted.members],
            )
            replica.refused_in_sync(wanted)


def _is_open(replica: Replica, wanted: WantedSet) -> bool:
    state = replica.state
    return (
        state is not None
        and replica.is_leader
        and state.leader_epoch == wanted.leader_epoch
        and state.partition_epoch == wanted.partition_epoch
    )


def _change(replica: Replica, wanted: WantedSet) -> InSyncChange:
    return InSyncChange(
        topic_id=replica.topic_id,
        partition=replica.partition,
        leader_epoch=wanted.leader_epoch,
        partition_epoch=wanted.partition_epoch,
        isr=wanted.members,
    )
