"""The client's connection against a server with the test's answers."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from penstock.client.connection import Connection, Disconnected
from penstock.protocol.errors import ProtocolError
from penstock.protocol.headers import decode_request_header
from penstock.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    encode_response,
)
from penstock.protocol.messages.produce import ProduceRequest

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
ASK = ApiVersionsRequest(client_software_name="x", client_software_version="1")


def answer_to(correlation_id: int, number: int = 7) -> bytes:
    response = ApiVersionsResponse(api_keys=[ApiVersion(api_key=number, min_version=0, max_version=1)])
    body = struct.pack(">i", correlation_id) + encode_response(response, 0)
    return struct.pack(">i", len(body)) + body


async def next_request(reader: asyncio.StreamReader) -> tuple[int, int, str]:
    """Key, correlation id and client id of the next request."""
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    header, _ = decode_request_header(await reader.readexactly(size))
    return header.api_key, header.correlation_id, header.client_id


@contextlib.asynccontextmanager
async def connected_to(serve: Serve) -> AsyncIterator[Connection]:
    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve_and_close, "127.0.0.1", 0)
    async with server:
        connection = await Connection.open(
            "127.0.0.1", server.sockets[0].getsockname()[1], client_id="someone"
        )
        try:
            yield connection
        finally:
            await connection.close()


def key_of(response: ApiVersionsResponse) -> int:
    return response.api_keys[0].api_key


def test_pipelined_answers_reach_their_callers_however_the_bytes_arrive() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = [await next_request(reader) for _ in range(3)]
        assert [client_id for _, _, client_id in asked] == ["someone"] * 3
        for byte in b"".join(answer_to(number, 100 + i) for i, (_, number, _) in enumerate(asked)):
            writer.write(bytes((byte,)))
            await writer.drain()
            await asyncio.sleep(0)

    async def scenario() -> None:
        async with connected_to(serve) as connection:
            answers = await asyncio.gather(*(connection.call(18, 0, ASK) for _ in range(3)))
            assert [key_of(a) for a in answers] == [100, 101, 102]

    asyncio.run(scenario())


def test_a_closed_connection_fails_waiting_and_later_requests() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, number, _ = await next_request(reader)
        writer.write(answer_to(number))
        await next_request(reader)

    async def scenario() -> None:
        async with connected_to(serve) as connection:
            calls = [connection.call(18, 0, ASK) for _ in range(3)]
            assert key_of(await calls[0]) == 7
            for call in calls[1:]:
                with pytest.raises(Disconnected):
                    await call
            with pytest.raises(Disconnected):
                await connection.call(18, 0, ASK)

    asyncio.run(scenario())


def test_a_request_without_an_answer_is_not_waited_for() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await next_request(reader))[0] == 0
        _, number, _ = await next_request(reader)
        writer.write(answer_to(number))
        await reader.read()

    async def scenario() -> None:
        async with connected_to(serve) as connection:
            connection.send(0, 9, ProduceRequest(acks=0))
            assert key_of(await connection.call(18, 0, ASK)) == 7

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (answer_to(99), ProtocolError),
        (struct.pack(">iiH", 6, 0, 1), ProtocolError),
        (struct.pack(">i", -5), Disconnected),
        (struct.pack(">i", 2**31 - 1), Disconnected),
        (struct.pack(">i", 0), Disconnected),
    ],
)
def test_a_malformed_answer_closes_the_connection(answer: bytes, error: type[Exception]) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await next_request(reader)
        writer.write(answer)
        await reader.read()

    async def scenario() -> None:
        async with connected_to(serve) as connection:
            with pytest.raises(error):
                await connection.call(18, 0, ASK)
            with pytest.raises(Disconnected):
                await asyncio.wait_for(connection.call(18, 0, ASK), 10)

    asyncio.run(scenario())


def test_an_unsolicited_answer_closes_the_connection() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer_to(0))
        await reader.read()

    async def scenario() -> None:
        async with connected_to(serve) as connection:
            while not connection.is_lost:
                await asyncio.sleep(0)
            with pytest.raises(Disconnected):
                await connection.call(18, 0, ASK)

    asyncio.run(scenario())


def test_a_cancelled_request_does_not_affect_the_others() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        numbers = [(await next_request(reader))[1] for _ in range(2)]
        for number in numbers:
            writer.write(answer_to(number, 50 + number))
        await reader.read()

    async def scenario() -> None:
        async with connected_to(serve) as connection:
            first = connection.call(18, 0, ASK)
            first.cancel()
            assert key_of(await connection.call(18, 0, ASK)) == 51

    asyncio.run(scenario())
