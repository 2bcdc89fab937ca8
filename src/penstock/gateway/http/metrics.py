"""`/metrics` for Prometheus."""

from collections.abc import AsyncIterator, Callable
from typing import Final

from aiohttp import web

from penstock.gateway.http.app import Paths, content, operation

Scrape = Callable[[], AsyncIterator[str]]
"""Pieces of the text, in order."""

PATHS: Final[Paths] = {
    "/metrics": {
        "get": operation(
            "metrics",
            "The broker's metrics in Prometheus' text format",
            {"200": content("All metrics", {"type": "string"}, "text/plain")},
            is_open=True,
        )
    }
}


def routes(app: web.Application, scrape: Scrape) -> None:
    async def metrics(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store"}
        )
        await response.prepare(request)
        async for piece in scrape():
            await response.write(piece.encode())
        await response.write_eof()
        return response

    app.router.add_get("/metrics", metrics)
