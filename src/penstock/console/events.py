"""Streams of server-sent events, for the console and the HTTP gateways."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import msgspec
from aiohttp import web

_CHECK_S: Final = 1.0
_CHECKS_PER_KEEPALIVE: Final = 15
_STALLED_S: Final = 300.0  # after that a reader that reads nothing counts as disconnected


def event(name: str | None, event_id: str | None, data: Any) -> bytes:
    """One event; JSON has no line breaks of its own, so its data is one line."""
    lines = [] if name is None else [b"event: " + name.encode()]
    if event_id is not None:
        lines.append(b"id: " + event_id.encode())
    lines += [b"data: " + msgspec.json.encode(data), b"", b""]
    return b"\n".join(lines)


class Events:
    """The response that events are written to, with keep-alive comments in between."""

    __slots__ = ("_request", "_writing", "response")

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._writing = asyncio.Lock()
        self.response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream; charset=utf-8",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",  # a proxy must not wait for more
                "X-Content-Type-Options": "nosniff",
            }
        )

    async def send(self, data: bytes) -> None:
        async with self._writing:
            try:
                async with asyncio.timeout(_STALLED_S):
                    await self.response.write(data)
            except TimeoutError:
                raise ConnectionResetError("the reader is stalled") from None

    async def watch(self) -> None:
        """Send keep-alive comments. Raises when the reader has gone, which an idle stream would not notice."""
        while True:
            for _ in range(_CHECKS_PER_KEEPALIVE):
                await asyncio.sleep(_CHECK_S)
                transport = self._request.transport
                if transport is None or transport.is_closing():
                    raise ConnectionResetError("the reader has gone")
            if not self._writing.locked():  # else data is being sent, which keeps it alive too
                await self.send(b": keep-alive\n\n")


async def send_events(
    request: web.Request,
    body: Callable[[Events], Coroutine[Any, Any, None]],
    last_event: Callable[[Exception], bytes | None],
) -> web.StreamResponse:
    """Respond with a stream that `body` fills, until it is done or the reader disconnects. An EventSource cannot see
    the body of an HTTP error, so a failure is sent as `last_event`; if that is None, it is raised.
    """
    events = Events(request)
    await events.response.prepare(request)
    try:
        await first_done(body(events), events.watch())
    except Exception as failure:
        last = last_event(failure)
        if last is not None:
            with contextlib.suppress(ConnectionError):
                await events.send(last)
        elif not isinstance(failure, ConnectionError):
            raise
    return events.response


async def first_done(*works: Awaitable[None]) -> None:
    """Run all until one is done or fails; the others are cancelled."""
    tasks = [asyncio.ensure_future(each) for each in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
