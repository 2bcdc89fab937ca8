"""The metadata quorum as the rest of a node sees it: who leads, a log to append decisions to, requests to answer.

What is committed goes to the metadata log's image, whoever decided it. This node is the active controller when it leads
and has applied everything that was committed before it did: then it knows all that it decides upon.
"""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from penstock.client.connection import Connection
from penstock.cluster.controller.decision import NotController
from penstock.cluster.metadata.applied import AppliedMetadata
from penstock.cluster.metadata.records import encode_batch
from penstock.cluster.metadata.snapshot import records_of
from penstock.cluster.peers import Dial, PeerChannel
from penstock.cluster.raft import wire
from penstock.cluster.raft.driver import RaftDriver
from penstock.cluster.raft.errors import NotLeader, RaftFailed
from penstock.cluster.raft.messages import FetchRequest, Request, Response
from penstock.cluster.raft.values import Address
from penstock.config.listeners import Endpoint
from penstock.observability.clock import Clock
from penstock.observability.observers import Observers
from penstock.observability.offload import Offload
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.wire import Buffer

log = logging.getLogger(__name__)

_SNAPSHOT_RECORDS_PER_BATCH = 1000
_CALL_MS_MAX = 30_000  # the node gives up sooner; this bounds what is left behind
_LOSSES_TOLD = 2

MakeDriver = Callable[["Quorum", Callable[[Exception], None]], RaftDriver]


class QuorumPeers:
    """The other nodes of the quorum: one connection for fetches, which wait at the other end, and one for the rest."""

    def __init__(self, dial: Dial) -> None:
        self._dial = dial
        self._channels: dict[tuple[int, bool], tuple[tuple[Address, ...], PeerChannel]] = {}
        self._refused_by: set[int] = set()

    async def ask(self, to: int, addresses: tuple[Address, ...], request: Request) -> Response:
        """Raises `OSError` when there is no answer."""
        api = wire.APIS[type(request)]
        channel = await self._channel((to, isinstance(request, FetchRequest)), addresses)
        try:
            message: Any = await channel.call(api.key, api.version, wire.encode_request(request))
            self._note_permission(to, addresses[0], message)
            return wire.decode_response(request, message)
        except (ProtocolError, wire.NotTheQuorum) as error:
            await channel.close()
            raise ConnectionError(str(error)) from error
        except OSError:
            await channel.close()
            raise

    def _note_permission(self, to: int, address: Address, message: Any) -> None:
        """A node that does not know us for a broker might as well be silent, but somebody must hear why."""
        if message.error_code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            self._refused_by.discard(to)
            return
        if to not in self._refused_by:
            self._refused_by.add(to)
            log.warning(
                "the node at %s:%d does not take this one for a broker of its cluster: brokers log in to each other as "
                "the same user; over TLS their certificates name the same subject, or super.users names each of them",
                address.host,
                address.port,
            )
        raise PermissionError(f"node {to} answers {ErrorCode.CLUSTER_AUTHORIZATION_FAILED.name}")

    async def _channel(self, key: tuple[int, bool], addresses: tuple[Address, ...]) -> PeerChannel:
        known = self._channels.get(key)
        if known is not None and known[0] == addresses:
            return known[1]
        if known is not None:
            await known[1].close()
        channel = PeerChannel(partial(self._connect, addresses), lambda: _CALL_MS_MAX)
        self._channels[key] = (addresses, channel)
        return channel

    async def _connect(self, addresses: tuple[Address, ...]) -> Connection:
        if not addresses:
            raise ConnectionError("its address is not known")
        return await self._dial(endpoint_at(addresses[0]))

    async def close(self) -> None:
        for _, channel in self._channels.values():
            await channel.close()


class Quorum:
    """The state machine behind the quorum's log, and a `RecordSink` for the metadata log."""

    def __init__(
        self, metadata: AppliedMetadata, make_driver: MakeDriver, *, clock: Clock, offload: Offload
    ) -> None:
        """`make_driver` gets this quorum, and what to call when the disk has failed."""
        self._metadata = metadata
        self._clock = clock
        self._offload = offload
        self._active_from: int | None = None
        self._was_active = False
        self._epoch_led = -1  # the last in which a leader was known
        self._losses = 0  # how often that one was lost
        self.leader_id: int | None = None
        self.active_changes: Observers[bool] = Observers()
        """Notified when this node becomes the active controller, or is not any more."""
        self.leader_changes: Observers[()] = Observers()
        """Notified when another node leads, or none."""
        self.failures: Observers[Exception] = Observers()
        """Notified when this node takes no part any more, because its disk has failed."""
        self.driver = make_driver(self, self.failed)

    # -- what is known --------------------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        return self._active_from is not None and self._metadata.image.offset + 1 >= self._active_from

    @property
    def is_alone(self) -> bool:
        """Whether nobody else has a vote: then this node needs nobody to lead."""
        return self.voter_ids == (self.driver.node.key.node_id,)

    @property
    def voter_ids(self) -> tuple[int, ...]:
        """The nodes that are controllers."""
        return self.driver.node.voters.ids

    @property
    def leader(self) -> Endpoint | None:
        """Where the leader is, if it is another node and known."""
        addresses = self.driver.leader_addresses
        return None if not addresses else endpoint_at(addresses[0])

    # -- what is asked of it --------------------------------------------------------------------------

    async def ask(self, request: Request) -> Response:
        """A request of another node, or of a client about the quorum."""
        return await self.driver.request(request)

    @property
    def next_offset(self) -> int:
        return self.driver.end_offset

    async def append(self, batch: bytes, now_ms: int) -> int:  # noqa: ARG002  the batch has its time
        """Append a batch; gives its last offset once it is committed and applied here. Raises `LogError`."""
        if not self.is_active:
            raise NotController("this node is not the active controller")
        try:
            return await self.driver.append(batch, self.driver.node.epoch)
        except (NotLeader, RaftFailed) as error:
            raise NotController(str(error)) from error

    # -- the state machine ----------------------------------------------------------------------------

    async def apply(self, batches: Buffer) -> None:
        await self._metadata.apply_batches(batches)
        self._tell_active()

    async def load(self, content: Iterable[bytes], end_offset: int) -> None:
        pieces = await self._offload.run(lambda: list(content))
        await self._metadata.restart_from(pieces, end_offset - 1)
        self._tell_active()

    def snapshot(self) -> Iterable[bytes]:
        records = list(records_of(self._metadata.image))
        now_ms = self._clock.now_ms()
        level = self._metadata.image.features.metadata_version
        return (
            encode_batch(records[start : start + _SNAPSHOT_RECORDS_PER_BATCH], now_ms, level)
            for start in range(0, len(records), _SNAPSHOT_RECORDS_PER_BATCH)
        )

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        self._tell_leader(leader_id, epoch)
        self.leader_id = leader_id
        node = self.driver.node
        # What was committed before is applied when the image reaches this far.
        self._active_from = node.high_watermark if leader_id == node.key.node_id else None
        self._tell_active()
        self.leader_changes.notify()

    def _tell_leader(self, leader_id: int | None, epoch: int) -> None:
        """Once in an epoch: who finds no majority loses its leader and looks to the same one again, for ever.

        A loss is told when it is the second: after the first there is a new leader, or the same again.
        """
        if leader_id is not None:
            if epoch == self._epoch_led:
                return
            self._epoch_led, self._losses = epoch, 0
            if not self.is_alone:
                log.info("node %d leads the metadata quorum in epoch %d", leader_id, epoch)
        elif self.leader_id is not None:
            self._losses += 1
            if self._losses == _LOSSES_TOLD:
                log.info(
                    "nobody leads the metadata quorum as far as is known: node %d did, in epoch %d",
                    self.leader_id,
                    self._epoch_led,
                )

    def failed(self, error: Exception) -> None:
        """The disk has failed: this node takes no part any more."""
        log.error(
            "this node has no part in the metadata quorum any more (%s): restart it when that is mended",
            error,
        )
        self._active_from = None
        if self.leader_id == self.driver.node.key.node_id:
            self.leader_id = None
        self._tell_active()
        self.leader_changes.notify()
        self.failures.notify(error)

    def _tell_active(self) -> None:
        if self.is_active != self._was_active:
            self._was_active = self.is_active
            self.active_changes.notify(self._was_active)


def endpoint_at(address: Address) -> Endpoint:
    return Endpoint(name=address.name, host=address.host, port=address.port, security_protocol="PLAINTEXT")
