import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from penstock.config.broker import BrokerConfig
from penstock.server.socket_options import BACKLOG_DEFAULT, SocketOptions
from tests.server.live import running_broker

SEND_BYTES, RECEIVE_BYTES = 50_000, 60_000
SETTINGS = {
    "socket.send.buffer.bytes": str(SEND_BYTES),
    "socket.receive.buffer.bytes": str(RECEIVE_BYTES),
    "socket.listen.backlog.size": "7",
}


def buffers_of(sock: socket.socket) -> tuple[int, int]:
    return (
        sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
        sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
    )


def wanted_buffers() -> tuple[int, int]:
    """As a socket reports them: Linux doubles the values that are set."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
        return buffers_of(sock)


def test_unset_socket_options_are_left_to_the_system() -> None:
    options = SocketOptions.of(BrokerConfig())
    assert options == SocketOptions(send_buffer_bytes=-1, receive_buffer_bytes=-1, backlog=BACKLOG_DEFAULT)
    with socket.socket() as sock, socket.socket() as untouched:
        options.apply(sock)
        assert buffers_of(sock) == buffers_of(untouched)


def test_an_explicit_socket_option_applies_even_if_it_is_kafkas_default() -> None:
    assert SocketOptions.of(BrokerConfig(SETTINGS)) == SocketOptions(
        send_buffer_bytes=SEND_BYTES, receive_buffer_bytes=RECEIVE_BYTES, backlog=7
    )
    assert SocketOptions.of(BrokerConfig({"socket.send.buffer.bytes": "102400"})).send_buffer_bytes == 102_400


async def test_configured_buffers_and_backlog_are_set_on_the_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backlogs: list[int] = []
    loops = type(asyncio.get_running_loop())
    create_server = loops.create_server

    def noting(loop: asyncio.AbstractEventLoop, *args: Any, **options: Any) -> Any:
        backlogs.append(options["backlog"])
        return create_server(loop, *args, **options)

    monkeypatch.setattr(loops, "create_server", noting)
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()
        (connection,) = live.connections()
        assert buffers_of(connection._transport.get_extra_info("socket")) == wanted_buffers()
        await client.close()
    assert backlogs == [7]
