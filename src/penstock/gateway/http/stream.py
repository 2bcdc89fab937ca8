"""`GET /topics/{topic}/stream`: records as server-sent events.

Each event's id has the next offset of every partition (`0:17,1:3`), so a browser that reconnects with `Last-Event-ID`
misses nothing and sees nothing twice, even after a restart of the broker. The first event, `ready`, carries the first
positions; records have no event name; `problem` is the last event of a stream that fails. The next records are fetched
when the reader has taken the previous ones, so a slow reader delays only itself.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from penstock.client.aio import EARLIEST, LATEST, BrokerError, Client, FetchLimits, TopicPartition
from penstock.client.aio.reader import Reader
from penstock.console.events import Events, event, send_events
from penstock.gateway.http.app import PROBLEM, Paths, content, operation
from penstock.gateway.http.open_requests import OpenRequests, counted_client
from penstock.gateway.http.parameters import check_names, one_of
from penstock.gateway.http.positions import around, read_positions, write_positions
from penstock.gateway.http.problems import of_failure
from penstock.gateway.http.read import ISOLATIONS
from penstock.gateway.http.record_forms import FORMS, record_form
from penstock.gateway.http.starts import chosen_partitions, ends, named_partitions, offsets_from
from penstock.protocol.errors import ErrorCode

_PARAMETERS: Final = ("partition", "partitions", "from", "isolation", "format", "last_event_id")
STREAMS_MAX: Final = 256
STREAMS_PER_USER_MAX: Final = 64
_WAIT_MS: Final = 5_000
_BYTES_MAX: Final = 512 * 1024
_RETRY_MS: Final = 1_000  # until a browser reconnects
_CHUNK_BYTES: Final = 64 * 1024

PATHS: Final[Paths] = {
    "/topics/{topic}/stream": {
        "get": operation(
            "stream",
            "Follow a topic with server-sent events",
            {
                "200": content(
                    "Events: `ready` once, then one without a name for each record, with a Record as data; "
                    "`problem` before a stream that fails ends. Ids are positions",
                    {"type": "string"},
                    "text/event-stream",
                ),
                "default": PROBLEM,
            },
            parameters=["topic", *_PARAMETERS, "Last-Event-ID"],
        )
    }
}


def routes(app: web.Application) -> None:
    opened: OpenRequests[asyncio.Task[Any]] = OpenRequests(
        "streams", total_max=STREAMS_MAX, per_user_max=STREAMS_PER_USER_MAX
    )

    async def stream(request: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        async with counted_client(request, opened, task) as client:
            return await _stream(request, client)

    async def end_all(_app: web.Application) -> None:
        for task in opened:
            task.cancel()

    app.router.add_get("/topics/{topic}/stream", stream, allow_head=False)
    app.on_shutdown.append(end_all)


async def _stream(request: web.Request, client: Client) -> web.StreamResponse:
    check_names(request.query, _PARAMETERS)
    topic = request.match_info["topic"]
    form = one_of(request.query, "format", FORMS)
    isolation = one_of(request.query, "isolation", ISOLATIONS)
    positions = await _start(client, topic, request)
    limits = FetchLimits(
        wait_ms=_WAIT_MS,
        bytes_max=_BYTES_MAX,
        partition_bytes_max=_BYTES_MAX,
        reads_committed_only=isolation == "read_committed",
    )
    reader = Reader(client.branch(), limits)
    reader.assign({TopicPartition(topic, number): offset for number, offset in positions.items()})
    first = write_positions(positions)

    async def body(events: Events) -> None:
        await events.send(b"retry: %d\n" % _RETRY_MS + event("ready", first, {"positions": first}))
        await _deliver(reader, events, positions, form)

    def last_event(failure: Exception) -> bytes | None:
        problem = of_failure(failure)
        return None if problem is None else event("problem", None, problem.document())

    try:
        return await send_events(request, body, last_event)
    finally:
        await reader.close()


async def _start(client: Client, topic: str, request: web.Request) -> dict[int, int]:
    """Resume after the last event that the client received, else start at `from`; new partitions from their start."""
    partitions = await chosen_partitions(client, topic, named_partitions(request.query), "partitions")
    seen = request.headers.get("Last-Event-ID") or request.query.get("last_event_id")
    if not seen:
        return await offsets_from(client, topic, partitions, request.query.get("from", "latest"))
    positions = read_positions(seen, "Last-Event-ID")
    await chosen_partitions(client, topic, ",".join(map(str, positions)), "partitions")
    await _check_not_deleted(client, topic, positions)
    added = [each for each in partitions if each not in positions]
    return positions | await offsets_from(client, topic, added, "earliest")


async def _check_not_deleted(client: Client, topic: str, positions: Mapping[int, int]) -> None:
    """Raise `BrokerError` for deleted offsets. An HTTP error stops a browser's retries; an event would not."""
    first = await ends(client, topic, positions, EARLIEST)
    last = await ends(client, topic, positions, LATEST)
    for number, offset in positions.items():
        if not first[number] <= offset <= last[number]:
            raise BrokerError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Resuming {topic}-{number} at offset {offset}",
                f"it has {first[number]} to {last[number]}",
            )


async def _deliver(reader: Reader, events: Events, positions: dict[int, int], form: str) -> None:
    """Send all records as events, and advance `positions`."""
    while True:
        for where, fetched in (await reader.next()).items():
            if fetched.error:
                raise BrokerError(fetched.error, f"Reading {where} at offset {positions[where.partition]}")
            before, after = around(positions, where.partition)
            chunk: list[bytes] = []
            size_bytes = 0
            for record in fetched.records:
                shown = record_form(where.topic, where.partition, record, form)
                chunk.append(event(None, f"{before}{record.offset + 1}{after}", shown))
                size_bytes += len(chunk[-1])
                if size_bytes >= _CHUNK_BYTES:
                    await events.send(b"".join(chunk))
                    await asyncio.sleep(0)  # let the broker serve other clients
                    chunk, size_bytes = [], 0
            positions[where.partition] = fetched.next_offset
            if chunk:
                await events.send(b"".join(chunk))
