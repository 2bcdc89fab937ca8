"""Streams of events over HTTP, without a broker."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer

from penstock.client.cluster import Disconnected
from penstock.console import web as console_web
from penstock.console.refusals import bad_request
from penstock.console.web import STREAMS, Events, Streams, send_events

Body = Callable[[Events], Awaitable[None]]
_WAIT_S = 10.0


async def _stream(body: Body, use: Callable[[ClientResponse, Streams], Awaitable[None]]) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return await send_events(request, "It cannot be followed", body)

    app = web.Application()
    app[STREAMS] = Streams()
    app.router.add_get("/", handle)
    async with TestClient(TestServer(app)) as client:
        await use(await client.get("/"), app[STREAMS])


def test_events_have_a_name_and_one_json_value() -> None:
    async def body(events: Events) -> None:
        await events.send("match", {"text": "two\nlines"})

    async def use(response: ClientResponse, _: Streams) -> None:
        assert await response.text() == 'event: match\ndata: {"text":"two\\nlines"}\n\n'
        assert response.headers["Content-Type"] == "text/event-stream"

    asyncio.run(_stream(body, use))


def test_what_fails_in_a_stream_is_told_by_an_event() -> None:
    async def body(_: Events) -> None:
        raise bad_request("There is nothing to search for.")

    async def use(response: ClientResponse, _: Streams) -> None:
        text = await response.text()
        assert text.startswith("event: refused\n")
        assert "There is nothing to search for." in text

    asyncio.run(_stream(body, use))


def test_a_broker_that_goes_away_is_told_too() -> None:
    async def body(_: Events) -> None:
        raise Disconnected("the broker closed the connection")

    async def use(response: ClientResponse, _: Streams) -> None:
        assert "the broker closed the connection" in await response.text()

    asyncio.run(_stream(body, use))


def test_a_stream_that_has_nothing_to_send_ends_when_its_reader_goes() -> None:
    ended = asyncio.Event()

    async def body(events: Events) -> None:
        await events.send("begun", {})
        try:
            while True:
                events.check_reader()
                await asyncio.sleep(0.005)
        finally:
            ended.set()

    async def use(response: ClientResponse, _: Streams) -> None:
        await response.content.readline()
        response.close()
        await asyncio.wait_for(ended.wait(), _WAIT_S)

    asyncio.run(_stream(body, use))


def test_the_server_stops_without_waiting_for_those_who_watch() -> None:
    ended = asyncio.Event()

    async def body(events: Events) -> None:
        await events.send("begun", {})
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def use(response: ClientResponse, streams: Streams) -> None:
        await response.content.readline()
        streams.end_all()
        await asyncio.wait_for(ended.wait(), _WAIT_S)

    asyncio.run(_stream(body, use))


def test_one_stream_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_web, "STREAMS_MAX", 0)

    async def body(_: Events) -> None:
        raise AssertionError("it must not come to this")

    async def use(response: ClientResponse, _: Streams) -> None:
        assert "Too many live views are open" in await response.text()

    asyncio.run(_stream(body, use))
