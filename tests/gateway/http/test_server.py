"""The web server of the admin port, with slow, broken and hostile clients."""

import asyncio
import contextlib
import gzip
import logging
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import aiohttp
import pytest
from aiohttp import web

from penstock.gateway.http import metrics, server
from penstock.gateway.http.app import make_app
from penstock.runtime.clock import ManualClock, SystemClock
from tests.gateway.http.admin import Admin, admin_of
from tests.server.live import running_broker, until


async def connected(
    url: str, address: str = "127.0.0.1"
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = url.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port), local_addr=(address, 0))


@contextlib.asynccontextmanager
async def serving(app: web.Application) -> AsyncIterator[tuple[str, server.AdminServer]]:
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    running = await server.AdminServer.start(app, listening, clock=SystemClock())
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", running
    finally:
        await running.stop()


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "])
async def test_a_connection_without_a_whole_request_is_closed(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(server, "SILENCE_S_MAX", 0.05)
    async with admin_of(admin.broker) as url:
        reader, writer = await connected(url)
        writer.write(sent)
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
async def test_health_and_metrics_are_answered_during_many_half_open_requests(
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


async def test_an_address_with_too_many_connections_gets_only_health_and_others_get_everything(
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
    assert caplog.text.count("serves only health and metrics to 127.0.0.1") == 1


async def test_bad_http_is_answered_and_does_not_fill_the_log(
    admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    async with admin_of(admin.broker) as url:
        reader, writer = await connected(url)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.0 400 ")
        writer.close()
    assert "Traceback" not in caplog.text


async def test_a_client_that_does_not_read_its_answer_is_disconnected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "_CHECK_S", 0.01)

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
    packed = gzip.compress(bytes(100_000))
    async with serving(app) as (url, _), aiohttp.ClientSession(url) as http:
        await http.post("/", data=packed, headers={"Content-Encoding": "gzip"})
    assert bodies == [packed]


def test_a_slow_reader_is_not_disconnected() -> None:
    readers, wire = server.StalledReaders(), StalledTransport()
    for size_bytes in (9, 9, 9, 8, 8, 8, 8, 0, 8, 8, 8, 8):
        wire.size_bytes = size_bytes
        assert readers.find([wire]) == []
    assert readers.find([wire]) == [wire]


class StalledTransport(asyncio.WriteTransport):
    size_bytes = 0

    def get_write_buffer_size(self) -> int:
        return self.size_bytes


@pytest.mark.parametrize("is_reset", [False, True])
@pytest.mark.parametrize("is_read", [True, False])
@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 100000\r\n\r\n{",
        b"Transfer-Encoding: chunked\r\n\r\n500\r\n{",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
async def test_an_aborted_upload_or_a_bad_body_leaves_nothing_in_the_log(
    caplog: pytest.LogCaptureFixture, body: bytes, *, is_read: bool, is_reset: bool
) -> None:
    """Whether the handler reads the body, or answers without it."""
    arrived = asyncio.Event()

    async def upload(request: web.Request) -> web.StreamResponse:
        arrived.set()
        return web.Response(body=await request.read() if is_read else b"")

    app = make_app((), SystemClock())
    app.router.add_post("/", upload)
    async with serving(app) as (url, running):
        _, writer = await connected(url)
        writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + body)
        await until(lambda: arrived.is_set() or not running.transports())
        if is_reset:
            writer.transport.abort()
        else:
            writer.close()
        await until(lambda: not running.transports())
    assert warnings_in(caplog) == []


async def test_a_scrape_that_disconnects_early_leaves_nothing_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scrape() -> AsyncIterator[str]:
        while True:
            yield "x" * 65536

    app = make_app((), SystemClock())
    metrics.routes(app, scrape)
    async with serving(app) as (url, running):
        reader, writer = await connected(url)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await reader.readexactly(100_000)
        writer.transport.abort()
        await until(lambda: not running.transports())
    assert warnings_in(caplog) == []


async def test_an_unhandled_error_is_logged_once_per_minute(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(_request: web.Request) -> web.StreamResponse:
        raise RuntimeError("a mistake")

    clock = ManualClock()
    app = make_app((), clock)
    app.router.add_get("/a/{name}", broken)
    async with serving(app) as (url, _), aiohttp.ClientSession(url) as http:
        for count in (5, 1):
            for number in range(count):
                assert (await http.get(f"/a/{number}")).status == 500
            clock.advance(60_000)
    assert warnings_in(caplog) == [
        "Unhandled error in the admin port: GET /a/{name}",
        "Unhandled error in the admin port: GET /a/{name} (5 times since this was logged last)",
    ]
