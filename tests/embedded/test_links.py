"""Cut and slow links, on a real connection to a server that answers with what it gets."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from penstock.client.connection import Connection
from penstock.embedded import links as links_module
from penstock.embedded.links import Links, NodeNetwork, SlowDispatch
from penstock.observability.completion import Reply
from penstock.server.connection_host import Answer, Peer

ME, OTHER = 1, 2


class Echoed(Connection):
    """Notes what arrives, in the place of answers."""

    def __init__(self) -> None:
        super().__init__("test")
        self.arrived = bytearray()
        self.news = asyncio.Event()

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
    async def run() -> None:
        sent: list[bytes] = []

        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(100):
                sent.append(data)
                writer.write(data)
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        links = Links()
        _, connection = await asyncio.get_running_loop().create_connection(Echoed, "127.0.0.1", port)
        NodeNetwork(links, ME).watch_over(connection, OTHER)
        try:
            await check(links, connection, sent)
        finally:
            await connection.close()
            server.close()

    asyncio.run(run())


def test_a_link_that_is_not_cut_lets_everything_through() -> None:
    async def check(_links: Links, connection: Echoed, _sent: list[bytes]) -> None:
        connection.write(b"a")
        connection.write(b"b")
        await connection.has(b"ab")

    with_link(check)


def test_what_is_sent_over_a_cut_link_arrives_when_it_is_healed() -> None:
    async def check(links: Links, connection: Echoed, sent: list[bytes]) -> None:
        links.cut(OTHER, ME)
        connection.write(b"a")
        await asyncio.sleep(0.01)
        assert sent == []
        links.heal()
        await connection.has(b"a")

    with_link(check)


def test_an_answer_does_not_come_through_a_link_that_was_cut_meanwhile() -> None:
    async def check(links: Links, connection: Echoed, sent: list[bytes]) -> None:
        connection.write(b"a")
        links.cut(ME, OTHER)
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


def test_a_slow_node_that_is_healed_sends_what_it_held_back() -> None:
    async def check(links: Links, connection: Echoed, _sent: list[bytes]) -> None:
        links.slow_down(ME, 3_600_000)
        connection.write(b"a")
        links.heal()
        await connection.has(b"a")

    with_link(check)


def test_whoever_connects_over_a_cut_link_waits_until_it_is_healed() -> None:
    async def connect() -> None:
        links = Links()
        links.cut(ME, OTHER)
        connecting = asyncio.create_task(links.passable(ME, OTHER))
        await asyncio.sleep(0)
        assert not connecting.done()
        links.heal()
        await asyncio.wait_for(connecting, 10)

    asyncio.run(connect())


def test_whoever_connects_over_a_cut_link_gives_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links_module, "_CONNECT_S_MAX", 0.01)
    links = Links()
    links.cut(ME, OTHER)
    with pytest.raises(TimeoutError):
        asyncio.run(links.passable(ME, OTHER))


class Answering:
    """A dispatcher that answers each request in the way it was made for."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def dispatch(self, _frame: bytearray, _peer: Peer) -> Any:
        return self._make()


async def _later() -> Answer:
    return [b"later"]


def _resolved() -> Reply[Answer]:
    reply = Reply[Answer]()
    reply.resolve([b"resolved"])
    return reply


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: [b"at once"], b"at once"),
        (_resolved, b"resolved"),
        (lambda: Reply.of(_later()), b"later"),
    ],
)
def test_a_slow_node_answers_every_kind_of_request(make: Callable[[], Any], expected: bytes) -> None:
    async def ask() -> Answer:
        dispatched = SlowDispatch(Answering(make), lambda: 0.001).dispatch(bytearray(), cast("Peer", None))
        assert isinstance(dispatched, Reply)
        assert dispatched.is_exclusive
        return await dispatched

    assert asyncio.run(ask()) == [expected]


def test_a_node_that_is_not_slow_dispatches_at_once() -> None:
    dispatched = SlowDispatch(Answering(lambda: [b"at once"]), lambda: 0.0).dispatch(
        bytearray(), cast("Peer", None)
    )
    assert dispatched == [b"at once"]
