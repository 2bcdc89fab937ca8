"""Connections in memory: an ordered stream of bytes each way, with the network's delays.

Bytes arrive in order, in pieces that the seed draws. A blocked link stalls a stream, as lost packets stall TCP; a
stream that has stalled for too long breaks. A link that is blocked one way passes bytes the other way, up to a window
of unacknowledged bytes. When a machine loses power its peers are reset.
"""

import asyncio
import contextvars
import zlib
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock_simulation.network import current_node

if TYPE_CHECKING:
    from penstock_simulation.loop import SimulatedLoop

_HIGH_WATER_BYTES = 64 * 1024
_RETRY_S = 0.2
_STALL_S_MAX = 15.0
_CONNECT_TIMEOUT_S = 10.0
_AFTER_DELIVERY_S = 1e-6
"""Delay until the bytes that have just arrived are handled."""
_SPLIT_CHANCE = 0.1
_WINDOW_BYTES = 64 * 1024
"""Bytes that may be sent without an acknowledgement."""

_EOF = b""


class SimulatedTransport(asyncio.Transport):
    """One end of a connection. `node` is the machine it is on."""

    def __init__(
        self,
        loop: "SimulatedLoop",
        protocol: asyncio.BaseProtocol,
        *,
        node: str,
        local: tuple[str, int],
        remote: tuple[str, int],
        context: contextvars.Context,
    ) -> None:
        super().__init__(extra={"sockname": local, "peername": remote, "socket": None})
        self._loop = loop
        self._protocol = protocol
        self.context = context
        self._inbox: list[bytes] = []
        self._is_reading = True
        self._is_closing = False
        self.is_lost = False
        self._has_sent_eof = False
        self._in_flight_bytes = 0
        self._unacknowledged_bytes = 0
        self._high_water_bytes = _HIGH_WATER_BYTES
        self._is_writing_paused = False
        self._arrives_at_s = 0.0
        self._queue: list[bytes] = []
        self._in_transit: deque[bytes] = deque()
        self._is_pumping = False
        self._stalled_since_s: float | None = None
        self.peer: SimulatedTransport | None = None
        self.node = node
        loop.add_transport(self)

    # -- asyncio.Transport ----------------------------------------------------------------------------

    def write(self, data: Any) -> None:
        if self.is_lost or self._is_closing or self._has_sent_eof:
            return
        piece = bytes(data)
        if piece:
            self._in_flight_bytes += len(piece)
            self._queue.append(piece)
            self._pump_soon()
            if self._in_flight_bytes > self._high_water_bytes and not self._is_writing_paused:
                self._is_writing_paused = True
                self.context.run(self._protocol.pause_writing)

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(bytes(each) for each in list_of_data))

    def write_eof(self) -> None:
        if not self._has_sent_eof and not self.is_lost:
            self._has_sent_eof = True
            self._queue.append(_EOF)
            self._pump_soon()

    def can_write_eof(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return self._in_flight_bytes

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:  # noqa: ARG002
        self._high_water_bytes = _HIGH_WATER_BYTES if high is None else high

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._loop.call_soon(self._deliver, context=self.context)

    def is_reading(self) -> bool:
        return self._is_reading

    def is_closing(self) -> bool:
        return self._is_closing

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def close(self) -> None:
        """Send the bytes written so far, then the end of the stream."""
        if not self._is_closing:
            self.write_eof()
            self._is_closing = True
            if not self._queue:
                self._close_soon(None)

    def abort(self) -> None:
        if not self.is_lost:
            self._is_closing = True
            self._queue.clear()
            self._reset_peer("connection reset by peer")
            self._close_soon(None)

    # -- the network ----------------------------------------------------------------------------------

    def drop(self) -> None:
        """Drop the connection of a machine without power: only the peer is notified."""
        if not self.is_lost:
            self.is_lost = self._is_closing = True
            self._queue.clear()
            self._loop.remove_transport(self)
            self._reset_peer("connection reset by peer")

    def retry(self) -> None:
        """Send stalled bytes now."""
        if self._stalled_since_s is not None:
            self._pump()

    def _pump_soon(self) -> None:
        if not self._is_pumping:
            self._is_pumping = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        """Send the queued bytes; try again later where the link is blocked."""
        self._is_pumping = False
        peer, loop = self.peer, self._loop
        if self.is_lost or peer is None:
            return
        network = loop.network
        if network.is_blocked(self.node, peer.node) or not self._fits_window(peer):
            self._stall()
            return
        self._stalled_since_s = None
        queue, self._queue = self._queue, []
        for piece in self._split(queue):
            is_breaking = network.breaks_connection(self.node, peer.node)
            if is_breaking and not network.arrives_before_break():
                self.break_connection()
                return
            delay_s = network.stream_delay_ms(self.node, peer.node) / 1000
            self._arrives_at_s = max(self._arrives_at_s, loop.time() + delay_s)
            self._in_transit.append(piece)
            loop.call_at(self._arrives_at_s, self._arrive, peer)
            if is_breaking:
                loop.call_at(self._arrives_at_s + _AFTER_DELIVERY_S, self.break_connection)
                return
        if self._is_closing:
            self._close_soon(None)

    def _fits_window(self, peer: "SimulatedTransport") -> bool:
        """Return whether the queued bytes fit into the window, which is unlimited while the peer can answer."""
        if not self._loop.network.is_blocked(peer.node, self.node):
            self._unacknowledged_bytes = 0
            return True
        size_bytes = sum(len(each) for each in self._queue)
        if self._unacknowledged_bytes + size_bytes > _WINDOW_BYTES:
            return False
        self._unacknowledged_bytes += size_bytes
        return True

    def break_connection(self) -> None:
        """Break the connection for both ends."""
        if not self.is_lost:
            self._is_closing = True
            self._queue.clear()
            self._reset_peer("the connection broke")
            self._close_soon(ConnectionResetError("the connection broke"))

    def _split(self, pieces: list[bytes]) -> list[bytes]:
        """Split pieces at random: a stream has no frames."""
        split = []
        for piece in pieces:
            if len(piece) > 1 and self._loop.random.random() < _SPLIT_CHANCE:
                middle = self._loop.random.randrange(1, len(piece))
                split += [piece[:middle], piece[middle:]]
            else:
                split.append(piece)
        return split

    def _stall(self) -> None:
        now_s = self._loop.time()
        if self._stalled_since_s is None:
            self._stalled_since_s = now_s
        if now_s - self._stalled_since_s > _STALL_S_MAX:
            self._queue.clear()
            self._is_closing = True
            self._reset_peer("the link was blocked for too long")
            self._close_soon(TimeoutError("the link was blocked for too long"))
        else:
            self._is_pumping = True
            self._loop.call_later(_RETRY_S, self._pump)

    def _arrive(self, peer: "SimulatedTransport") -> None:
        piece = self._in_transit.popleft()  # timers of one moment fire in any order; bytes arrive in theirs
        self._in_flight_bytes -= len(piece)
        if (
            self._is_writing_paused
            and self._in_flight_bytes <= self._high_water_bytes // 4
            and not self.is_lost
        ):
            self._is_writing_paused = False
            self._loop.call_soon(self._protocol.resume_writing, context=self.context)
        if not peer.is_lost:
            self._loop.add_trace(f"{self.node} -> {peer.node}: {len(piece)} bytes, {zlib.crc32(piece):08x}")
            peer.receive(piece)

    def receive(self, piece: bytes) -> None:
        self._inbox.append(piece)
        self._loop.call_soon(self._deliver, context=self.context)

    def _deliver(self) -> None:
        while self._inbox and self._is_reading and not self.is_lost:
            piece = self._inbox.pop(0)
            if piece == _EOF:
                self._end_of_stream()
            elif isinstance(self._protocol, asyncio.BufferedProtocol):
                self._deliver_buffered(self._protocol, piece)
            else:
                assert isinstance(self._protocol, asyncio.Protocol)
                self._protocol.data_received(piece)

    def _deliver_buffered(self, protocol: asyncio.BufferedProtocol, piece: bytes) -> None:
        """Deliver what the protocol has room for; keep the rest in case it pauses reading."""
        view = memoryview(protocol.get_buffer(len(piece)))
        count = min(len(view), len(piece))
        view[:count] = piece[:count]
        if count < len(piece):
            self._inbox.insert(0, piece[count:])
        protocol.buffer_updated(count)

    def _end_of_stream(self) -> None:
        if self._is_closing:
            self._close_soon(None)
            return
        assert isinstance(self._protocol, asyncio.Protocol | asyncio.BufferedProtocol)
        if not self._protocol.eof_received():
            self.close()

    def _reset_peer(self, reason: str) -> None:
        peer, loop = self.peer, self._loop
        if peer is not None and not peer.is_lost:
            delay_s = loop.network.delay_ms(self.node, peer.node) / 1000
            loop.call_later(delay_s, peer.lose, ConnectionResetError(reason))

    def _close_soon(self, error: Exception | None) -> None:
        self._loop.call_soon(self.lose, error)

    def lose(self, error: Exception | None) -> None:
        if not self.is_lost:
            self.is_lost = self._is_closing = True
            self._loop.remove_transport(self)
            self.context.run(self._protocol.connection_lost, error)


class Listener(asyncio.AbstractServer):
    """Replaces `asyncio.Server`."""

    def __init__(
        self,
        loop: "SimulatedLoop",
        address: tuple[str, int],
        factory: Callable[[], asyncio.BaseProtocol],
        node: str,
    ) -> None:
        self._loop = loop
        self._context = contextvars.copy_context()
        self._is_serving = False
        self.factory = factory
        self.address = address
        self.node = node

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def is_serving(self) -> bool:
        return self._is_serving

    async def serve_forever(self) -> None:
        await self.start_serving()
        await asyncio.Event().wait()

    async def start_serving(self) -> None:
        self._is_serving = True

    def close(self) -> None:
        self._is_serving = False
        self._loop.remove_listener(self)

    async def wait_closed(self) -> None:
        pass

    def accept(self, remote: tuple[str, int]) -> SimulatedTransport:
        protocol = self._context.run(self.factory)
        return SimulatedTransport(
            self._loop,
            protocol,
            node=self.node,
            local=self.address,
            remote=remote,
            context=self._context.copy(),
        )


async def connect(
    loop: "SimulatedLoop", factory: Callable[[], asyncio.BaseProtocol], address: tuple[str, int]
) -> tuple[SimulatedTransport, asyncio.BaseProtocol]:
    """Open a connection: a round trip, if the link works and a listener accepts."""
    node = current_node.get()
    listener = loop.listener_at(address)
    target = listener.node if listener is not None else address[0]
    network = loop.network
    if network.is_unreachable(target) or network.is_blocked(node, target) or network.is_blocked(target, node):
        await asyncio.sleep(_CONNECT_TIMEOUT_S)
        raise TimeoutError(f"{node} cannot reach {address[0]}:{address[1]}")
    await asyncio.sleep((network.delay_ms(node, target) + network.delay_ms(target, node)) / 1000)
    listener = loop.listener_at(address)
    if listener is None or not listener.is_serving() or network.is_refusing(target):
        raise ConnectionRefusedError(111, f"{address[0]}:{address[1]} refuses connections")
    local = (node, loop.random.randrange(50_000, 60_000))
    protocol = factory()
    mine = SimulatedTransport(
        loop, protocol, node=node, local=local, remote=address, context=contextvars.copy_context()
    )
    theirs = listener.accept(local)
    mine.peer, theirs.peer = theirs, mine
    theirs.context.run(theirs.get_protocol().connection_made, theirs)
    protocol.connection_made(mine)
    return mine, protocol
