"""The metadata quorum for the rest of a node: the leader, a log for decisions, answers to requests.

All committed records go to the metadata image. This node is the active controller when it leads and has applied
everything that was committed before it became leader.
"""

import logging
from collections.abc import Callable, Iterable

from penstock.cluster.controller.decision import NotController
from penstock.cluster.metadata.applied import AppliedMetadata
from penstock.cluster.metadata.records import encode_batch
from penstock.cluster.metadata.snapshot import records_of
from penstock.cluster.metadata.state import KRAFT_LEVEL
from penstock.cluster.quorum.driver import RaftDriver
from penstock.cluster.quorum.peers import endpoint_at
from penstock.cluster.raft.errors import NotLeader, RaftFailed
from penstock.cluster.raft.messages import Request, Response
from penstock.config.listeners import Endpoint
from penstock.protocol.wire import Buffer
from penstock.runtime.clock import Clock
from penstock.runtime.observers import Observers
from penstock.runtime.offload import Offload

log = logging.getLogger(__name__)

_SNAPSHOT_RECORDS_PER_BATCH = 1000
_LOSSES_LOGGED = 2

MakeDriver = Callable[["Quorum", Callable[[Exception], None]], RaftDriver]


class Quorum:
    """The state machine of the quorum's log, and a `RecordSink` for the metadata log."""

    def __init__(
        self, metadata: AppliedMetadata, make_driver: MakeDriver, *, clock: Clock, offload: Offload
    ) -> None:
        """`make_driver` gets this quorum, and the callback for a failed disk."""
        self._metadata = metadata
        self._clock = clock
        self._offload = offload
        self._active_from: int | None = None
        self._was_active = False
        self._epoch_led = -1  # the last epoch with a known leader
        self._losses = 0  # how often that leader was lost
        self.leader_id: int | None = None
        self.failure: Exception | None = None
        """Why this node has left the quorum."""
        self.active_changes: Observers[bool] = Observers()
        """Notified when this node becomes the active controller, or no longer is."""
        self.leader_changes: Observers[()] = Observers()
        """Notified when the leader changes."""
        self.failures: Observers[Exception] = Observers()
        """Notified when this node leaves the quorum because its disk has failed."""
        self.driver = make_driver(self, self.failed)

    # -- state ---------------------------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        return self._active_from is not None and self._metadata.image.offset + 1 >= self._active_from

    @property
    def is_alone(self) -> bool:
        """Whether this node is the only voter."""
        return self.voter_ids == (self.driver.node.me.node_id,)

    @property
    def is_voter(self) -> bool:
        return self.driver.node.is_voter

    @property
    def voter_ids(self) -> tuple[int, ...]:
        """The nodes that are controllers."""
        return self.driver.node.voters.ids

    @property
    def leader(self) -> Endpoint | None:
        """The endpoint of the leader, if it is another node and known."""
        addresses = self.driver.leader_addresses
        return None if not addresses else endpoint_at(addresses[0])

    @property
    def has_caught_up(self) -> bool:
        """Whether the image has all that was committed at the last answer of the leader."""
        node = self.driver.node
        return node.is_caught_up and self._metadata.image.offset + 1 >= node.high_watermark

    # -- requests -----------------------------------------------------------------------------------

    async def ask(self, request: Request) -> Response:
        """Answer a request of another node, or of a client about the quorum."""
        return await self.driver.request(request)

    @property
    def next_offset(self) -> int:
        return self.driver.end_offset

    async def append(self, batch: bytes) -> int:
        """Append a batch; returns its last offset once it is committed and applied here. Raises `LogError`."""
        if not self.is_active:
            raise NotController("this node is not the active controller")
        try:
            return await self.driver.append(batch, self.driver.node.epoch)
        except (NotLeader, RaftFailed) as error:
            raise NotController(str(error)) from error

    # -- the state machine ----------------------------------------------------------------------------

    async def apply(self, batches: Buffer) -> None:
        await self._metadata.apply_batches(batches)
        self._note_kraft_version()
        self._notify_active()

    async def load(self, content: Iterable[bytes], end_offset: int) -> None:
        pieces = await self._offload.run(lambda: list(content))
        await self._metadata.restart_from(pieces, end_offset - 1)
        self._note_kraft_version()
        self._notify_active()

    def _note_kraft_version(self) -> None:
        """At kraft.version 0 the log of Kafka names no voters."""
        self._metadata.image.features.kraft_version = KRAFT_LEVEL if self.voter_ids else 0

    def snapshot(self) -> Iterable[bytes] | None:
        if self._metadata.image.open_transaction is not None:  # a snapshot would lose its records
            return None
        records = list(records_of(self._metadata.image))
        now_ms = self._clock.now_ms()
        level = self._metadata.image.features.metadata_version
        return (
            encode_batch(records[start : start + _SNAPSHOT_RECORDS_PER_BATCH], now_ms, level)
            for start in range(0, len(records), _SNAPSHOT_RECORDS_PER_BATCH)
        )

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        self._log_leader(leader_id, epoch)
        self.leader_id = leader_id
        node = self.driver.node
        # All earlier records are applied when the image reaches this offset.
        self._active_from = node.high_watermark if leader_id == node.me.node_id else None
        self._notify_active()
        self.leader_changes.notify()

    def _log_leader(self, leader_id: int | None, epoch: int) -> None:
        """Log a leader once in an epoch: without a majority a node loses and follows the same leader repeatedly.

        Log the second loss: after the first there usually is a new leader, or the same again.
        """
        if leader_id is not None:
            if epoch == self._epoch_led:
                return
            self._epoch_led, self._losses = epoch, 0
            if not self.is_alone:
                log.info("Metadata quorum has a leader. node=%d epoch=%d", leader_id, epoch)
        elif self.leader_id is not None:
            self._losses += 1
            if self._losses == _LOSSES_LOGGED:
                log.info(
                    "Metadata quorum lost its leader. node=%d epoch=%d",
                    self.leader_id,
                    self._epoch_led,
                )

    def failed(self, error: Exception) -> None:
        """Leave the quorum: the disk has failed."""
        log.error(
            "Node left the metadata quorum: %s. Repair the disk and restart the node",
            error,
        )
        self.failure = error
        self._active_from = None
        if self.leader_id == self.driver.node.me.node_id:
            self.leader_id = None
        self._notify_active()
        self.leader_changes.notify()
        self.failures.notify(error)

    def _notify_active(self) -> None:
        if self.is_active != self._was_active:
            self._was_active = self.is_active
            self.active_changes.notify(self._was_active)
