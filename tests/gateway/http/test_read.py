"""Reading records over HTTP."""

import asyncio
from typing import Any

import pytest

from penstock.console.paging import merged
from penstock.protocol.records.builder import NewRecord
from penstock.protocol.records.record import Record
from tests.gateway.http.admin import Admin


def values(answer: Any) -> list[str]:
    return [record["value"] for record in answer["records"]]


async def test_records_are_read_page_by_page_over_all_partitions(admin: Admin) -> None:
    topic = await admin.topic(partitions=2)
    for partition in (0, 1):
        records = [
            NewRecord(value=b"%d" % (2 * n + partition), timestamp=2 * n + partition) for n in range(5)
        ]
        await admin.kafka.produce(topic, partition, records)
    found: list[str] = []
    position = ""
    for _ in range(4):
        status, answer = await admin.get(f"/topics/{topic}/records?limit=3{position}")
        assert status == 200
        found += values(answer)
        position = f"&positions={answer['next']}"
    assert found == [str(number) for number in range(10)]
    assert answer["next"] == "0:5,1:5"
    assert answer["high_watermarks"] == {"0": 5, "1": 5}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["0", "1", "2", "3"]),
        ("offset=earliest", ["0", "1", "2", "3"]),
        ("offset=2", ["2", "3"]),
        ("offset=latest", []),
        ("offset=-1", ["3"]),
        ("offset=-99", ["0", "1", "2", "3"]),
        ("time=2000", ["2", "3"]),
        ("time=1970-01-01T00:00:01.500Z", ["2", "3"]),
        ("time=9000", []),
        ("partition=0&limit=1", ["0"]),
    ],
)
async def test_reading_begins_at_the_requested_position(
    admin: Admin, query: str, expected: list[str]
) -> None:
    topic = await admin.topic()
    await admin.kafka.produce(topic, 0, [NewRecord(value=b"%d" % n, timestamp=n * 1000) for n in range(4)])
    status, answer = await admin.get(f"/topics/{topic}/records?{query}")
    assert (status, values(answer)) == (200, expected)


async def test_an_answer_waits_for_the_first_record(admin: Admin) -> None:
    topic = await admin.topic(partitions=2)
    waiting = asyncio.create_task(admin.get(f"/topics/{topic}/records?timeout_ms=30000"))
    await asyncio.sleep(0)
    await admin.fill(topic, ["late"], partition=1)
    _, answer = await waiting
    assert (values(answer), answer["next"]) == (["late"], "0:0,1:1")


async def test_an_empty_page_is_a_valid_answer(admin: Admin) -> None:
    topic = await admin.topic()
    status, answer = await admin.get(f"/topics/{topic}/records?timeout_ms=1")
    assert (status, answer) == (200, {"records": [], "next": "0:0", "high_watermarks": {"0": 0}})


async def test_values_are_returned_in_the_requested_format(admin: Admin) -> None:
    topic = await admin.topic()
    await admin.kafka.produce(
        topic, 0, [NewRecord(key=b"k", value=b'{"a": [1]}', headers=(("h", b"\xff"), ("h", None)))]
    )
    _, answer = await admin.get(f"/topics/{topic}/records?format=json")
    [record] = answer["records"]
    assert (record["key"], record["value"]) == ("k", {"a": [1]})
    assert record["headers"] == [{"name": "h", "value_base64": "/w=="}, {"name": "h", "value": None}]


async def test_an_invalid_topic_name_is_reported(admin: Admin) -> None:
    status, problem = await admin.get("/topics/a%2Fb/records")
    assert (status, problem["kafka_error"]) == (400, "INVALID_TOPIC_EXCEPTION")


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("offset=99", 416, "OFFSET_OUT_OF_RANGE"),
        ("partition=5", 404, "it has 1, counted from 0"),
        ("partition=x", 400, "numbers of partitions"),
        ("offset=first", 400, "a number, earliest or latest"),
        ("offset=1&time=2", 400, "both given"),
        ("limit=0", 400, "from 1 to 10000"),
        ("limit=ten", 400, "from 1 to 10000"),
        ("timeout_ms=99999999", 400, "from 0 to 30000"),
        ("isolation=none", 400, "read_uncommitted, read_committed"),
        ("format=xml", 400, "text, json, base64"),
        ("time=tomorrow", 400, "milliseconds since 1970"),
        ("positions=1", 400, "PARTITION:OFFSET"),
        ("positions=4:0", 404, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("ofset=1", 400, "Unknown parameter 'ofset'"),
    ],
)
async def test_an_invalid_read_is_refused_with_the_reason(
    admin: Admin, query: str, status: int, words: str
) -> None:
    topic = await admin.topic()
    code, problem = await admin.get(f"/topics/{topic}/records?{query}")
    assert code == problem["status"] == status
    assert words in problem["detail"]


def test_partitions_are_merged_by_time_and_keep_their_own_order() -> None:
    first = [Record(0, 10, None, b"a"), Record(1, 5, None, b"b"), Record(2, 30, None, b"c")]
    second = [Record(0, 7, None, b"x"), Record(1, 20, None, b"y")]
    found = [record.value for _, record in merged({0: first, 1: second}, 4)[0]]
    assert found == [b"x", b"a", b"b", b"y"]
