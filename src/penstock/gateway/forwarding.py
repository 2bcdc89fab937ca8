"""Requests of the text dialects that another broker must serve: its partition's leader, its group's coordinator.

They go through `client.aio`, as those of the HTTP gateway do, to the listener that the client has chosen. The other
broker checks its ACLs again. It sees an anonymous user: requests of a client with a certificate cannot be forwarded,
because this broker does not have its key; the client is told to connect to the right broker.
"""

import contextlib
import ssl
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from penstock.client.aio import (
    EARLIEST,
    BrokerError,
    Client,
    ClientError,
    ClientSettings,
    Disconnected,
    FetchedPartition,
    FetchLimits,
    Security,
    TimedOut,
    TopicPartition,
)
from penstock.gateway.http.access import trust_context
from penstock.gateway.partitions import PartitionRefused
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.records.builder import NewRecord
from penstock.protocol.records.errors import CorruptRecords
from penstock.security.principal import ANONYMOUS
from penstock.server.connections import Peer
from penstock.server.context import Services

_DEADLINE_MS: Final = 20_000


class Forwarder:
    """Forwards the requests of one connection. Connects when first needed."""

    def __init__(self, services: Services, peer: Peer, client_id: str) -> None:
        self._services = services
        self._peer = peer
        self._client_id = client_id
        self._made: Client | None = None

    @property
    def _client(self) -> Client:
        """Raises `PartitionRefused` when requests of this client cannot be forwarded."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def _make(self) -> Client:
        listener = self._peer.listener
        if self._peer.principal != ANONYMOUS:
            raise PartitionRefused(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"another broker serves this, and {self._peer.principal} cannot be forwarded to it: "
                "connect to that one",
            )
        brokers = self._services.controller.image.active_brokers()
        endpoints = [each for broker in brokers if (each := broker.endpoint(listener)) is not None]
        if not endpoints:
            raise PartitionRefused(
                ErrorCode.LEADER_NOT_AVAILABLE, f"no broker of the cluster has a listener {listener}"
            )
        tls: ssl.SSLContext | None = None
        if any(each.security_protocol.endswith("SSL") for each in endpoints):
            tls = trust_context(self._services.config, listener)
        settings = ClientSettings(
            bootstrap_servers=tuple((each.host, each.port) for each in endpoints),
            client_id=self._client_id,
            deadline_ms=_DEADLINE_MS,
        )
        return Client(settings, security=Security(tls=tls), clock=self._services.clock)

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()

    async def until_done(self, what: str, attempt: Callable[[], Awaitable[None]]) -> None:
        """Repeat an attempt that raises `Retry`, with backoff."""
        with _refusals(what):
            await self._client.until_done(what, attempt)

    # -- partitions

    async def produce(self, where: TopicPartition, record: NewRecord) -> int:
        with _refusals(f"{where} rejected the record"):
            (produced,) = await self._client.produce(where.topic, where.partition, [record])
        if produced.error:
            reason = produced.message or produced.error.name
            raise PartitionRefused(produced.error, f"{where} rejected the record: {reason}")
        return produced.offset

    async def log_start_offset(self, where: TopicPartition) -> int:
        with _refusals(f"{where} cannot be read"):
            return (await self._client.list_offsets({where: EARLIEST}))[where].offset

    async def read(self, where: TopicPartition, offset: int, limits: FetchLimits) -> FetchedPartition:
        with _refusals(f"{where} cannot be read at {offset}"):
            return (await self._client.fetch({where: offset}, limits))[where]

    # -- groups

    async def commit(self, group: str, where: TopicPartition, offset: int) -> None:
        what = f"group {group!r} cannot commit now"
        with _refusals(what):
            code = ErrorCode((await self._client.commit(group, {where: offset}))[where])
        if code:
            raise PartitionRefused(code, f"{what}: {code.name}")

    async def committed(self, group: str, where: TopicPartition) -> int | None:
        with _refusals(f"the offsets of group {group!r} cannot be read"):
            return (await self._client.committed(group, [where])).get(where)


@contextlib.contextmanager
def _refusals(what: str) -> Iterator[None]:
    """Turn errors of the client into `PartitionRefused`."""
    try:
        yield
    except BrokerError as error:
        code = ErrorCode(error.code)
        raise PartitionRefused(code, f"{what}: {error.detail or code.name}") from error
    except (TimedOut, Disconnected) as error:
        raise PartitionRefused(ErrorCode.REQUEST_TIMED_OUT, f"{what}: {error}") from error
    except CorruptRecords as error:
        raise PartitionRefused(ErrorCode.CORRUPT_MESSAGE, f"{what}: {error}") from error
    except (ClientError, ProtocolError) as error:
        raise PartitionRefused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{what} from here: {error}") from error
