"""Storing records over HTTP."""

import asyncio

from penstock.client.aio import TopicPartition
from penstock.gateway.http.guard import BODY_BYTES_MAX
from tests.gateway.http.admin import Admin


async def stored(admin: Admin, topic: str, partition: int = 0) -> list[tuple[bytes | None, bytes | None]]:
    where = TopicPartition(topic, partition)
    return [(r.key, r.value) for r in (await admin.kafka.fetch({where: 0}))[where].records]


async def test_records_are_stored_and_the_answer_has_their_offsets(admin: Admin) -> None:
    topic = await admin.topic(partitions=2)
    records = [
        {"value": {"a": 1}, "partition": 1, "timestamp": 1_700_000_000_000},
        {"key": "k", "value": "text", "partition": 0},
        {"value_base64": "/w==", "partition": 1},
    ]
    status, answer = await admin.post(f"/topics/{topic}/records", {"records": records})
    assert status == 200
    places = [(each["partition"], each["offset"]) for each in answer["records"]]
    assert places == [(1, 0), (0, 0), (1, 1)]
    assert answer["records"][0]["timestamp"] == 1_700_000_000_000
    assert await stored(admin, topic, 0) == [(b"k", b"text")]
    assert await stored(admin, topic, 1) == [(None, b'{"a": 1}'), (None, b"\xff")]


async def test_a_key_selects_the_same_partition_as_in_kafka_clients(admin: Admin) -> None:
    topic = await admin.topic(partitions=5)
    keys = [f"key-{number}" for number in range(12)]
    status, answer = await admin.post(f"/topics/{topic}/records", {"records": [{"key": key} for key in keys]})
    again, other = await admin.post(f"/topics/{topic}/records", {"records": [{"key": key} for key in keys]})
    assert (status, again) == (200, 200)
    partitions = [each["partition"] for each in answer["records"]]
    assert partitions == [each["partition"] for each in other["records"]]
    assert len(set(partitions)) > 1


async def test_failed_records_are_reported_and_the_rest_is_stored(admin: Admin) -> None:
    topic = await admin.topic()
    records = [{"value": "a", "partition": 0}, {"value": "b", "partition": 7}]
    status, answer = await admin.post(f"/topics/{topic}/records", {"records": records})
    assert status == 207
    assert answer["records"][0]["offset"] == 0
    error = answer["records"][1]["error"]
    assert (error["status"], error["kafka_error"]) == (404, "UNKNOWN_TOPIC_OR_PARTITION")
    assert await stored(admin, topic) == [(None, b"a")]


async def test_the_answer_is_a_problem_if_no_record_is_stored(admin: Admin) -> None:
    compacted = await admin.topic(cleanup_policy="compact")
    status, answer = await admin.post(f"/topics/{compacted}/records", {"records": [{"value": "no key"}]})
    assert (status, answer["kafka_error"]) == (400, "INVALID_RECORD")
    assert "compacted topic needs a key" in answer["detail"]
    assert len(answer["records"]) == 1
    small = await admin.topic(max_message_bytes="100")
    status, answer = await admin.post(f"/topics/{small}/records", {"records": [{"value": "x" * 200}]})
    assert (status, answer["kafka_error"]) == (413, "MESSAGE_TOO_LARGE")


async def test_an_unknown_topic_is_not_created(admin: Admin) -> None:
    status, answer = await admin.post("/topics/gateway-missing/records", {"records": [{"value": "x"}]})
    assert (status, answer["kafka_error"]) == (404, "UNKNOWN_TOPIC_OR_PARTITION")
    assert "penstock topic create" in answer["detail"]
    assert "gateway-missing" not in (await admin.kafka.metadata()).topics


async def test_invalid_json_and_too_many_records_are_refused(admin: Admin) -> None:
    topic = await admin.topic()
    path = f"/topics/{topic}/records"
    async with admin.http.post(path, data="value=x") as answer:
        assert answer.status == 415
        assert answer.content_type == "application/problem+json"
    status, problem = await admin.post(path, {"records": [{"value": "x" * BODY_BYTES_MAX}]})
    assert (status, problem["status"]) == (413, 413)
    status, problem = await admin.post(f"{path}?partition=1", {"records": [{}]})
    assert (status, "Unknown parameter 'partition'" in problem["detail"]) == (400, True)
    assert await stored(admin, topic) == []


async def test_concurrent_requests_are_all_stored(admin: Admin) -> None:
    topic = await admin.topic()
    answers = await asyncio.gather(
        *(admin.post(f"/topics/{topic}/records", {"records": [{"value": str(n)}]}) for n in range(40))
    )
    assert {status for status, _ in answers} == {200}
    found = await stored(admin, topic)
    for number, (_, answer) in enumerate(answers):
        assert found[answer["records"][0]["offset"]] == (None, str(number).encode())
