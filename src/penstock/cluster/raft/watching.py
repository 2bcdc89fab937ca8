"""Hears of what the quorum commits without a part in it: for a node whose disk has failed.

It reads as a consumer does, from whoever leads, and hands on what is committed. It promises nothing and keeps nothing,
and ends when a snapshot would be needed, which only a node with a disk can take.
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
from penstock.observability.clock import Clock
from penstock.protocol.errors import ErrorCode

_log = logging.getLogger(__name__)

_NOBODY = ReplicaKey(-1)
"""A reader of whom the leader keeps no account: what it has fetched counts for nothing."""


class Peers(Protocol):
    async def ask(self, to: int, addresses: tuple[Address, ...], request: Request) -> Response:
        """Raises `OSError` or `TimeoutError` when there is no answer."""
        ...


class Watcher:
    """`at` is where the records end that were applied, and `epoch` the latest that is known, with its `leader`."""

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
        """`leader_changed` is given the node and its epoch."""
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
        """Until cancelled, or until it can go no further."""
        if not len(self._voters):
            return
        while True:
            to, addresses = self._leader or self._next()
            try:
                async with asyncio.timeout(self._settings.request_timeout_ms / 1000):
                    response = await self._peers.ask(to, addresses, self._request())
            except (OSError, TimeoutError) as error:
                _log.debug("node %d does not tell what is committed: %s", to, error)
                self._leader = None
                await self._clock.sleep(self._settings.retry_backoff_ms)
                continue
            assert isinstance(response, FetchResponse)
            self._note_leader(response)
            if response.error is not ErrorCode.NONE:
                await self._clock.sleep(self._settings.retry_backoff_ms)
            elif response.diverging is not None or response.snapshot is not None:
                _log.error("this node cannot follow the metadata any further until it is started again")
                return
            elif not await self._take(response):
                await self._clock.sleep(self._settings.retry_backoff_ms)

    def _next(self) -> tuple[int, tuple[Address, ...]]:
        """Any of the voters knows who leads."""
        voters = list(self._voters)
        self._turn += 1
        voter = voters[self._turn % len(voters)]
        return voter.key.node_id, voter.endpoints

    def _request(self) -> FetchRequest:
        return FetchRequest(
            cluster_id=self._cluster_id,
            replica=_NOBODY,
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
        """Hand on what is committed; whether there was anything, or nothing to wait for."""
        try:
            batches = whole_batches(response.records, offset=self.at.offset, epoch_max=self._epoch)
        except RaftFault as fault:
            _log.warning("what the leader of the metadata quorum says is not taken in: %s", fault)
            return False
        committed = [each for each in batches if each[1].next_offset <= response.high_watermark]
        if committed:
            position, last = committed[-1]
            await self._apply(bytes(response.records[: position + last.size_bytes]))
            self.at = LogPosition(last.leader_epoch, last.next_offset)
        return len(committed) > 0 or not batches
