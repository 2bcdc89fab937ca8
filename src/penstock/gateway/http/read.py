"""`GET /topics/{topic}/records`: read some records, and return the next positions.

Begins at `offset` (a number, `earliest`, `latest`, or -n: the last n), at `time`, or at the `positions` that an earlier
response gave as `next`. Records of several partitions come in the order of their timestamps as far as each partition's
own order allows. If there are no records yet, the response waits up to `timeout_ms`.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from aiohttp import web

from penstock.client.aio import (
    EARLIEST,
    LATEST,
    BrokerError,
    Client,
    FetchedPartition,
    FetchLimits,
    TopicPartition,
)
from penstock.client.aio.reader import Reader
from penstock.console.paging import Placed, merged
from penstock.gateway.http.app import CLIENTS, PROBLEM, Paths, content, json_response, operation
from penstock.gateway.http.parameters import check_names, integer, one_of, whole_number
from penstock.gateway.http.positions import read_positions, write_positions
from penstock.gateway.http.problems import bad_request
from penstock.gateway.http.record_forms import FORMS, record_form
from penstock.gateway.http.starts import (
    chosen_partitions,
    ends,
    named_partitions,
    offsets_at_time,
    offsets_from,
)

ISOLATIONS: Final = ("read_uncommitted", "read_committed")
_PARAMETERS: Final = (
    "partition", "partitions", "from", "offset", "time", "positions", "limit", "timeout_ms", "isolation", "format",
)  # fmt: skip
_LIMIT_DEFAULT: Final = 100
_LIMIT_MAX: Final = 10_000
_TIMEOUT_MS_MAX: Final = 30_000
_BYTES_MAX: Final = 4 * 1024 * 1024
_RECORDS_PER_YIELD: Final = 1_000

PATHS: Final[Paths] = {
    "/topics/{topic}/records": {
        "get": operation(
            "read",
            "Read some records of a topic",
            {"200": content("The records, and the next positions", "Records"), "default": PROBLEM},
            parameters=["topic", *_PARAMETERS],
        )
    }
}


def routes(app: web.Application) -> None:
    app.router.add_get("/topics/{topic}/records", _read, allow_head=False)


async def _read(request: web.Request) -> web.Response:
    query = request.query
    check_names(query, _PARAMETERS)
    topic = request.match_info["topic"]
    limit = integer(query, "limit", _LIMIT_DEFAULT, 1, _LIMIT_MAX)
    form = one_of(query, "format", FORMS)
    limits = FetchLimits(
        wait_ms=integer(query, "timeout_ms", 0, 0, _TIMEOUT_MS_MAX),
        bytes_max=_BYTES_MAX,
        partition_bytes_max=_BYTES_MAX,
        records_max=limit,
        reads_committed_only=one_of(query, "isolation", ISOLATIONS) == "read_committed",
    )
    async with request.app[CLIENTS].lent(request.headers.get("Authorization"), request.remote) as client:
        positions = await _start(client, topic, query)
        fetched = await _fetched(client, topic, positions, limits)
    for number, each in fetched.items():
        if each.error:
            raise BrokerError(each.error, f"Reading {topic}-{number} at offset {positions[number]}")
    records, returned = merged({number: each.records for number, each in fetched.items()}, limit)
    return json_response(
        {
            "records": await _shown(topic, records, form),
            "next": write_positions(_next_positions(positions, fetched, records, returned)),
            "high_watermarks": {str(each): fetched[each].high_watermark for each in sorted(fetched)},
        }
    )


async def _shown(topic: str, records: Sequence[Placed], form: str) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    for number, record in records:
        shown.append(record_form(topic, number, record, form))
        if len(shown) % _RECORDS_PER_YIELD == 0:
            await asyncio.sleep(0)  # let the broker serve other clients
    return shown


async def _start(client: Client, topic: str, query: Mapping[str, str]) -> dict[int, int]:
    given = [name for name in ("from", "offset", "time", "positions") if name in query]
    if len(given) > 1:
        raise bad_request(f"{given[0]} and {given[1]} are both given: give one of them.")
    if "positions" in query:
        positions = read_positions(query["positions"], "positions")
        await chosen_partitions(client, topic, ",".join(map(str, positions)), "positions")
        return positions
    partitions = await chosen_partitions(client, topic, named_partitions(query), "partition")
    if "from" in query:
        return await offsets_from(client, topic, partitions, query["from"])
    if "time" in query:
        return await offsets_at_time(client, topic, partitions, query["time"])
    offset = query.get("offset", "earliest")
    if offset in ("earliest", "latest"):
        return await offsets_from(client, topic, partitions, offset)
    number = whole_number(offset)
    if number is None:
        raise bad_request(f"offset is {offset!r}: it must be a number, earliest or latest.")
    if number >= 0:
        return dict.fromkeys(partitions, number)
    first = await ends(client, topic, partitions, EARLIEST)
    last = await ends(client, topic, partitions, LATEST)
    return {each: max(first[each], last[each] + number) for each in partitions}


async def _fetched(
    client: Client, topic: str, positions: Mapping[int, int], limits: FetchLimits
) -> dict[int, FetchedPartition]:
    wanted = {TopicPartition(topic, number): offset for number, offset in positions.items()}
    at_once = msgspec.structs.replace(limits, wait_ms=0)
    found = await client.fetch(wanted, at_once)
    if limits.wait_ms and not any(each.records or each.error for each in found.values()):
        reader = Reader(client.branch(), limits)
        reader.assign(wanted | {where: each.next_offset for where, each in found.items()})
        try:
            async with asyncio.timeout(limits.wait_ms / 1000):
                while not any(each.records or each.error for each in found.values()):
                    found |= await reader.next()
        except TimeoutError:
            pass
        finally:
            await reader.close()
    return {where.partition: each for where, each in found.items()}


def _next_positions(
    positions: Mapping[int, int],
    fetched: Mapping[int, FetchedPartition],
    records: Sequence[Placed],
    returned: Counter[int],
) -> dict[int, int]:
    """The offset after the last returned record; after the whole fetch where all of it is returned."""
    after = dict(positions)
    for number, record in records:
        after[number] = record.offset + 1
    for number, each in fetched.items():
        if returned[number] == len(each.records):
            after[number] = each.next_offset
    return after
