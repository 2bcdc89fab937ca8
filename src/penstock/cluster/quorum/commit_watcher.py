"""Reads the quorum's committed records, for a node whose disk has failed and that has left the quorum.

It fetches from the leader as a consumer does, and passes on committed records. It stores nothing, and ends when it
would need a snapshot, which only a node with a disk can fetch.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from penstock.cluster.raft.errors import RaftFault
from penstock.cluster.raft.messages import FetchRequest, FetchResponse, Request, Response
from penstock.cluster.raft.records import whole_batches
from penstock.cluster.raft.values import Address, LogPosition, RaftSettings, ReplicaKey
from penstock.cluster.raft.voters import VoterSet
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import Clock

_log = logging.getLogger(__name__)

_CONSUMER = ReplicaKey(-1)
"""A consumer: the leader does not track its progress."""


class Peers(Protocol):
    async def ask(self, to: int, addresses: tuple[Address, ...], request: Request) -> Response:
        """Raises `OSError` or `TimeoutError` when there is no answer."""
        ...


class Watcher:
    """`at` is the end of the applied records, `epoch` the latest known one, with its `leader`."""

    def __init__(
        self,
        cluster_id: str,
        me: int,
        voters: VoterSet,
        at: LogPosition,
        epoch: int,
        *,
        leader: tuple[int, tuple[Address, ...]] | None = None,
        peers: Peers,
        apply: Callable[[bytes], Awaitable[None]],
        leader_changed: Callable[[int, int], None],
        settings: RaftSettings,
        clock: Clock,
    ) -> None:
        """`leader_changed` gets the node id and its epoch."""
        self._cluster_id = cluster_id
        self._me = me
        self._voters = voters.without(me)
        self._epoch = epoch
        self._peers = peers
        self._apply = apply
        self._leader_changed = leader_changed
        self._settings = settings
        self._clock = clock
        self._turn = 0
        self._leader = leader
        self.at = at

    @property
    def leader_addresses(self) -> tuple[Address, ...]:
        return () if self._leader is None else self._leader[1]

    async def run(self) -> None:
        """Read until cancelled, or until a snapshot is needed."""
        if not len(self._voters):
            return
        while True:
            to, addresses = self._leader or self._next()
            try:
                async with asyncio.timeout(self._settings.request_timeout_ms / 1000):
                    response = await self._peers.ask(to, addresses, self._request())
            except (OSError, TimeoutError) as error:
                _log.debug("Fetch of committed metadata from node %d failed: %s", to, error)
                self._leader = None
                await self._clock.sleep(self._settings.retry_backoff_ms)
                continue
            assert isinstance(response, FetchResponse)
            self._note_leader(response)
            if response.error is not ErrorCode.NONE:
                await self._clock.sleep(self._settings.retry_backoff_ms)
            elif response.diverging is not None or response.snapshot is not None:
                _log.error("Cannot follow the metadata any longer: restart this node")
                return
            elif not await self._take(response):
                await self._clock.sleep(self._settings.retry_backoff_ms)

    def _next(self) -> tuple[int, tuple[Address, ...]]:
        """The next voter in turn: any of them knows the leader."""
        voters = list(self._voters)
        self._turn += 1
        voter = voters[self._turn % len(voters)]
        return voter.key.node_id, voter.endpoints

    def _request(self) -> FetchRequest:
        return FetchRequest(
            cluster_id=self._cluster_id,
            replica=_CONSUMER,
            epoch=self._epoch,
            offset=self.at.offset,
            last_epoch=self.at.epoch,
            max_wait_ms=self._settings.fetch_wait_max_ms,
            max_bytes=self._settings.fetch_bytes_max,
            high_watermark=self.at.offset,
        )

    def _note_leader(self, response: FetchResponse) -> None:
        if response.epoch < self._epoch:
            self._leader = None
            return
        self._epoch = response.epoch
        before, self._leader = self._leader, None
        if response.leader_id is None or response.leader_id == self._me:
            return
        voter = self._voters.get(response.leader_id)
        addresses = response.leader_endpoints or (() if voter is None else voter.endpoints)
        if addresses:
            self._leader = response.leader_id, addresses
            if self._leader != before:
                self._leader_changed(response.leader_id, self._epoch)

    async def _take(self, response: FetchResponse) -> bool:
        """Pass on committed batches. Returns False if the response had only uncommitted or invalid ones."""
        try:
            batches = whole_batches(response.records, offset=self.at.offset, epoch_max=self._epoch)
        except RaftFault as fault:
            _log.warning("Ignored an invalid response of the metadata quorum's leader: %s", fault)
            return False
        committed = [each for each in batches if each[1].next_offset <= response.high_watermark]
        if committed:
            position, last = committed[-1]
            await self._apply(bytes(response.records[: position + last.size_bytes]))
            self.at = LogPosition(last.leader_epoch, last.next_offset)
        return len(committed) > 0 or not batches
