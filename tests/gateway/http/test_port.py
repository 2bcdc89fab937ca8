"""The socket of the admin port."""

import asyncio
import contextlib
import logging
import socket

import pytest

from penstock.config.broker import BrokerConfig
from penstock.gateway.http.port import AdminPort, AdminPortUnusable


class Greeter:
    """Instead of a web server: says hello to everybody."""

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
    said = await reader.read()
    writer.close()
    return said


def bound(listener: str) -> AdminPort:
    port = AdminPort.bind(BrokerConfig({"penstock.admin.listener": listener}))
    assert port is not None
    return port


async def test_the_first_visitor_has_the_server_loaded_and_is_served() -> None:
    port, greeter = bound("127.0.0.1:0"), Greeter()
    port.start(greeter.serve)
    await asyncio.sleep(0)
    assert greeter.loads == 0
    assert await asyncio.gather(*(greeting(port.url) for _ in range(3))) == [b"hello"] * 3
    assert await greeting(port.url) == b"hello"
    assert greeter.loads == 1
    await port.stop()
    assert greeter.is_stopped


async def test_a_port_that_nobody_visited_is_closed() -> None:
    port = bound("127.0.0.1:0")
    url = port.url
    port.start(Greeter().serve)
    await port.stop()
    with pytest.raises(ConnectionRefusedError):
        await greeting(url)


async def test_a_server_that_cannot_be_loaded_is_told_of_and_visitors_are_turned_away(
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


def test_an_address_that_was_set_must_be_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AdminPortUnusable, match=f"on {address}: Address already in use"):
            bound(address)


def test_without_the_default_address_a_broker_does_without(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def taken(*_: object) -> None:
        raise OSError(98, "Address already in use")

    monkeypatch.setattr(socket.socket, "bind", taken)
    with caplog.at_level(logging.WARNING):
        assert AdminPort.bind(BrokerConfig()) is None
    [line] = caplog.messages
    assert "Admin port disabled: 127.0.0.1:9644 is in use" in line


def test_an_open_port_to_a_listener_without_login_is_said(caplog: pytest.LogCaptureFixture) -> None:
    for listener, warnings in (("127.0.0.1:0", 0), ("0.0.0.0:0", 1)):
        caplog.clear()
        bound(listener)._socket.close()
        assert len(caplog.messages) == warnings


def test_nothing_switches_it_off() -> None:
    assert AdminPort.bind(BrokerConfig({"penstock.admin.listener": ""})) is None


def test_a_listener_that_is_not_there_is_a_reason_not_to_start() -> None:
    with pytest.raises(AdminPortUnusable, match="not among listeners"):
        AdminPort.bind(BrokerConfig({"penstock.admin.kafka.listener": "X"}))
