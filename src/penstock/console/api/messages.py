"""Messages browsed by offset or time, and one of them as a whole."""

from collections.abc import Mapping
from typing import Final

import msgspec
from aiohttp import web

from penstock.client.aio import Client, TopicPartition
from penstock.console.avro_process import decode_in_process
from penstock.console.broker_errors import NOT_FOUND
from penstock.console.kafka.reading import fetch_from, read_range
from penstock.console.paging import Page, format_cursor, newest_first, oldest_first, parse_cursor
from penstock.console.positions import Bounds, Where, bounds_of, clamped, first_offsets, parse_where
from penstock.console.record_view import WHOLE_BYTES_MAX, record_view
from penstock.console.refusals import Refused, bad_request
from penstock.console.web import CLIENT, DECODING, answer, body_of, integer
from penstock.protocol.records.record import Record

_LIMIT: Final = 50
_LIMIT_MAX: Final = 500
_WIDER: Final = 4  # factor by which a window grows when compaction left too few records in it
_WINDOWS_MAX: Final = 8


async def browse(request: web.Request) -> web.Response:
    client, topic = request[CLIENT], request.match_info["topic"]
    where = parse_where(request.query, client.clock.now_ms())
    limit = integer(request, "limit", _LIMIT, 1, _LIMIT_MAX)
    bounds = await bounds_of(client, topic, where)
    cursor = parse_cursor(request.query["cursor"]) if "cursor" in request.query else None
    if where.position is None:
        before = clamped(cursor, bounds) if cursor is not None else bounds.ends
        page = await _backward(client, topic, bounds, before, limit)
        is_more = any(offset > bounds.starts[partition] for partition, offset in page.cursor.items())
    else:
        starts = clamped(cursor, bounds) if cursor else await first_offsets(client, topic, where, bounds)
        page = await _forward(client, topic, bounds, starts, limit)
        is_more = any(offset < bounds.ends[partition] for partition, offset in page.cursor.items())
    return answer(
        {
            "records": [record_view(partition, record) for partition, record in page.records],
            "cursor": format_cursor(page.cursor) if is_more else None,
        }
    )


async def _forward(client: Client, topic: str, bounds: Bounds, starts: Mapping[int, int], limit: int) -> Page:
    """One page; if a byte limit ended it early, the next page continues there."""
    found = (await read_range(client, topic, starts, bounds.ends, limit)).partitions
    records = {partition: each.records for partition, each in found.items()}
    return oldest_first(records, {partition: each.position for partition, each in found.items()}, limit)


async def newest(client: Client, topic: str, limit: int) -> Page:
    """Return the newest messages of a topic, for other pages."""
    bounds = await bounds_of(client, topic, Where())
    return await _backward(client, topic, bounds, bounds.ends, limit)


async def _backward(
    client: Client, topic: str, bounds: Bounds, before: Mapping[int, int], limit: int
) -> Page:
    """Read a window before each end: wider where compaction left gaps, smaller for large messages."""
    window = limit
    page: Page | None = None
    for _ in range(_WINDOWS_MAX):
        begins = {
            partition: max(bounds.starts[partition], offset - window) for partition, offset in before.items()
        }
        found_range = await read_range(client, topic, begins, before, window)
        if found_range.is_whole:
            records = {partition: each.records for partition, each in found_range.partitions.items()}
            page = newest_first(records, begins, limit)
            if begins == {p: bounds.starts[p] for p in begins} or len(page.records) >= limit:
                break
            window *= _WIDER
        elif page is not None or window < _WIDER:
            break
        else:
            limit = window = window // _WIDER
    if page is None:
        raise bad_request(f"The messages of {topic} are too large to show all partitions: choose one.")
    return page


async def _record(request: web.Request) -> tuple[int, Record]:
    topic = request.match_info["topic"]
    partition, offset = int(request.match_info["partition"]), int(request.match_info["offset"])
    fetched = await fetch_from(request[CLIENT], topic, {partition: offset})
    record = next((each for found in fetched.values() for each in found.records), None)
    if record is None or record.offset != offset:
        where = TopicPartition(topic, partition)
        raise Refused(NOT_FOUND, "NO_RECORD", f"{where} has no message at offset {offset} (any more).")
    return partition, record


async def show_record(request: web.Request) -> web.Response:
    partition, record = await _record(request)
    return answer({"record": record_view(partition, record, WHOLE_BYTES_MAX)})


class AvroRequest(msgspec.Struct, kw_only=True):
    part: str = "value"
    schema: str = ""


async def show_avro(request: web.Request) -> web.Response:
    wanted = await body_of(request, AvroRequest)
    _, record = await _record(request)
    data = record.key if wanted.part == "key" else record.value
    if data is None:
        raise bad_request(f"The {wanted.part} is null.")
    async with request.app[DECODING]:
        return answer({"decoded": await decode_in_process(data, wanted.schema)})


_RECORD = r"topics/{topic}/records/{partition:\d{1,9}}/{offset:\d{1,18}}"

ROUTES = (
    ("GET", "topics/{topic}/messages", browse),
    ("GET", _RECORD, show_record),
    ("POST", _RECORD + "/avro", show_avro),
)
