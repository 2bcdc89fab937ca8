"""What the web server of the admin port puts up with."""

import asyncio
import gzip
import socket

import aiohttp
import pytest
from aiohttp import web

from penstock.gateway.http import server
from tests.gateway.http.admin import Admin, admin_of


async def connected(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = url.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port))


@pytest.mark.parametrize("said", [b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "])
async def test_who_says_nothing_or_half_a_request_is_hung_up_on(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(server, "SILENCE_S_MAX", 0.05)
    async with admin_of(admin.broker) as url:
        reader, writer = await connected(url)
        writer.write(said)
        assert await reader.read() == b""
        writer.close()


async def test_one_connection_too_many_is_closed(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    async with admin_of(admin.broker) as url:
        first = await connected(url)
        first[1].write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await first[0].readuntil(b"}")
        monkeypatch.setattr(server, "CONNECTIONS_MAX", 1)
        reader, writer = await connected(url)
        assert await reader.read() == b""
        for each in (writer, first[1]):
            each.close()


async def test_bad_http_is_answered_and_does_not_fill_the_log(
    admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    async with admin_of(admin.broker) as url:
        reader, writer = await connected(url)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.0 400 ")
        writer.close()
    assert "Traceback" not in caplog.text


async def test_who_takes_nothing_of_its_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_LOOK_S", 0.01)

    async def much(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=bytes(32 * 1024 * 1024))

    app = web.Application()
    app.router.add_get("/", much)
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    admin_server = await server.AdminServer.start(app, listening)
    connections = admin_server.transports
    with socket.create_connection(listening.getsockname()) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while not connections():
            await asyncio.sleep(0)
        while connections():
            await asyncio.sleep(0.01)
    await admin_server.stop()


async def test_a_compressed_body_is_never_inflated() -> None:
    bodies: list[bytes] = []

    async def keep(request: web.Request) -> web.StreamResponse:
        bodies.append(await request.read())
        return web.Response()

    app = web.Application()
    app.router.add_post("/", keep)
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    admin_server = await server.AdminServer.start(app, listening)
    packed = gzip.compress(bytes(100_000))
    async with aiohttp.ClientSession(f"http://127.0.0.1:{listening.getsockname()[1]}") as http:
        await http.post("/", data=packed, headers={"Content-Encoding": "gzip"})
    await admin_server.stop()
    assert bodies == [packed]


def test_a_slow_reader_is_not_a_stuck_one() -> None:
    readers, wire = server.Readers(), Wire()
    for size_bytes in (9, 9, 9, 8, 8, 8, 8, 0, 8, 8, 8, 8):
        wire.size_bytes = size_bytes
        assert readers.stuck([wire]) == []
    assert readers.stuck([wire]) == [wire]


class Wire(asyncio.WriteTransport):
    size_bytes = 0

    def get_write_buffer_size(self) -> int:
        return self.size_bytes
