"""What the web server of the admin port puts up with."""

import asyncio
import gzip
import socket
from pathlib import Path
from typing import Final

import aiohttp
import pytest
from aiohttp import web

from penstock.gateway.http import server
from penstock.observability.clock import SystemClock
from tests.gateway.http.admin import Admin, admin_of
from tests.server.live import running_broker


async def connected(
    url: str, address: str = "127.0.0.1"
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = url.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port), local_addr=(address, 0))


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


HALF: Final = b"POST /topics/a/records HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


async def asked(url: str, path: str) -> bytes:
    """The whole answer, until the connection ends."""
    reader, writer = await connected(url)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    try:
        return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
async def test_half_open_requests_without_end_do_not_keep_health_and_metrics_from_being_answered(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(server, "CONNECTIONS_MAX", 20)
    async with admin_of(admin.broker) as url:
        many = [await connected(url) for _ in range(120)]
        for _, writer in many:
            writer.write(HALF)
        assert (await asked(url, path)).startswith(b"HTTP/1.1 200 ")
        for _, writer in many:
            writer.close()


async def test_an_address_with_too_many_connections_gets_health_alone_and_others_get_all(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    limit = {"penstock.admin.max.connections.per.ip": "2"}
    async with running_broker(tmp_path, limit) as live, admin_of(live.broker) as url:
        held = [await connected(url) for _ in range(2)]
        for _, writer in held:
            writer.write(HALF)
        for _ in range(3):
            refusal = await asked(url, "/openapi.json")
            assert refusal.startswith(b"HTTP/1.1 503 ")
            assert b"penstock.admin.max.connections.per.ip" in refusal
            assert (await asked(url, "/healthz")).startswith(b"HTTP/1.1 200 ")
        reader, writer = await connected(url, "127.0.0.2")
        writer.write(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await reader.readline()).split()[1] == b"200"
        for each in (writer, *(writer for _, writer in held)):
            each.close()
    assert caplog.text.count("answers 127.0.0.1 for health and metrics only") == 1


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
    admin_server = await server.AdminServer.start(app, listening, clock=SystemClock())
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
    admin_server = await server.AdminServer.start(app, listening, clock=SystemClock())
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
