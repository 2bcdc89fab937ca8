"""The network of a node of an embedded cluster: real sockets that a test can cut and slow down.

A cut link is silent, as when packets are lost: bytes and new connections wait. Two nodes talk over connections that one
of them has opened, so only those are cut; clients are not affected. A slow node receives every request later, from
clients too, and sends its own later.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, cast

from penstock.client.connector import P
from penstock.config.listeners import Endpoint
from penstock.embedded.links import Links
from penstock.protocol.wire import Buffer
from penstock.server.network import Bound, Listener, MakeProtocol, SocketNetwork
from penstock.server.socket_options import SocketOptions

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER of 0 seconds: the peer sees a reset, as when a machine dies."""
_EOF = b""


class NodeNetwork:
    """`port` is the one that the node listens on."""

    def __init__(self, links: Links, port: int) -> None:
        self._links = links
        self._port = port
        self._sockets = SocketNetwork()
        self._listeners: list[Listener] = []
        self._gates: dict[Gate, None] = {}

    async def bind(self, endpoint: Endpoint, options: SocketOptions) -> Bound:
        return _GatedBound(self, await self._sockets.bind(endpoint, options))

    async def connect(
        self, make: Callable[[], P], host: str, port: int, *, tls: ssl.SSLContext | None = None
    ) -> P:
        await self._links.passable(self._port, port)
        protocol = make()
        gate = Gate(self._links, protocol, self._port, port, on_lost=self._forget)
        self._gates[gate] = None
        try:
            await self._sockets.connect(lambda: gate, host, port, tls=tls)
        except BaseException:
            self._forget(gate)
            raise
        return protocol

    async def listen(self, bound: Bound, make: MakeProtocol) -> Listener:
        listener = await bound.listener(lambda: self._accepted(make()))
        self._listeners.append(listener)
        return listener

    async def close_all(self, *, resets: bool) -> None:
        """Close all connections and listeners; with `resets` peers see a reset."""
        for listener in self._listeners:
            listener.close()
        for gate in list(self._gates):
            if resets:
                gate.reset()
            gate.abort()
        for listener in self._listeners:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(listener.wait_closed(), 1)

    def _accepted(self, protocol: asyncio.BaseProtocol) -> "Gate":
        gate = Gate(self._links, protocol, self._port, on_lost=self._forget)
        self._gates[gate] = None
        return gate

    def _forget(self, gate: "Gate") -> None:
        self._gates.pop(gate, None)


class _GatedBound:
    def __init__(self, network: NodeNetwork, bound: Bound) -> None:
        self._network = network
        self._bound = bound

    @property
    def endpoint(self) -> Endpoint:
        return self._bound.endpoint

    async def listener(self, make: MakeProtocol) -> Listener:
        return await self._network.listen(self._bound, make)

    def socket(self) -> socket.socket:
        return self._bound.socket()

    def close(self) -> None:
        self._bound.close()


class Gate(asyncio.Transport, asyncio.Protocol):
    """Stands between a protocol and its socket: bytes wait while the link is cut or slow."""

    def __init__(
        self,
        links: Links,
        protocol: asyncio.BaseProtocol,
        port: int,
        other_port: int | None = None,
        *,
        on_lost: Callable[["Gate"], None],
    ) -> None:
        """`other_port` is the port of the node that was connected to; None for an accepted connection."""
        super().__init__()
        self._links = links
        self._protocol = protocol
        self._port, self._other_port = port, other_port
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._outgoing: deque[tuple[float, bytes]] = deque()
        self._incoming: deque[tuple[float, bytes]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._is_reading = True
        self._is_delivering = False
        self._transport: asyncio.Transport | None = None

    @property
    def _socket_side(self) -> asyncio.Transport:
        assert self._transport is not None, "there is a connection"
        return self._transport

    # -- the transport of the protocol ----------------------------------------------------------------

    def write(self, data: Buffer) -> None:
        if not self._outgoing and self._links.are_healthy:
            self._socket_side.write(data)
            return
        due_s = self._loop.time() + self._links.delay_s(self._port) if self._other_port is not None else 0.0
        self._outgoing.append((due_s, bytes(data)))
        self._forward()

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        self.write(b"".join(list_of_data))

    def close(self) -> None:
        self._forward()
        if self._outgoing:
            self._socket_side.abort()  # it would not get through
        else:
            self._socket_side.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def is_closing(self) -> bool:
        return self._socket_side.is_closing()

    def pause_reading(self) -> None:
        self._is_reading = False
        self._socket_side.pause_reading()

    def resume_reading(self) -> None:
        self._is_reading = True
        self._socket_side.resume_reading()
        self._loop.call_soon(self._forward)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._socket_side.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return self._socket_side.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._socket_side.get_extra_info(name, default)

    # -- the protocol of the socket -------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own class is not registered as one
        self._links.watch(self, self._forward)
        self._protocol.connection_made(self)

    def data_received(self, data: bytes) -> None:
        due_s = self._loop.time() + self._links.delay_s(self._port) if self._other_port is None else 0.0
        self._incoming.append((due_s, data))
        self._forward()

    def eof_received(self) -> bool:
        self.data_received(_EOF)
        return True  # the protocol decides, after what has been received before

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._links.unwatch(self)
        self._on_lost(self)
        self._incoming.clear()
        self._outgoing.clear()
        if self._timer is not None:
            self._timer.cancel()
        # Not the same any more: the two would keep each other alive.
        protocol, self._protocol = self._protocol, asyncio.Protocol()
        protocol.connection_lost(exc)

    def reset(self) -> None:
        """Reset the connection when it is aborted."""
        channel = None if self._transport is None else self._transport.get_extra_info("socket")
        if channel is not None:
            with contextlib.suppress(OSError):
                channel.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)

    # -- queued bytes -----------------------------------------------------------------------------------

    def _forward(self) -> None:
        """Forward the bytes that may pass now, and schedule the rest."""
        if self._other_port is not None and self._links.is_cut(self._port, self._other_port):
            return
        is_slow, now_s = self._links.delay_s(self._port) > 0, self._loop.time()
        while self._outgoing and (not is_slow or self._outgoing[0][0] <= now_s):
            self._socket_side.write(self._outgoing.popleft()[1])
        if not self._is_delivering:  # a protocol that receives bytes may write, which calls this again
            self._is_delivering = True
            try:
                while self._is_reading and self._incoming and (not is_slow or self._incoming[0][0] <= now_s):
                    self._deliver(*self._incoming.popleft())
            finally:
                self._is_delivering = False
        if is_slow:
            self._schedule()

    def _schedule(self) -> None:
        """Forward again when the next bytes are due."""
        due_s = [
            queue[0][0] for queue in (self._outgoing, self._incoming if self._is_reading else ()) if queue
        ]
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(min(due_s), self._forward) if due_s else None

    def _deliver(self, due_s: float, data: bytes) -> None:
        protocol = self._protocol
        if data == _EOF:
            assert isinstance(protocol, asyncio.Protocol | asyncio.BufferedProtocol)
            if not protocol.eof_received():
                self.close()
        elif isinstance(protocol, asyncio.BufferedProtocol):
            view = memoryview(protocol.get_buffer(len(data)))
            count = min(len(view), len(data))
            view[:count] = data[:count]
            if count < len(data):  # the rest waits: the protocol may pause reading
                self._incoming.appendleft((due_s, data[count:]))
            protocol.buffer_updated(count)
        else:
            assert isinstance(protocol, asyncio.Protocol)
            protocol.data_received(data)
