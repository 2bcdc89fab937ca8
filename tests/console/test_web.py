"""Streams of events over HTTP, without a broker."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer

from penstock.client.aio import Disconnected
from penstock.console import events as console_events
from penstock.console import web as console_web
from penstock.console.events import Events, event
from penstock.console.refusals import Refused, bad_request
from penstock.console.web import BODIES, STREAMS, Bodies, Streams, answer, body_of, refused, stream

Body = Callable[[Events], Awaitable[None]]
_WAIT_S = 10.0


async def _stream(body: Body, use: Callable[[ClientResponse, Streams], Awaitable[None]]) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return await stream(request, "It cannot be followed", body)

    app = web.Application()
    app[STREAMS] = Streams()
    app.router.add_get("/", handle)
    async with TestClient(TestServer(app)) as client:
        await use(await client.get("/"), app[STREAMS])


def test_events_have_a_name_and_one_json_value() -> None:
    async def body(events: Events) -> None:
        await events.send(event("match", None, {"text": "two\nlines"}))

    async def use(response: ClientResponse, _: Streams) -> None:
        assert await response.text() == 'event: match\ndata: {"text":"two\\nlines"}\n\n'
        assert response.content_type == "text/event-stream"

    asyncio.run(_stream(body, use))


def test_an_error_in_a_stream_is_sent_as_an_event() -> None:
    async def body(_: Events) -> None:
        raise bad_request("There is nothing to search for.")

    async def use(response: ClientResponse, _: Streams) -> None:
        text = await response.text()
        assert text.startswith("event: refused\n")
        assert "There is nothing to search for." in text

    asyncio.run(_stream(body, use))


def test_the_loss_of_the_broker_is_sent_as_an_event() -> None:
    async def body(_: Events) -> None:
        raise Disconnected("the broker closed the connection")

    async def use(response: ClientResponse, _: Streams) -> None:
        assert "the broker closed the connection" in await response.text()

    asyncio.run(_stream(body, use))


def test_an_idle_stream_ends_when_its_reader_disconnects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(console_events, "_CHECK_S", 0.001)
    ended = asyncio.Event()

    async def body(events: Events) -> None:
        await events.send(event("begun", None, {}))
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def use(response: ClientResponse, _: Streams) -> None:
        await response.content.readline()
        response.close()
        await asyncio.wait_for(ended.wait(), _WAIT_S)

    asyncio.run(_stream(body, use))


def test_the_server_stops_without_waiting_for_open_streams() -> None:
    ended = asyncio.Event()

    async def body(events: Events) -> None:
        await events.send(event("begun", None, {}))
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


async def _send(
    use: Callable[[TestClient[web.Request, web.Application], Bodies], Awaitable[None]],
) -> None:
    async def handle(request: web.Request) -> web.Response:
        try:
            return answer(await body_of(request, list[str], 1000))
        except Refused as error:
            return refused(error)

    app = web.Application()
    app[BODIES] = Bodies()
    app.router.add_post("/", handle)
    async with TestClient(TestServer(app)) as client:
        await use(client, app[BODIES])


def test_bodies_are_bounded_each_and_together() -> None:
    async def use(client: TestClient[web.Request, web.Application], bodies: Bodies) -> None:
        assert (await client.post("/", json=["a"])).status == 200
        assert (await client.post("/", json=["a" * 1000])).status == 413
        bodies.held_bytes += 32 * 1024 * 1024
        assert (await client.post("/", json=["a"])).status == 429
        assert bodies.held_bytes == 32 * 1024 * 1024

    asyncio.run(_send(use))


def test_a_body_that_does_not_arrive_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_web, "_BODY_S_MAX", 0.01)

    async def nothing() -> AsyncIterator[bytes]:
        yield b"["
        await asyncio.sleep(_WAIT_S)

    async def use(client: TestClient[web.Request, web.Application], bodies: Bodies) -> None:
        assert (await client.post("/", data=nothing())).status == 408
        assert bodies.held_bytes == 0

    asyncio.run(_send(use))


def test_a_body_that_contradicts_its_headers_is_refused() -> None:
    async def use(client: TestClient[web.Request, web.Application], _: Bodies) -> None:
        response = await client.post("/", data=b"no gzip", headers={"Content-Encoding": "gzip"})
        assert response.status == 400

    asyncio.run(_send(use))
