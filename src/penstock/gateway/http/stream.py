"""`GET /topics/{topic}/stream`: records as server-sent events.

Each event's id has the next offset of every partition (`0:17,1:3`), so a browser that reconnects with `Last-Event-ID`
misses nothing and sees nothing twice, even after a restart of the broker. The first event, `ready`, carries the first
positions; records have no event name; `problem` is the last event of a stream that fails. The next records are fetched
when the reader has taken the previous ones, so a slow reader delays only itself.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

from penstock.client.aio import EARLIEST, LATEST, BrokerError, Client, FetchLimits, TopicPartition
from penstock.client.aio.reader import Reader
from penstock.gateway.http.app import CLIENTS, Paths
from penstock.gateway.http.opened import Opened
from penstock.gateway.http.parameters import no_others, one_of
from penstock.gateway.http.positions import around, read_positions, write_positions
from penstock.gateway.http.problems import of_failure
from penstock.gateway.http.read import ISOLATIONS
from penstock.gateway.http.record_forms import FORMS, record_form
from penstock.gateway.http.starts import chosen_partitions, ends, named_partitions, offsets_from
from penstock.protocol.errors import ErrorCode

_PARAMETERS: Final = ("partition", "partitions", "from", "isolation", "format", "last_event_id")
STREAMS_MAX: Final = 256
STREAMS_OF_ONE_MAX: Final = 64
_WAIT_MS: Final = 5_000
_BYTES_MAX: Final = 512 * 1024
_RETRY_MS: Final = 1_000  # when a browser comes back
_CHUNK_BYTES: Final = 64 * 1024
_LOOK_S: Final = 1.0
_LOOKS_PER_BEAT: Final = 15
_STUCK_S: Final = 300.0  # a reader that takes nothing for so long is not there any more

PATHS: Final[Paths] = {
    "/topics/{topic}/stream": {
        "get": {
            "operationId": "stream",
            "summary": "Follow a topic with server-sent events",
            "parameters": [
                {"$ref": "#/components/parameters/topic"},
                {"$ref": "#/components/parameters/partition"},
                {"$ref": "#/components/parameters/partitions"},
                {"$ref": "#/components/parameters/from"},
                {"$ref": "#/components/parameters/isolation"},
                {"$ref": "#/components/parameters/format"},
                {"$ref": "#/components/parameters/last_event_id"},
                {"$ref": "#/components/parameters/Last-Event-ID"},
            ],
            "responses": {
                "200": {
                    "description": (
                        "Events: `ready` once, then one without a name for each record, with a Record as data; "
                        "`problem` before a stream that fails ends. Ids are positions"
                    ),
                    "content": {"text/event-stream": {"schema": {"type": "string"}}},
                },
                "default": {"$ref": "#/components/responses/Problem"},
            },
        }
    }
}


def routes(app: web.Application) -> None:
    opened: Opened[asyncio.Task[Any]] = Opened(
        "streams", in_all_max=STREAMS_MAX, of_one_max=STREAMS_OF_ONE_MAX
    )

    async def stream(request: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        clients = request.app[CLIENTS]
        authorization = request.headers.get("Authorization")
        with opened.counted(clients.who(authorization, request.remote), task):
            async with clients.lent(authorization, request.remote) as client:
                return await _stream(request, client)

    async def end_all(_app: web.Application) -> None:
        for task in opened:
            task.cancel()

    app.router.add_get("/topics/{topic}/stream", stream, allow_head=False)
    app.on_shutdown.append(end_all)


async def _stream(request: web.Request, client: Client) -> web.StreamResponse:
    no_others(request.query, _PARAMETERS)
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
    events = Events(request)
    await events.begin()
    reader = Reader(client.branch(), limits)
    reader.assign({TopicPartition(topic, number): offset for number, offset in positions.items()})
    first = write_positions(positions)
    try:
        await events.send(b"retry: %d\n" % _RETRY_MS + event("ready", first, {"positions": first}))
        await _first_failure(_deliver(reader, events, positions, form), events.watch())
    except ConnectionError:
        pass  # the reader has gone
    except Exception as failure:
        problem = of_failure(failure)
        if problem is None:
            raise
        with contextlib.suppress(ConnectionError):
            await events.send(event("problem", None, problem.document()))
    finally:
        await reader.close()
    return events.response


async def _start(client: Client, topic: str, request: web.Request) -> dict[int, int]:
    """After the last event that the reader saw, else where it asks for. New partitions begin at their beginning."""
    partitions = await chosen_partitions(client, topic, named_partitions(request.query), "partitions")
    seen = request.headers.get("Last-Event-ID") or request.query.get("last_event_id")
    if not seen:
        return await offsets_from(client, topic, partitions, request.query.get("from", "latest"))
    positions = read_positions(seen, "Last-Event-ID")
    await chosen_partitions(client, topic, ",".join(map(str, positions)), "partitions")
    await _check_there(client, topic, positions)
    added = [each for each in partitions if each not in positions]
    return positions | await offsets_from(client, topic, added, "earliest")


async def _check_there(client: Client, topic: str, positions: Mapping[int, int]) -> None:
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


async def _deliver(reader: Reader, events: "Events", positions: dict[int, int], form: str) -> None:
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
                    await asyncio.sleep(0)  # the broker has other clients
                    chunk, size_bytes = [], 0
            positions[where.partition] = fetched.next_offset
            if chunk:
                await events.send(b"".join(chunk))


async def _first_failure(*endless: Coroutine[Any, Any, None]) -> None:
    """Run endless coroutines until one of them fails, and raise its failure."""
    tasks = [asyncio.ensure_future(each) for each in endless]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def event(name: str | None, event_id: str | None, data: Mapping[str, Any]) -> bytes:
    """One event; JSON has no line breaks of its own, so its data is one line."""
    lines = [] if name is None else [b"event: " + name.encode()]
    if event_id is not None:
        lines.append(b"id: " + event_id.encode())
    lines += [b"data: " + msgspec.json.encode(data), b"", b""]
    return b"\n".join(lines)


class Events:
    """The answer that events are written to, with comments in between that keep the connection alive."""

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

    async def begin(self) -> None:
        await self.response.prepare(self._request)

    async def send(self, data: bytes) -> None:
        async with self._writing:
            try:
                async with asyncio.timeout(_STUCK_S):
                    await self.response.write(data)
            except TimeoutError:
                raise ConnectionResetError("the reader takes nothing") from None

    async def watch(self) -> None:
        """Send a comment now and then. Raises when the reader has gone, which in silence nothing else notices."""
        while True:
            for _ in range(_LOOKS_PER_BEAT):
                await asyncio.sleep(_LOOK_S)
                transport = self._request.transport
                if transport is None or transport.is_closing():
                    raise ConnectionResetError("the reader has gone")
            if not self._writing.locked():  # else something is on its way that shows the same
                await self.send(b": still here\n\n")
