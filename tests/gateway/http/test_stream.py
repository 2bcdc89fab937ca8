"""Following a topic with server-sent events."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from penstock.client.aio import Client
from penstock.console import events as event_streams
from penstock.gateway.http import stream
from tests.gateway.http.admin import Admin, admin_of
from tests.server.live import running_broker, until


class Events:
    """A reader of events as browsers read them."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer
        self.last_id = ""

    async def next(self) -> tuple[str, Any]:
        """Name and data of the next event; comments are skipped."""
        name, data = "message", ""
        async for line in self.answer.content:
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "event":
                name = value
            elif field == "id":
                self.last_id = value
            elif field == "data":
                data = value
            elif not field and data:
                return name, msgspec.json.decode(data)
        raise EOFError

    async def values(self, count: int) -> list[str]:
        return [(await self.next())[1]["value"] for _ in range(count)]


@contextlib.asynccontextmanager
async def following(http: aiohttp.ClientSession, path: str, last_id: str = "") -> AsyncIterator[Events]:
    headers = {"Last-Event-ID": last_id} if last_id else {}
    async with http.get(path, headers=headers) as answer:
        assert answer.status == 200, await answer.text()
        assert answer.content_type == "text/event-stream"
        events = Events(answer)
        name, _ = await events.next()
        assert name == "ready"
        yield events


async def test_records_are_sent_as_they_are_stored(admin: Admin) -> None:
    topic = await admin.topic()
    await admin.fill(topic, ["before"])
    async with following(admin.http, f"/topics/{topic}/stream") as events:
        assert events.last_id == "0:1"
        await admin.fill(topic, ["one", "two"])
        assert await events.values(2) == ["one", "two"]
        assert events.last_id == "0:3"


START_POSITIONS = {
    "earliest": "abc",
    "start": "abc",
    "0": "abc",
    "1": "bc",
    "offset:2": "c",
    "-2": "bc",
    "-1h": "abc",
    "2026-01-31T12:00:00Z": "abc",
}


@pytest.mark.parametrize("kind", ["stream", "records"])
@pytest.mark.parametrize("name", ["partition", "partitions"])
async def test_reading_begins_at_any_position_of_the_command_line(admin: Admin, kind: str, name: str) -> None:
    topic = await admin.topic(partitions=2)
    await admin.fill(topic, list("abc"), 1)
    for start, expected in START_POSITIONS.items():
        path = f"/topics/{topic}/{kind}?from={start}&{name}=1"
        if kind == "records":
            status, document = await admin.get(path)
            assert (status, [each["value"] for each in document["records"]]) == (200, list(expected)), start
        else:
            async with following(admin.http, path) as events:
                assert await events.values(len(expected)) == list(expected), start


async def test_a_resumed_stream_neither_skips_nor_repeats_records(admin: Admin) -> None:
    topic = await admin.topic(partitions=2)
    for partition in (0, 1):
        await admin.fill(topic, [f"{partition}-{n}" for n in range(20)], partition)
    seen: list[str] = []
    last_id = ""
    for count in (1, 7, 20, 12):
        async with following(admin.http, f"/topics/{topic}/stream?from=earliest", last_id) as events:
            seen += await events.values(count)
            last_id = events.last_id
    assert sorted(seen) == sorted(f"{partition}-{n}" for partition in (0, 1) for n in range(20))
    for partition in (0, 1):
        own = [value for value in seen if value.startswith(f"{partition}-")]
        assert own == [f"{partition}-{n}" for n in range(20)]


async def test_a_stream_is_resumed_after_a_restart_of_the_broker(tmp_path: Path) -> None:
    last_id = ""
    for names in (["a", "b"], ["c"]):
        async with (
            running_broker(tmp_path) as live,
            admin_of(live.broker) as url,
            aiohttp.ClientSession(url) as http,
            Client(f"127.0.0.1:{live.port}") as kafka,
        ):
            admin = Admin(url, http, kafka, live.broker)
            await kafka.create_topic("t", partitions=1)
            await admin.fill("t", [*names, "unseen"])
            async with following(http, "/topics/t/stream?from=earliest", last_id) as events:
                expected = ["unseen", *names] if last_id else names
                assert await events.values(len(expected)) == expected
                last_id = events.last_id


async def test_a_slow_reader_delays_no_other_and_misses_nothing(admin: Admin) -> None:
    topic = await admin.topic()
    big = "x" * 100_000
    async with (
        following(admin.http, f"/topics/{topic}/stream") as slow,
        following(admin.http, f"/topics/{topic}/stream") as quick,
    ):
        for n in range(60):
            await admin.fill(topic, [f"{n} {big}"])
            assert (await quick.values(1))[0].startswith(f"{n} ")
        first = await slow.values(60)
        assert [value.split(" ")[0] for value in first] == [str(n) for n in range(60)]


async def test_an_idle_stream_sends_comments(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "_CHECK_S", 0.001)
    topic = await admin.topic()
    async with following(admin.http, f"/topics/{topic}/stream") as events:
        assert await events.answer.content.readline() == b": keep-alive\n"


async def test_a_deleted_topic_ends_its_streams_with_a_problem(admin: Admin) -> None:
    topic = await admin.topic()
    async with following(admin.http, f"/topics/{topic}/stream") as events:
        await admin.kafka.delete_topic(topic)
        name, problem = await events.next()
        assert (name, problem["kafka_error"]) == ("problem", "UNKNOWN_TOPIC_OR_PARTITION")
        with pytest.raises(EOFError):
            await events.next()


async def test_an_invalid_stream_gets_an_ordinary_error_response(admin: Admin) -> None:
    topic = await admin.topic()
    assert (await admin.get("/topics/gateway-none/stream"))[0] == 404
    assert (await admin.get(f"/topics/{topic}/stream?partitions=3"))[0] == 404
    assert (await admin.get(f"/topics/{topic}/stream?from=soon"))[0] == 400
    status, problem = await admin.get(f"/topics/{topic}/stream", **{"Last-Event-ID": "0:7"})
    assert (status, "it has 0 to 0" in problem["detail"]) == (416, True)
    status, problem = await admin.get(f"/topics/{topic}/stream", **{"Last-Event-ID": "nonsense"})
    assert (status, "PARTITION:OFFSET" in problem["detail"]) == (400, True)


async def test_disconnected_readers_are_noticed(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "_CHECK_S", 0.001)
    topic = await admin.topic()
    before = set(admin.broker.connections)
    async with following(admin.http, f"/topics/{topic}/stream"):
        await until(lambda: set(admin.broker.connections) - before)
        of_the_stream = set(admin.broker.connections) - before
    await until(lambda: not of_the_stream & set(admin.broker.connections))


async def test_the_streams_of_one_reader_are_limited(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "STREAMS_PER_USER_MAX", 1)
    path = f"/topics/{await admin.topic()}/stream"
    async with (
        admin_of(admin.broker) as url,
        aiohttp.ClientSession(url) as http,
        http.get(path) as first,
        http.get(path) as second,
    ):
        assert (first.status, second.status) == (200, 429)
        assert "streams already" in (await second.json(content_type=None))["detail"]
