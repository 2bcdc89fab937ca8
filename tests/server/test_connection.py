"""Frames, order, limits and back-pressure of a connection, over real sockets."""

import asyncio
import contextlib
import logging
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from penstock.protocol.errors import ProtocolError
from penstock.runtime.clock import SystemClock
from penstock.runtime.completion import Reply
from penstock.server.connection import Connection
from penstock.server.connections import Answer, ConnectionContext, Limits, Peer
from penstock.server.listener_security import ListenerSecurity, plaintext
from penstock.server.memory import MemoryBudget
from penstock.server.request_metrics import RequestCounts

Dispatching = Callable[[bytes], Answer | Awaitable[Answer]]


class ScriptedDispatch:
    """Answers each frame as the test specifies, and records the frames."""

    def __init__(self, answer: Dispatching) -> None:
        self._answer = answer
        self.frames: list[bytes] = []

    def dispatch(self, frame: bytearray, peer: Peer) -> Answer | Reply[Answer]:
        self.frames.append(bytes(frame))
        answer = self._answer(bytes(frame))
        return Reply.of(answer) if isinstance(answer, Awaitable) else answer


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def echo(frame: bytes) -> Answer:
    return (framed(frame),)


@asynccontextmanager
async def serving(
    answer: Dispatching,
    *,
    frame_bytes_max: int = 1 << 20,
    in_flight_max: int = 8,
    connections_max: int = 100,
    memory_bytes: int = 1 << 30,
    security: ListenerSecurity | None = None,
) -> AsyncIterator[tuple[ScriptedDispatch, ConnectionContext, int]]:
    dispatch = ScriptedDispatch(answer)
    limits = Limits(
        frame_bytes_max=frame_bytes_max,
        in_flight_max=in_flight_max,
        in_flight_bytes_max=1 << 26,
        connections_max=connections_max,
        connections_per_host_max=connections_max,
    )
    host = ConnectionContext(
        dispatch, limits, SystemClock(), counts=RequestCounts(), memory=MemoryBudget(memory_bytes)
    )
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(host, "PLAINTEXT", security or plaintext()), "127.0.0.1", 0
    )
    try:
        yield dispatch, host, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for connection in list(host.connections):
            connection.abort()
        await server.wait_closed()


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


def test_pipelined_requests_are_answered_in_order_even_if_they_complete_in_reverse() -> None:
    async def scenario() -> None:
        gates: dict[bytes, asyncio.Future[None]] = {}

        async def later(frame: bytes) -> Answer:
            await gates[frame]
            return echo(frame)

        def answer(frame: bytes) -> Awaitable[Answer]:
            gates[frame] = asyncio.get_running_loop().create_future()
            return later(frame)

        async with serving(answer) as (dispatch, _, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            names = [b"one", b"two", b"three"]
            writer.write(b"".join(framed(n) for n in names))
            while len(dispatch.frames) < 3:
                await asyncio.sleep(0)
            for name in reversed(names):
                gates[name].set_result(None)
            assert [await read_frame(reader) for _ in names] == names
            writer.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("chunk", [1, 3, 4, 5, 64])
def test_frames_are_whole_however_the_bytes_arrive(chunk: int) -> None:
    async def scenario() -> None:
        async with serving(echo) as (dispatch, _, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            bodies = [b"a", b"bb" * 10, b"c" * 200]
            stream = b"".join(framed(b) for b in bodies)
            for start in range(0, len(stream), chunk):
                writer.write(stream[start : start + chunk])
                await writer.drain()
                await asyncio.sleep(0)
            assert [await read_frame(reader) for _ in bodies] == bodies
            assert dispatch.frames == bodies
            writer.close()

    asyncio.run(scenario())


def test_a_frame_larger_than_every_buffer_arrives_whole() -> None:
    async def scenario() -> None:
        body = bytes(range(256)) * 20_000  # 5 MB: beyond the shared buffer and the first body buffer
        async with serving(echo, frame_bytes_max=1 << 23) as (_, _, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(framed(body) + framed(b"next"))
            assert await read_frame(reader) == body
            assert await read_frame(reader) == b"next"
            writer.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("size", [0, -1, 1025, 2**31 - 1])
def test_a_frame_of_impossible_size_closes_the_connection_and_says_why(
    size: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with serving(echo, frame_bytes_max=1024) as (dispatch, _, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(struct.pack(">i", size) + b"x")
            assert await reader.read() == b""
            assert dispatch.frames == []
            writer.close()

    asyncio.run(scenario())
    assert f"a frame of {size} bytes" in caplog.text


def test_repeated_closes_for_the_same_reason_are_rate_limited_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        async with serving(echo, frame_bytes_max=1024) as (_, _, port):
            for size in range(2000, 2010):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(struct.pack(">i", size) + b"x")
                assert await reader.read() == b""
                writer.close()

    asyncio.run(scenario())
    logged = [each for each in caplog.records if each.levelname == "WARNING"]
    assert [each.getMessage().count("a frame of 2000 bytes") for each in logged] == [1]


def test_repeated_failures_at_the_same_place_log_one_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def answer(_frame: bytes) -> Answer:
        raise RuntimeError("a mistake of the broker")

    async def scenario() -> None:
        async with serving(answer) as (_, _, port):
            for _ in range(10):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(framed(b"x"))
                assert await reader.read() == b""
                writer.close()

    asyncio.run(scenario())
    assert caplog.text.count("Traceback") == 1
    assert len([each for each in caplog.records if each.levelno >= logging.WARNING]) == 2


def test_a_bad_request_closes_its_own_connection_only() -> None:
    async def scenario() -> None:
        def answer(frame: bytes) -> Answer:
            if frame == b"bad":
                raise ProtocolError("not a request")
            return echo(frame)

        async with serving(answer) as (_, _, port):
            good_reader, good = await asyncio.open_connection("127.0.0.1", port)
            bad_reader, bad = await asyncio.open_connection("127.0.0.1", port)
            bad.write(framed(b"bad"))
            assert await bad_reader.read() == b""
            good.write(framed(b"good"))
            assert await read_frame(good_reader) == b"good"
            good.close()
            bad.close()

    asyncio.run(scenario())


def test_reading_pauses_while_too_many_requests_are_in_flight() -> None:
    async def scenario() -> None:
        gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def later(frame: bytes) -> Answer:
            await asyncio.shield(gate)
            return echo(frame)

        async with serving(later, in_flight_max=4) as (dispatch, _, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            bodies = [b"%d" % i for i in range(20)]
            writer.write(b"".join(framed(b) for b in bodies))
            await writer.drain()
            for _ in range(50):
                await asyncio.sleep(0.001)
            assert len(dispatch.frames) == 4
            gate.set_result(None)
            assert [await read_frame(reader) for _ in bodies] == bodies
            writer.close()

    asyncio.run(scenario())


def test_reading_pauses_while_the_client_does_not_read_its_responses() -> None:
    async def scenario() -> None:
        big = bytes(1 << 20)

        def answer(frame: bytes) -> Answer:
            return (framed(big),)

        async with serving(answer, in_flight_max=1000) as (dispatch, _, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(200):
                writer.write(framed(b"give me a megabyte"))
            for _ in range(100):
                await asyncio.sleep(0.001)
            assert len(dispatch.frames) < 100  # the rest waits in the client's own socket buffers
            for _ in range(200):
                assert len(await read_frame(reader)) == len(big)
            writer.close()

    asyncio.run(scenario())


def test_draining_answers_requests_in_flight_and_accepts_no_new_ones() -> None:
    async def scenario() -> None:
        gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def later(frame: bytes) -> Answer:
            await asyncio.shield(gate)
            return echo(frame)

        async with serving(later) as (dispatch, host, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(framed(b"in flight"))
            while not dispatch.frames:
                await asyncio.sleep(0)
            (connection,) = host.connections
            draining = asyncio.ensure_future(connection.drain_and_close())
            await asyncio.sleep(0)
            writer.write(framed(b"too late"))
            gate.set_result(None)
            await draining
            assert await read_frame(reader) == b"in flight"
            with contextlib.suppress(ConnectionResetError):  # the kernel's word for "too late" was not read
                assert await reader.read() == b""
            assert dispatch.frames == [b"in flight"]
            writer.close()

    asyncio.run(scenario())


def test_a_connection_above_the_limit_is_refused_and_the_others_stay_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        async with serving(echo, connections_max=1) as (_, _, port):
            first_reader, first = await asyncio.open_connection("127.0.0.1", port)
            first.write(framed(b"hello"))
            assert await read_frame(first_reader) == b"hello"
            second_reader, second = await asyncio.open_connection("127.0.0.1", port)
            assert await second_reader.read() == b""
            first.write(framed(b"still here"))
            assert await read_frame(first_reader) == b"still here"
            first.close()
            second.close()

    asyncio.run(scenario())
    assert "max.connections" in caplog.text


def test_a_half_closed_client_still_gets_its_responses() -> None:
    async def scenario() -> None:
        async def later(frame: bytes) -> Answer:
            await asyncio.sleep(0.01)
            return echo(frame)

        async with serving(later) as (_, _, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(framed(b"last words"))
            writer.write_eof()
            assert await read_frame(reader) == b"last words"
            assert await reader.read() == b""
            writer.close()

    asyncio.run(scenario())


def test_a_short_throttle_does_not_end_a_longer_one() -> None:
    async def scenario() -> None:
        async with serving(echo) as (dispatch, host, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(framed(b"first"))
            await read_frame(reader)
            (connection,) = host.connections
            connection.peer.mute(600_000)
            connection.peer.mute(1)
            writer.write(framed(b"second"))
            await asyncio.sleep(0.01)  # many times as long as the short wait
            assert dispatch.frames == [b"first"]
            writer.close()

    asyncio.run(scenario())


def test_incomplete_frames_are_dropped_to_make_room_for_complete_ones() -> None:
    async def scenario() -> None:
        size = 4 << 20
        async with serving(echo, frame_bytes_max=1 << 24, memory_bytes=3 * size) as (_, host, port):
            idlers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(6)]
            for _, writer in idlers:
                writer.write(struct.pack(">i", size) + bytes(size - 1))
                with contextlib.suppress(ConnectionResetError):
                    await writer.drain()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(framed(bytes(size)))
            assert len(await read_frame(reader)) == size
            with contextlib.suppress(ConnectionResetError):
                assert await idlers[0][0].read() == b"", "the one begun first is closed"
            assert host.memory.receiving_bytes <= host.memory.limit_bytes
            for _, idler in (*idlers, (reader, writer)):
                idler.close()
            while host.connections:
                await asyncio.sleep(0)
            assert (host.memory.receiving_bytes, host.memory.in_flight_bytes) == (0, 0)

    asyncio.run(scenario())


def test_requests_wait_to_be_read_while_the_request_memory_is_full() -> None:
    async def scenario() -> None:
        gate = asyncio.get_running_loop().create_future()

        async def later(frame: bytes) -> Answer:
            await gate
            return echo(frame)

        async with serving(later, memory_bytes=1000) as (dispatch, host, port):
            first = await asyncio.open_connection("127.0.0.1", port)
            first[1].write(framed(bytes(2000)))
            while not dispatch.frames:
                await asyncio.sleep(0)
            second = await asyncio.open_connection("127.0.0.1", port)
            second[1].write(framed(b"x") * 2)
            while len(host.connections) < 2 or len(dispatch.frames) < 2:
                await asyncio.sleep(0)
            await asyncio.sleep(0.02)
            assert dispatch.frames[1:] == [b"x"], "one request shows that it is full; the next one waits"
            gate.set_result(None)
            assert [await read_frame(second[0]) for _ in range(2)] == [b"x", b"x"]
            first[1].close()
            second[1].close()

    asyncio.run(scenario())


def test_unsent_bytes_of_a_client_are_counted_until_it_disconnects() -> None:
    async def scenario() -> None:
        def much(_frame: bytes) -> Answer:
            return (framed(bytes(16 << 20)),)

        async with serving(much) as (_, host, port):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(framed(b"more"))
            while not host.memory.unsent_bytes:
                await asyncio.sleep(0)
            assert host.memory.unsent_bytes > 4 << 20
            writer.transport.abort()
            while host.connections:
                await asyncio.sleep(0)
            assert host.memory.unsent_bytes == 0

    asyncio.run(scenario())


def test_a_connection_accepted_just_before_the_listener_closed_is_closed() -> None:
    async def scenario() -> None:
        security = plaintext()
        async with serving(echo, security=security) as (dispatch, host, port):
            security.is_closed = True
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(framed(b"too late"))
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
            assert dispatch.frames == []
            writer.close()
            while host.connections:
                await asyncio.sleep(0)

    asyncio.run(scenario())
