"""The socket of the admin port."""

import asyncio
import contextlib
import logging
import socket

import pytest

from penstock.config.broker import BrokerConfig
from penstock.gateway.http.port import AdminPort, AdminPortUnusable


class Greeter:
    """In place of a web server: sends a greeting."""

    def __init__(self) -> None:
        self.loads = 0
        self.is_stopped = False
        self._server: asyncio.Server

    async def serve(self, listening: socket.socket) -> "Greeter":
        async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"hello")
            writer.close()

        self.loads += 1
        self._server = await asyncio.start_server(greet, sock=listening)
        return self

    async def stop(self) -> None:
        self.is_stopped = True
        self._server.close()


async def greeting(url: str) -> bytes:
    host, number = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(number))
    content = await reader.read()
    writer.close()
    return content


def bound(listener: str) -> AdminPort:
    port = AdminPort.bind(BrokerConfig({"penstock.admin.listener": listener}))
    assert port is not None
    return port


async def test_the_first_connection_loads_the_server_and_is_served() -> None:
    port, greeter = bound("127.0.0.1:0"), Greeter()
    port.start(greeter.serve)
    await asyncio.sleep(0)
    assert greeter.loads == 0
    assert await asyncio.gather(*(greeting(port.url) for _ in range(3))) == [b"hello"] * 3
    assert await greeting(port.url) == b"hello"
    assert greeter.loads == 1
    await port.stop()
    assert greeter.is_stopped


async def test_a_port_without_connections_is_closed() -> None:
    port = bound("127.0.0.1:0")
    url = port.url
    port.start(Greeter().serve)
    await port.stop()
    with pytest.raises(ConnectionRefusedError):
        await greeting(url)


async def test_a_server_that_cannot_be_loaded_is_logged_and_connections_are_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(_listening: socket.socket) -> Greeter:
        raise ImportError("no web server")

    port = bound("127.0.0.1:0")
    url = port.url
    port.start(fail)
    with contextlib.suppress(ConnectionResetError):
        assert await greeting(url) == b""
    with pytest.raises(ConnectionRefusedError):
        await greeting(url)
    assert "Admin port failed to load" in caplog.text
    await port.stop()


def test_a_configured_address_must_be_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AdminPortUnusable, match=f"on {address}: Address already in use"):
            bound(address)


def test_a_broker_starts_without_an_admin_port_if_the_default_address_is_in_use(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def taken(*_: object) -> None:
        raise OSError(98, "Address already in use")

    monkeypatch.setattr(socket.socket, "bind", taken)
    with caplog.at_level(logging.WARNING):
        assert AdminPort.bind(BrokerConfig()) is None
    [line] = caplog.messages
    assert "Admin port disabled: 127.0.0.1:9644 is in use" in line


async def test_an_admin_port_without_login_on_a_public_address_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for listener, warnings in (("127.0.0.1:0", 0), ("0.0.0.0:0", 1)):
        caplog.clear()
        await bound(listener).stop()
        assert len(caplog.messages) == warnings


def test_an_empty_setting_disables_the_admin_port() -> None:
    assert AdminPort.bind(BrokerConfig({"penstock.admin.listener": ""})) is None


def test_an_unknown_listener_prevents_the_start() -> None:
    with pytest.raises(AdminPortUnusable, match="not among listeners"):
        AdminPort.bind(BrokerConfig({"penstock.admin.kafka.listener": "X"}))
