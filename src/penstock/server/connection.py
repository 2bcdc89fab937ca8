"""One client connection: frames in, responses out in the order of the requests.

A frame is a big-endian int32 length and that many bytes. Small frames are parsed out of one receive buffer
that all connections of a loop share (a read and its parsing are one uninterrupted step, so nothing of it
outlives the step); an incomplete frame gets a separate buffer that the rest is received into, without another
copy.

Requests are dispatched as they arrive and may finish in any order; `_slots` keeps their order and only its
finished head is written. An error that ends the connection ends it in its turn: requests before it are answered.
Reading stops while too many requests are in flight, while a request runs whose effect later ones must see, or
while the client does not read its responses.
"""

import asyncio
import logging
import struct
from collections import deque
from typing import TYPE_CHECKING, cast

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.runtime.completion import Cancelled, Completion, Reply
from penstock.server.connections import (
    Answer,
    Buffer,
    CloseAfterResponse,
    CloseConnection,
    ConnectionContext,
    Dialect,
    Dispatch,
    Peer,
)
from penstock.server.listener_security import ListenerSecurity
from penstock.server.read_gate import ConnectionGone

if TYPE_CHECKING:
    from penstock.security.sasl.listener import ListenerLogins
    from penstock.security.sasl.login import Login

log = logging.getLogger(__name__)

_SIZE = struct.Struct(">i")
_BODY_FIRST_BYTES = 1024 * 1024  # a peer that only announces a big frame is not given that much memory yet
_WRITE_HIGH_WATER_BYTES = 4 * 1024 * 1024
_UNSENT_HIGH_WATER_BYTES = 256 * 1024  # unread responses are counted above this size
_WRITE_AT_ONCE_BYTES = 64 * 1024
_LINGER_S = 0.1
_LOGIN_FIRST = (
    b'{"error":"authentication_required","message":"this listener asks for a login, which JSON lines have not: '
    b'use a Kafka client, or a listener without SASL"}\n'
)


class Slot(msgspec.Struct, eq=False):
    """The place of one request in the order of answers."""

    connection: "Connection"
    request_bytes: int
    answer: Answer | None = None
    answer_bytes: int = 0
    failure: str | None = None  # the reason why the connection ends here

    def on_answer(self, done: Completion[Answer]) -> None:
        try:
            answer = done.result()
        except Exception as error:  # noqa: BLE001  an error must not affect other connections
            self.connection.fail(self, error)
        else:
            self.connection.take(self, answer)


class Connection(asyncio.BufferedProtocol):
    """One accepted socket. See the docstring of the module."""

    def __init__(self, host: ConnectionContext, listener: str, security: ListenerSecurity) -> None:
        self._host = host
        self._limits = host.limits
        self._security = security
        self._dispatcher: Dispatch = host.dispatcher
        self._login: Login | None = None
        self._clock = host.clock
        self._memory = host.memory
        self._listener = listener
        self._slots: deque[Slot] = deque()
        self._exclusive: Slot | None = None
        self._in_flight_bytes = 0
        self._unparsed: bytearray | None = (
            None  # bytes that were read but not dispatched: less than a length, or held back
        )
        self._body: bytearray | None = None  # a frame whose rest is being received
        self._body_size = 0
        self._body_received = 0
        self._is_first_read = True
        self._is_paused = False
        self._is_write_due = False
        self._unwritten_bytes = 0
        self._is_peer_slow = False
        self._muted_until_ms = 0.0
        self._is_stopping = False
        self._drained: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport
        self.peer: Peer
        self.last_active_ms = host.clock.monotonic_ms()
        if security.logins is not None:
            self._ask_for_login(security.logins)

    # -- life

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own class is not registered as one
        self._transport.set_write_buffer_limits(high=_UNSENT_HIGH_WATER_BYTES)
        address = transport.get_extra_info("peername") or ("unknown", 0)
        self.peer = Peer(self._listener, str(address[0]), int(address[1]))
        self.peer.mute = self._mute
        self.peer.login = self._login
        self.peer.brokers = self._security.brokers
        self.peer.trust = self._host.trust
        self._host.connections.add(self)
        is_late = self._security.is_closed
        refusal = "its listener was closed" if is_late else self._host.admits(self.peer.host)
        if refusal is not None:
            self.close(refusal)
        else:
            self._wait_for_turn()

    def _wait_for_turn(self) -> None:
        """Throttle an address that connects too often; close the connection after that if its own quota is exceeded."""
        wait_ms, is_closed_after = self._host.connection_wait(self.peer.host)
        if wait_ms > 0:
            self._mute(wait_ms)
        if is_closed_after:
            asyncio.get_running_loop().call_later(
                wait_ms / 1000, self.close, "its address connects too often (connection_creation_rate)"
            )

    def _ask_for_login(self, logins: "ListenerLogins") -> None:
        """Restrict the connection until the login is done."""
        from penstock.server.login_gate import LoginGate  # noqa: PLC0415  see connections

        self._login = logins.begin()
        limits = self._limits
        self._limits = msgspec.structs.replace(limits, frame_bytes_max=logins.frame_bytes_max)
        self._dispatcher = LoginGate(
            self._dispatcher,
            self._login,
            failed_delay_ms=logins.failed_delay_ms,
            log_limiter=logins.log_limiter,
            clock=self._clock,
            on_done=lambda: setattr(self, "_limits", limits),
        )

    def connection_lost(self, exc: Exception | None) -> None:
        log.debug("Disconnected. peer=%s error=%s", self.peer, exc)
        self._host.connections.discard(self)
        self._body = None  # a cycle may keep this object alive until the garbage collector runs
        self._unparsed = None
        self._drop_requests()
        self._memory.clear_unsent(self)
        self._memory.remove(self)
        self._is_stopping = True
        self.peer.disconnecting()
        self.peer.turns.is_gone = True
        self.peer.turns.wake()
        self._resolve_drained()

    def eof_received(self) -> bool:
        # A client may half-close after its last request: its answers are still owed (`nc -N` does this).
        self._is_stopping = True
        self.peer.disconnecting()
        if not self._slots or self._transport.get_extra_info("sslcontext") is not None:
            return False  # TLS has no half-closed connections
        if self._drained is None:
            self._drained = asyncio.get_running_loop().create_future()
            self._drained.add_done_callback(lambda _: self._transport.close())
        return True

    def close(self, reason: str) -> None:
        """Close at once. An empty reason was logged already."""
        if reason:
            self._host.log_closing(self.peer, reason)
        self._is_stopping = True
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    async def drain_and_close(self) -> None:
        """Take no more requests, answer those in flight, close."""
        self._is_stopping = True
        self._pause()
        self.peer.disconnecting()
        if self._slots:
            if self._drained is None:
                self._drained = asyncio.get_running_loop().create_future()
            await self._drained
        self._transport.close()

    def _resolve_drained(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    # -- bytes in

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  the shared buffer has one size
        body = self._body
        if body is not None:
            return memoryview(body)[self._body_received :]
        rest = self._unparsed
        if rest is None:
            return self._host.receive_view
        self._host.receive_buffer[: len(rest)] = rest
        return self._host.receive_view[len(rest) :]

    def buffer_updated(self, nbytes: int) -> None:
        body = self._body
        if body is not None:
            self.last_active_ms = self._clock.monotonic_ms()
            self._body_received += nbytes
            self._continue_body(body)
            return
        size = nbytes
        if self._unparsed is not None:
            size += len(self._unparsed)
            self._unparsed = None
        if self._is_first_read:
            self._is_first_read = False
            dialect = self._host.dialects.get(self._host.receive_buffer[0])
            if dialect is not None and self.peer.login is not None:
                self._transport.write(_LOGIN_FIRST)
                self.close("it speaks a dialect that has no login, on a listener that asks for one")
                return
            if dialect is not None:
                self._switch(dialect, bytes(self._host.receive_view[:size]))
                return
        received = self._host.receive_buffer
        if (
            size > 4
            and _SIZE.unpack_from(received)[0] == size - 4 <= self._limits.frame_bytes_max
            and not (self._is_paused or self._is_stopping)
        ):
            # Fast path: one whole frame, of a client that waits for each answer. The answer counts as its activity.
            self._accept(received[4:size])
        else:
            self.last_active_ms = self._clock.monotonic_ms()
            self._parse(received, size)

    def _switch(self, dialect: Dialect, received: bytes) -> None:
        connection = dialect(self._host, self._transport, self.peer, received)
        self._host.connections.discard(self)
        self._host.connections.add(connection)
        self._transport.set_protocol(connection)

    def _continue_body(self, body: bytearray) -> None:
        if self._body_received == self._body_size:
            self._body = None
            self._memory.clear_partial_frame(self)
            self._accept(body)
        elif self._body_received == len(body):
            # Not resized in place: the transport still holds a view of the old one.
            size = min(2 * len(body), self._body_size)
            self._body = bytearray(size)
            self._body[: len(body)] = body
            self._memory.set_partial_frame(self, size)

    def close_partial_frame(self) -> None:
        self._body = None
        self.close(
            f"it has sent {self._body_received} bytes of a frame of {self._body_size}, and others need the memory "
            "(queued.max.request.bytes)"
        )

    def _parse(self, data: bytearray, end: int) -> None:
        """Dispatch every whole frame in `data` up to `end`, and keep the bytes after the last one."""
        position = 0
        while end - position >= 4 and not self._is_paused and not self._is_stopping:
            size: int = _SIZE.unpack_from(data, position)[0]
            if not 0 < size <= self._limits.frame_bytes_max:
                self.close(
                    f"it announced a frame of {size} bytes; the limit is {self._limits.frame_bytes_max} "
                    "(socket.request.max.bytes). Is it a Kafka client?"
                )
                return
            position += 4
            if end - position < size:
                self._begin_body(size, memoryview(data)[position:end])
                return
            self._accept(data[position : position + size])
            position += size
        if position < end and not self._is_stopping:
            self._unparsed = data[position:end]

    def _begin_body(self, size: int, received: memoryview) -> None:
        body = self._body = bytearray(max(min(size, _BODY_FIRST_BYTES), len(received)))
        body[: len(received)] = received
        self._body_size = size
        self._body_received = len(received)
        self._memory.set_partial_frame(self, len(body))
        self._continue_body(body)

    def _accept(self, frame: bytearray) -> None:
        """Dispatch one frame, and keep the place of its answer in the order."""
        size = len(frame)
        slot = Slot(self, size)
        self._slots.append(slot)
        self._in_flight_bytes += size
        self._memory.in_flight_bytes += size
        self.peer.turns.accepted += 1
        try:
            answer = self._dispatcher.dispatch(frame, self.peer)
        except Exception as error:  # noqa: BLE001  an error must not affect other connections
            self.fail(slot, error)
            return
        if isinstance(answer, Reply):
            if answer.is_exclusive:
                self._exclusive = slot
            answer.then(slot.on_answer)
        else:
            self.take(slot, answer)
        if not self._has_room():
            self._pause()

    # -- answers out

    def take(self, slot: Slot, answer: Answer) -> None:
        """Write at the end of this turn of the loop, together with other answers; at once if they are many or large."""
        if self._exclusive is slot:
            self._exclusive = None
        slots = self._slots
        if len(slots) == 1 and slots[0] is slot:
            self._write_only(slot, answer)
            return
        slot.answer = answer
        slot.answer_bytes = len(answer[0]) if len(answer) == 1 else sum(map(len, answer))
        self._unwritten_bytes += slot.answer_bytes
        if self._unwritten_bytes >= _WRITE_AT_ONCE_BYTES or len(slots) >= self._limits.in_flight_max:
            self._write_finished()
        elif not self._is_write_due:
            self._is_write_due = True
            asyncio.get_running_loop().call_soon(self._write_finished)

    def _write_only(self, slot: Slot, answer: Answer) -> None:
        """Fast path: write the answer of the only request in flight."""
        self._slots.clear()
        self.peer.turns.answered += 1
        self._write(answer)
        self._in_flight_bytes -= slot.request_bytes
        if self._memory.waiting:
            self._memory.release(slot.request_bytes)
        else:
            self._memory.in_flight_bytes -= slot.request_bytes
        if self._drained is not None:
            self._resolve_drained()
        if self._is_paused:
            self.resume_if_room()

    def _write(self, answer: Answer) -> None:
        self.last_active_ms = self._clock.monotonic_ms()
        if not answer or self._transport.is_closing():
            return
        if len(answer) == 1:
            self._transport.write(answer[0])
        else:
            self._transport.writelines(answer)

    def fail(self, slot: Slot, error: Exception) -> None:
        """Close the connection when all earlier requests are answered. Accept no more."""
        if self._exclusive is slot:
            self._exclusive = None
        if isinstance(error, CloseAfterResponse):
            # Some clients drop a response that arrives together with the end of the connection.
            slot.answer = error.answer
            asyncio.get_running_loop().call_later(_LINGER_S, self.close, str(error))
        elif isinstance(error, ProtocolError | CloseConnection | Cancelled):
            slot.failure = str(error)
            self._host.counts.protocol_errors += 1
        elif isinstance(error, ConnectionGone):
            slot.failure = "it disconnected"
        else:
            self._host.log_failure(self.peer, error)
            slot.failure = "internal error, see the traceback above"
            self._host.counts.unexpected_errors += 1
        self._is_stopping = True
        self._pause()
        self._write_finished()

    def _write_finished(self) -> None:
        """Write the answers at the head of the order that are complete."""
        self._is_write_due = False
        slots = self._slots
        buffers: list[Buffer] = []
        count = answered_bytes = written_bytes = 0
        while slots and (answer := slots[0].answer) is not None:
            buffers += answer
            slot = slots.popleft()
            count += 1
            answered_bytes += slot.request_bytes
            written_bytes += slot.answer_bytes
        self._unwritten_bytes -= written_bytes
        self.peer.turns.answered += count
        if len(buffers) > 1 and written_bytes < _WRITE_AT_ONCE_BYTES:
            buffers = [b"".join(buffers)]  # to copy small ones is cheaper than to hand over each
        self._write(buffers)
        self._in_flight_bytes -= answered_bytes
        self._memory.release(answered_bytes)
        if slots and (failure := slots[0].failure) is not None:
            self._drop_requests()
            self.close(failure)
        if not slots:
            self._resolve_drained()
        self._notify_readers()
        if self._is_paused:
            self.resume_if_room()

    def _drop_requests(self) -> None:
        """Drop the requests in flight without an answer."""
        self._slots.clear()
        released, self._in_flight_bytes = self._in_flight_bytes, 0
        self._memory.release(released)

    # -- back-pressure

    def unsent_bytes_now(self) -> int:
        return self._transport.get_write_buffer_size()

    def close_unread(self) -> None:
        self._host.log_closing(self.peer, "it takes none of its answers, and others need the memory")
        self.abort()

    def pause_writing(self) -> None:
        self._memory.set_unsent(self, self.unsent_bytes_now(), self._clock.monotonic_ms())
        self._is_peer_slow = True
        self._notify_readers()
        self._pause()

    def resume_writing(self) -> None:
        self._memory.clear_unsent(self)
        self._is_peer_slow = False
        self._notify_readers()
        self.resume_if_room()

    def _notify_readers(self) -> None:
        turns = self.peer.turns
        turns.is_slow = self._is_peer_slow
        turns.is_full = self._unwritten_bytes >= _WRITE_HIGH_WATER_BYTES
        turns.wake()

    def _mute(self, wait_ms: float) -> None:
        """Stop reading for a while, after a quota was exceeded. Answers are still written."""
        until_ms = self._clock.monotonic_ms() + wait_ms
        if until_ms <= self._muted_until_ms:
            return  # muted longer already
        self._muted_until_ms = until_ms
        self._pause()
        asyncio.get_running_loop().call_later(wait_ms / 1000, self._unmute, until_ms)

    def _unmute(self, until_ms: float) -> None:
        if until_ms == self._muted_until_ms:
            self._muted_until_ms = 0.0
            self.resume_if_room()

    def _has_room(self) -> bool:
        if (
            self._is_peer_slow
            or self._muted_until_ms
            or self._unwritten_bytes >= _WRITE_HIGH_WATER_BYTES
            or self._exclusive is not None
            or len(self._slots) >= self._limits.in_flight_max
            or self._in_flight_bytes >= self._limits.in_flight_bytes_max
        ):
            return False
        if self._memory.in_flight_bytes < self._memory.limit_bytes:
            return True
        self._memory.wait_for_room(self)
        return False

    def _pause(self) -> None:
        if not self._is_paused and not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()

    def resume_if_room(self) -> None:
        if self._is_stopping or self._transport.is_closing() or not self._is_paused or not self._has_room():
            return
        self._is_paused = False
        held, self._unparsed = self._unparsed, None
        if held is not None:
            self._parse(held, len(held))  # may fill the room again
        if not self._is_paused and not self._is_stopping:
            self._transport.resume_reading()

    @property
    def is_waiting_for_answers(self) -> bool:
        """False for a client that does not read its answers."""
        return bool(self._slots) and not self._is_peer_slow
