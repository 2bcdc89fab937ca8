"""Cut links and slow nodes, on real connections."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from penstock.client.connection import Connection, Disconnected
from penstock.config.listeners import Endpoint
from penstock.embedded.links import Links
from penstock.embedded.network import NodeNetwork
from penstock.server.socket_options import SocketOptions

ME = 1


class Echoed(Connection):
    """Records the arriving bytes."""

    def __init__(self) -> None:
        super().__init__("test")
        self.arrived = bytearray()
        self.news = asyncio.Event()
        self.other = 0
        """The port of the server."""

    def data_received(self, data: bytes) -> None:
        self.arrived += data
        self.news.set()

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    async def has(self, expected: bytes) -> None:
        async with asyncio.timeout(10):
            while bytes(self.arrived) != expected:
                self.news.clear()
                await self.news.wait()


def with_link(check: Callable[[Links, Echoed, list[bytes]], Awaitable[None]]) -> None:
    """A connection that this node has opened, to an echo server."""

    async def run() -> None:
        sent: list[bytes] = []

        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(100):
                sent.append(data)
                writer.write(data)
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        other = server.sockets[0].getsockname()[1]
        links = Links()
        connection = await NodeNetwork(links, ME).connect(Echoed, "127.0.0.1", other)
        connection.other = other
        try:
            await check(links, connection, sent)
        finally:
            await connection.close()
            server.close()

    asyncio.run(run())


def test_an_intact_link_delivers_everything() -> None:
    async def check(_links: Links, connection: Echoed, _sent: list[bytes]) -> None:
        connection.write(b"a")
        connection.write(b"b")
        await connection.has(b"ab")

    with_link(check)


def test_bytes_sent_over_a_cut_link_arrive_when_it_is_healed() -> None:
    async def check(links: Links, connection: Echoed, sent: list[bytes]) -> None:
        links.cut(connection.other, ME)
        connection.write(b"a")
        await asyncio.sleep(0.01)
        assert sent == []
        links.heal()
        await connection.has(b"a")

    with_link(check)


def test_an_answer_does_not_pass_a_link_that_was_cut_after_the_request() -> None:
    async def check(links: Links, connection: Echoed, sent: list[bytes]) -> None:
        connection.write(b"a")
        links.cut(ME, connection.other)
        while not sent:
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        assert connection.arrived == b""
        links.heal()
        await connection.has(b"a")

    with_link(check)


def test_other_links_are_not_cut() -> None:
    async def check(links: Links, connection: Echoed, _sent: list[bytes]) -> None:
        links.cut(ME, 3)
        connection.write(b"a")
        await connection.has(b"a")

    with_link(check)


def test_a_slow_node_sends_in_order() -> None:
    async def check(links: Links, connection: Echoed, _sent: list[bytes]) -> None:
        links.slow_down(ME, 5)
        connection.write(b"a")
        links.slow_down(ME, 1)
        connection.write(b"b")
        await connection.has(b"ab")

    with_link(check)


def test_a_healed_slow_node_sends_its_delayed_bytes() -> None:
    async def check(links: Links, connection: Echoed, _sent: list[bytes]) -> None:
        links.slow_down(ME, 3_600_000)
        connection.write(b"a")
        links.heal()
        await connection.has(b"a")

    with_link(check)


class Received(asyncio.BufferedProtocol):
    """The bytes that a node has received. It reads three at a time, and pauses after a full stop."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.news = asyncio.Event()
        self.has_ended = False
        self.transport: asyncio.Transport
        self._buffer = bytearray(3)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def get_buffer(self, _sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.received += self._buffer[:nbytes]
        if self._buffer[:nbytes].endswith(b"."):
            self.transport.pause_reading()
        self.news.set()

    def eof_received(self) -> bool:
        self.has_ended = True
        self.news.set()
        return False

    async def has(self, expected: bytes) -> None:
        async with asyncio.timeout(10):
            while bytes(self.received) != expected:
                self.news.clear()
                await self.news.wait()


def with_client(check: Callable[[Links, Received, asyncio.StreamWriter], Awaitable[None]]) -> None:
    """A connection that this node has accepted."""

    async def run() -> None:
        links = Links()
        network, received = NodeNetwork(links, ME), Received()
        endpoint = Endpoint(name="PLAINTEXT", host="127.0.0.1", port=0, security_protocol="PLAINTEXT")
        bound = await network.bind(endpoint, SocketOptions())
        await (await bound.listener(lambda: received)).start_serving()
        _, writer = await asyncio.open_connection("127.0.0.1", bound.endpoint.port)
        try:
            await check(links, received, writer)
        finally:
            writer.close()
            await network.close_all(resets=False)

    asyncio.run(run())


def test_a_slow_node_receives_later_and_in_order() -> None:
    async def check(links: Links, received: Received, writer: asyncio.StreamWriter) -> None:
        links.slow_down(ME, 3_600_000)
        writer.write(b"abcd")
        await asyncio.sleep(0.02)
        assert received.received == b""
        links.heal()
        writer.write(b"efgh")
        await received.has(b"abcdefgh")

    with_client(check)


def test_a_protocol_that_pauses_reading_gets_the_rest_when_it_resumes() -> None:
    async def check(links: Links, received: Received, writer: asyncio.StreamWriter) -> None:
        links.slow_down(ME, 1)
        writer.write(b"ab.cd")
        await received.has(b"ab.")
        await asyncio.sleep(0.02)
        assert received.received == b"ab."
        received.transport.resume_reading()
        await received.has(b"ab.cd")

    with_client(check)


def test_a_slow_node_sees_the_end_of_a_stream_after_all_its_bytes() -> None:
    async def check(links: Links, received: Received, writer: asyncio.StreamWriter) -> None:
        links.slow_down(ME, 5)
        writer.write(b"abcd")
        writer.write_eof()
        await received.has(b"abcd")
        while not received.has_ended:
            await asyncio.sleep(0)

    with_client(check)


@pytest.mark.parametrize("resets", [True, False])
def test_a_dead_node_neither_keeps_connections_nor_accepts_new_ones(resets: bool) -> None:
    async def run() -> None:
        network = NodeNetwork(Links(), ME)
        endpoint = Endpoint(name="PLAINTEXT", host="127.0.0.1", port=0, security_protocol="PLAINTEXT")
        bound = await network.bind(endpoint, SocketOptions())
        await (await bound.listener(Received)).start_serving()
        reader, writer = await asyncio.open_connection("127.0.0.1", bound.endpoint.port)
        opened = await network.connect(lambda: Connection("test"), "127.0.0.1", bound.endpoint.port)
        await network.close_all(resets=resets)
        if resets:
            with pytest.raises(ConnectionResetError):
                await reader.read()
        else:
            assert await reader.read() == b""
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", bound.endpoint.port)
        while not opened.is_lost:
            await asyncio.sleep(0)
        with pytest.raises(Disconnected):
            await opened.call(18, 0, None)

    asyncio.run(run())
