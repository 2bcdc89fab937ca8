"""The network between the nodes of an embedded cluster, which a test can cut and slow down.

A cut link is silent, as when packets are lost: nobody is told, what is sent waits, and so does whoever connects. All
that two nodes say to each other goes over connections that one of them has opened, so each node's outgoing connections
get a `Gate`. Clients are not touched by a cut. A node that is slow takes every request later, whoever sends it
(`SlowDispatch`), and sends its own later.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import cast

from penstock.client.connection import Connection
from penstock.observability.completion import Reply
from penstock.server.connection_host import Answer, Dispatch, Peer

_CONNECT_S_MAX = 10.0


class Links:
    """Nodes are known by their ports. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cuts: set[frozenset[int]] = set()
        self._delays_ms: dict[int, float] = {}
        self._watchers: dict[object, tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = {}

    def cut(self, one: int, other: int) -> None:
        self._cuts.add(frozenset((one, other)))
        self._tell()

    def slow_down(self, port: int, delay_ms: float) -> None:
        self._delays_ms[port] = delay_ms
        self._tell()

    def heal(self) -> None:
        self._cuts.clear()
        self._delays_ms.clear()
        self._tell()

    def is_cut(self, one: int, other: int) -> bool:
        return frozenset((one, other)) in self._cuts

    def delay_s(self, port: int) -> float:
        return self._delays_ms.get(port, 0.0) / 1000

    def watch(self, key: object, changed: Callable[[], None]) -> None:
        """Have `changed` called on this loop whenever something is cut, slowed down or healed."""
        with self._lock:
            self._watchers[key] = (asyncio.get_running_loop(), changed)

    def unwatch(self, key: object) -> None:
        with self._lock:
            self._watchers.pop(key, None)

    def _tell(self) -> None:
        with self._lock:
            watchers = list(self._watchers.values())
        for loop, changed in watchers:
            if not loop.is_closed():
                loop.call_soon_threadsafe(changed)

    async def passable(self, one: int, other: int) -> None:
        """Wait until the link is not cut. Raises `TimeoutError`, as connecting does where packets are lost."""
        if not self.is_cut(one, other):
            return
        changed, key = asyncio.Event(), object()
        self.watch(key, changed.set)
        try:
            async with asyncio.timeout(_CONNECT_S_MAX):
                while self.is_cut(one, other):
                    changed.clear()
                    await changed.wait()
        finally:
            self.unwatch(key)


class Gate(asyncio.Protocol):
    """Between a connection that this node has opened and the socket: bytes wait while the link is cut or slow."""

    def __init__(
        self, links: Links, connection: Connection, transport: asyncio.Transport, ports: tuple[int, int]
    ) -> None:
        self._links = links
        self._connection = connection
        self._transport = transport
        self._ports = ports
        self._loop = asyncio.get_running_loop()
        self._outgoing: deque[tuple[float, bytes]] = deque()
        self._incoming: deque[bytes] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._is_lost = False
        transport.set_protocol(self)
        links.watch(self, self._pass_on)

    # -- what the connection has for a transport ------------------------------------------------------

    def write(self, data: bytes) -> None:
        self._outgoing.append((self._loop.time() + self._links.delay_s(self._ports[0]), data))
        self._pass_on()

    def close(self) -> None:
        self._pass_on()
        if self._outgoing:
            self._transport.abort()  # it would not get through
        else:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    # -- what the socket has for a protocol -----------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._incoming.append(data)
        self._pass_on()

    def eof_received(self) -> bool | None:
        return self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
        self._links.unwatch(self)
        if self._timer is not None:
            self._timer.cancel()
        self._connection.connection_lost(exc)

    def _pass_on(self) -> None:
        """Let through what may pass now, and look again when more may."""
        if self._is_lost or self._links.is_cut(*self._ports):
            return
        while self._incoming:
            self._connection.data_received(self._incoming.popleft())
        if not self._links.delay_s(self._ports[0]):
            while self._outgoing:
                self._transport.write(self._outgoing.popleft()[1])
            return
        while self._outgoing and self._outgoing[0][0] <= self._loop.time():
            self._transport.write(self._outgoing.popleft()[1])
        if self._outgoing:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(self._outgoing[0][0], self._pass_on)


class NodeNetwork:
    """The network as one node, the one that listens on `port`, has it."""

    def __init__(self, links: Links, port: int) -> None:
        self._links = links
        self._port = port

    def delay_s(self) -> float:
        return self._links.delay_s(self._port)

    async def passable(self, port: int) -> None:
        await self._links.passable(self._port, port)

    def watch_over(self, connection: Connection, port: int) -> None:
        """Put a gate before a connection that was just opened."""
        # A connection has no place for somebody between it and its socket: outside of tests nobody stands there.
        socket_side = connection._transport  # noqa: SLF001
        gate = Gate(self._links, connection, socket_side, (self._port, port))
        connection._transport = cast("asyncio.Transport", gate)  # noqa: SLF001


class SlowDispatch:
    """A `Dispatch` that takes requests later while its node is slow, one after the other on each connection."""

    def __init__(self, dispatcher: Dispatch, delay_s: Callable[[], float]) -> None:
        self._dispatcher = dispatcher
        self._delay_s = delay_s

    def dispatch(self, frame: bytearray, peer: Peer) -> Answer | Reply[Answer]:
        delay_s = self._delay_s()
        if not delay_s:
            return self._dispatcher.dispatch(frame, peer)
        return Reply.of(self._dispatch_later(frame, peer, delay_s), is_exclusive=True)

    async def _dispatch_later(self, frame: bytearray, peer: Peer, delay_s: float) -> Answer:
        await asyncio.sleep(delay_s)
        answer = self._dispatcher.dispatch(frame, peer)
        return await answer if isinstance(answer, Reply) else answer
