"""Event streams: messages as they arrive (`tail`), and a search (`search`).

`tail`: `begun`, then `records` with new messages; those beyond what a browser can show are counted as `skipped`.
`search`: `match` with records, `progress`, and `done` with the reason why it ended. Closing the stream ends either.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from aiohttp import web

from penstock.client.aio import Client
from penstock.console.access import ACCESS, COOKIE
from penstock.console.events import Events, event
from penstock.console.kafka.reading import fetch_from
from penstock.console.positions import Where, bounds_of, first_offsets, parse_where
from penstock.console.record_view import record_view
from penstock.console.refusals import bad_request
from penstock.console.search import Needle, Scan
from penstock.console.web import CLIENT, stream

_WAIT_MS: Final = 500
_SCAN_BYTES_MAX: Final = 256 * 1024
_SHOWN_AT_ONCE_MAX: Final = 200
_TAIL_PAUSE_S: Final = 0.2


async def tail(request: web.Request) -> web.StreamResponse:
    topic = request.match_info["topic"]

    async def body(events: Events) -> None:
        where = parse_where({name: text for name, text in request.query.items() if name != "from"}, 0)
        async with request[CLIENT].branch() as client:
            await _follow(events, client, topic, where, still_allowed(request))

    return await stream(request, f"Topic {topic} cannot be followed", body)


def still_allowed(request: web.Request) -> Callable[[], None]:
    """Return a check that raises `Refused` once the stream's user is logged out."""
    access, token = request.app[ACCESS], request.cookies.get(COOKIE)
    return lambda: access.check(token)


async def _follow(
    events: Events, client: Client, topic: str, where: Where, check: Callable[[], None]
) -> None:
    """Send new messages until the browser disconnects."""
    positions = dict((await bounds_of(client, topic, where)).ends)
    await events.send(event("begun", None, {"partitions": len(positions)}))
    while True:
        fetched = await fetch_from(client, topic, positions, wait_ms=_WAIT_MS)
        check()
        arrived = [(p, record) for p, each in fetched.items() for record in each.records]
        positions.update({p: each.next_offset for p, each in fetched.items()})
        if arrived:
            arrived.sort(key=lambda each: each[1].timestamp)
            shown = [record_view(p, record) for p, record in arrived[-_SHOWN_AT_ONCE_MAX:]]
            await events.send(
                event("records", None, {"records": shown, "skipped": len(arrived) - len(shown)})
            )
            await asyncio.sleep(_TAIL_PAUSE_S)


async def search(request: web.Request) -> web.StreamResponse:
    topic = request.match_info["topic"]

    async def body(events: Events) -> None:
        needle, where = _needle(request), parse_where(request.query, request[CLIENT].clock.now_ms())
        async with request[CLIENT].branch() as client:
            bounds = await bounds_of(client, topic, where)
            begins = await first_offsets(client, topic, where, bounds)
            await _scan(events, client, topic, Scan(needle, begins, bounds.ends), still_allowed(request))

    return await stream(request, f"Topic {topic} cannot be searched", body)


async def _scan(events: Events, client: Client, topic: str, scan: Scan, check: Callable[[], None]) -> None:
    while (wanted := scan.wanted()) and scan.reason is None:
        fetched = await fetch_from(client, topic, wanted, bytes_max=_SCAN_BYTES_MAX)
        check()
        if all(each.next_offset == wanted[p] for p, each in fetched.items()):
            break  # the rest is not committed yet
        matches = [
            record_view(partition, record)
            for partition, each in fetched.items()
            for record in scan.matches_in(partition, each)
        ]
        if matches:
            await events.send(event("match", None, matches))
        await events.send(event("progress", None, scan.progress()))
    await events.send(event("done", None, {**scan.progress(), "reason": scan.reason or "Search complete"}))


def _needle(request: web.Request) -> Needle:
    text, field = request.query.get("text", ""), request.query.get("field", "any")
    if not text:
        raise bad_request("text is empty: give the text to search for.")
    if field not in ("any", "key", "value"):
        raise bad_request("field must be any, key or value.")
    return Needle(text, field)


ROUTES = (
    ("GET", "topics/{topic}/tail", tail),
    ("GET", "topics/{topic}/search", search),
)
