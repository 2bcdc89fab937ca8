"""What the web server of the admin port puts up with."""

import asyncio

import pytest

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
