"""`POST /topics/{topic}/records`: store records, and return the offset or the error of each.

200 when all are stored, 207 when some are. When none is, the response is the problem of the first record, with the
outcomes of all. A record without a partition goes to the partition of its key; those without a key stay together.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from aiohttp import web

from penstock.client.aio import Client, Produced
from penstock.console.broker_errors import UNAVAILABLE
from penstock.gateway.http.app import CLIENTS, PROBLEM, Paths, content, json_response, operation
from penstock.gateway.http.guard import BODY_BYTES_MAX
from penstock.gateway.http.parameters import check_names
from penstock.gateway.http.problems import Problem, of_code, of_failure
from penstock.gateway.http.record_forms import read_body
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.builder import NewRecord

_IN_FLIGHT_BYTES_MAX: Final = 8 * BODY_BYTES_MAX
_BODY_S_MAX: Final = 30.0
_PARTLY: Final = 207
_TOO_SLOW: Final = 408

PATHS: Final[Paths] = {
    "/topics/{topic}/records": {
        "post": {
            **operation(
                "produce",
                "Store records in a topic",
                {
                    "200": content("All records are stored", "Produced"),
                    "207": content("Some records are stored; the others have an error", "Produced"),
                    "default": PROBLEM,
                },
                parameters=["topic"],
            ),
            "requestBody": {"required": True, **content("The records", "NewRecords")},
        }
    }
}


class _InFlight:
    """Bounds the memory of request bodies that wait for the brokers."""

    __slots__ = ("size_bytes",)

    def __init__(self) -> None:
        self.size_bytes = 0

    @contextlib.contextmanager
    def room_for(self, request: web.Request) -> Iterator[None]:
        expected_bytes = min(request.content_length or BODY_BYTES_MAX, BODY_BYTES_MAX)
        if self.size_bytes + expected_bytes > _IN_FLIGHT_BYTES_MAX:
            raise Problem(UNAVAILABLE, "Too many requests are being stored; try again in a moment.")
        self.size_bytes += expected_bytes
        try:
            yield
        finally:
            self.size_bytes -= expected_bytes


def routes(app: web.Application) -> None:
    in_flight = _InFlight()

    async def produce(request: web.Request) -> web.Response:
        check_names(request.query, ())
        topic = request.match_info["topic"]
        async with request.app[CLIENTS].lent(request.headers.get("Authorization"), request.remote) as client:
            await client.topic(topic)  # check topic and user before the body is read
            with in_flight.room_for(request):
                records = read_body(await _body(request))
                return _answer(topic, await _store(client, topic, records))

    app.router.add_post("/topics/{topic}/records", produce)


async def _body(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(_BODY_S_MAX):
            return await request.read()
    except TimeoutError:
        raise Problem(_TOO_SLOW, f"The records did not arrive within {_BODY_S_MAX:.0f} s.") from None


async def _store(
    client: Client, topic: str, records: Sequence[tuple[int | None, NewRecord]]
) -> list[Produced | Problem]:
    """Produce to the requested partitions; returns the outcomes in the order of the records."""
    shares: dict[int | None, list[int]] = {}
    for index, (partition, _) in enumerate(records):
        shares.setdefault(partition, []).append(index)
    outcomes: list[Produced | Problem] = [Produced(partition=-1)] * len(records)

    async def store(partition: int | None, indexes: list[int]) -> None:
        share: Sequence[Produced | Problem]
        try:
            share = await client.produce(topic, partition, [records[index][1] for index in indexes])
        except Exception as failure:
            problem = of_failure(failure)
            if problem is None or len(shares) == 1:
                raise
            share = [problem] * len(indexes)
        for index, outcome in zip(indexes, share, strict=True):
            outcomes[index] = outcome

    await asyncio.gather(*(store(partition, indexes) for partition, indexes in shares.items()))
    return outcomes


def _answer(topic: str, outcomes: Sequence[Produced | Problem]) -> web.Response:
    failures = [problem for each in outcomes if (problem := _problem(topic, each)) is not None]
    shown = [_shown(topic, each) for each in outcomes]
    if not failures:
        return json_response({"records": shown})
    if len(failures) < len(outcomes):
        return json_response({"records": shown}, _PARTLY)
    first = failures[0]
    raise Problem(first.status, first.detail, kafka_error=first.kafka_error, more={"records": shown})


def _problem(topic: str, outcome: Produced | Problem) -> Problem | None:
    if isinstance(outcome, Problem):
        return outcome
    if outcome.error == ErrorCode.NONE:
        return None
    return of_code(outcome.error, f"Storing in {topic}-{outcome.partition}", outcome.message)


def _shown(topic: str, outcome: Produced | Problem) -> dict[str, Any]:
    problem = _problem(topic, outcome)
    if problem is not None:
        return {"error": problem.document()}
    assert isinstance(outcome, Produced)
    return {"partition": outcome.partition, "offset": outcome.offset, "timestamp": outcome.timestamp}
