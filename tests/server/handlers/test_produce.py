"""Produce in every version: accepted and refused batches, against a live broker."""

import asyncio
import struct

import pytest
from crc32c import crc32c

from penstock.client.connection import Disconnected
from penstock.cluster.replica import Replica
from penstock.cluster.replica_errors import PartitionGone
from penstock.protocol.compression import Codec
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from penstock.protocol.messages.produce import ProduceRequest
from penstock.protocol.records.batch import parse_header
from penstock.protocol.records.builder import NewRecord, build_batch
from tests.server.live import (
    Client,
    Live,
    TopicHandle,
    batch,
    code,
    one,
    produce_request,
    records_in,
    values_in,
    versions,
)

VERSIONS = versions(ProduceRequest)
UNKNOWN = TopicHandle("no-such-topic", b"\x09" * 16)


def patched(position: int, value: bytes, source: bytes, *, with_crc: bool = True) -> bytes:
    """A batch with some bytes of its header changed, and a checksum that fits again."""
    changed = bytearray(source)
    changed[position : position + len(value)] = value
    if with_crc:
        struct.pack_into(">I", changed, 17, crc32c(bytes(changed[21:])))
    return bytes(changed)


GOOD = batch(b"a", b"b")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("acks", [-1, 1])
async def test_records_are_acknowledged_and_read_back(client: Client, version: int, acks: int) -> None:
    topic = await client.create_topic()
    for first_offset in (0, 2):
        answer = await client.produce(topic, GOOD, version=version, acks=acks)
        assert (answer.error_code, answer.base_offset, answer.log_append_time_ms) == (0, first_offset, -1)
        assert answer.log_start_offset == (0 if version >= 5 else -1)
    assert values_in(await client.fetch(topic)) == [b"a", b"b"] * 2


@pytest.mark.parametrize("version", VERSIONS)
async def test_with_acks_0_there_is_no_response(client: Client, version: int) -> None:
    topic = await client.create_topic()
    client.tell(produce_request(topic, {0: GOOD}, acks=0, version=version), version)
    answer = await client.produce(topic, GOOD, version=version)
    assert answer.base_offset == 2


@pytest.mark.parametrize("version", VERSIONS)
async def test_invalid_acks_are_refused(client: Client, version: int) -> None:
    topic = await client.create_topic()
    for acks in (2, -2):
        answer = await client.produce(topic, GOOD, version=version, acks=acks)
        assert (code(answer.error_code), answer.base_offset) == ("INVALID_REQUIRED_ACKS", -1)


async def test_a_timeout_of_zero_does_not_apply_to_the_local_sync(client: Client) -> None:
    topic = await client.create_topic()
    response = await client.send(produce_request(topic, {0: GOOD}, timeout_ms=0))
    assert response.responses[0].partition_responses[0].error_code == 0


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_refused_partition_does_not_affect_the_others(client: Client, version: int) -> None:
    first, second = await client.create_topic(partitions=2), await client.create_topic()
    topics = [
        produce_request(first, {1: GOOD, 0: b"garbage", 7: GOOD}, version=version),
        produce_request(UNKNOWN, {0: GOOD}, version=version),
        produce_request(second, {0: GOOD}, version=version),
    ]
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[r.topic_data[0] for r in topics])
    response = await client.send(request, version)
    answers = [
        (t.topic_id if version >= 13 else t.name, p.index, code(p.error_code), p.base_offset)
        for t in response.responses
        for p in t.partition_responses
    ]

    def named(topic: TopicHandle) -> str | bytes:
        return topic.id if version >= 13 else topic.name

    unknown = "UNKNOWN_TOPIC_ID" if version >= 13 else "UNKNOWN_TOPIC_OR_PARTITION"
    assert answers == [
        (named(first), 1, "NONE", 0),
        (named(first), 0, "INVALID_RECORD", -1),
        (named(first), 7, "UNKNOWN_TOPIC_OR_PARTITION", -1),
        (named(UNKNOWN), 0, unknown, -1),
        (named(second), 0, "NONE", 0),
    ]


BROKEN: dict[str, tuple[bytes | None, str]] = {
    "null": (None, "INVALID_RECORD"),
    "empty": (b"", "INVALID_RECORD"),
    "short": (GOOD[:40], "INVALID_RECORD"),
    "cut": (GOOD[:-1], "INVALID_RECORD"),
    "two batches": (GOOD + GOOD, "INVALID_RECORD"),
    "wrong CRC": (patched(17, b"\0\0\0\0", GOOD, with_crc=False), "CORRUPT_MESSAGE"),
    "magic 0": (patched(16, b"\0", GOOD), "INVALID_RECORD"),
    "magic 1": (patched(16, b"\1", GOOD), "INVALID_RECORD"),
    "magic 3": (patched(16, b"\3", GOOD), "CORRUPT_MESSAGE"),
    "length below the header": (patched(8, struct.pack(">i", 10), GOOD), "CORRUPT_MESSAGE"),
    "negative length": (patched(8, struct.pack(">i", -5), GOOD), "CORRUPT_MESSAGE"),
    "length beyond the end": (patched(8, struct.pack(">i", 10_000), GOOD), "INVALID_RECORD"),
    "count too large": (patched(57, struct.pack(">i", 3), GOOD), "INVALID_RECORD"),
    "count too small": (patched(57, struct.pack(">i", 1), GOOD), "INVALID_RECORD"),
    "no records": (patched(57, struct.pack(">i", 0), GOOD), "INVALID_RECORD"),
    "huge count": (
        patched(23, struct.pack(">i", 2**31 - 2), patched(57, struct.pack(">i", 2**31 - 1), GOOD)),
        "INVALID_RECORD",
    ),
    "base offset": (patched(0, struct.pack(">q", 5), GOOD), "INVALID_RECORD"),
    "control batch": (patched(21, b"\0\x20", GOOD), "INVALID_RECORD"),
    "unknown codec": (patched(21, b"\0\x05", GOOD), "UNSUPPORTED_COMPRESSION_TYPE"),
    "not gzip": (patched(21, b"\0\x01", GOOD), "INVALID_RECORD"),
    "not snappy": (patched(21, b"\0\x02", GOOD), "INVALID_RECORD"),
    "not lz4": (patched(21, b"\0\x03", GOOD), "INVALID_RECORD"),
    "not zstd": (patched(21, b"\0\x04", GOOD), "INVALID_RECORD"),
    "producer without sequence": (batch(b"a", producer_id=5, epoch=0, sequence=-1), "INVALID_RECORD"),
}


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_corrupt_batch_is_refused_and_not_stored(client: Client, broken: str) -> None:
    topic = await client.create_topic()
    records, expected = BROKEN[broken]
    for version in (7, 13):
        answer = await client.produce(topic, records, version=version)
        assert (code(answer.error_code), answer.base_offset) == (expected, -1)
    assert (await client.produce(topic, GOOD)).base_offset == 0


@pytest.mark.parametrize("broken", BROKEN)
async def test_with_acks_0_a_refusal_closes_the_connection(live: Live, broken: str) -> None:
    client = await live.connect()
    topic = await client.create_topic()
    first = client.send(produce_request(topic, {0: GOOD}))
    client.tell(produce_request(topic, {0: BROKEN[broken][0]}, acks=0))
    late = client.send(MetadataRequest())
    assert (await first).responses[0].partition_responses[0].error_code == 0
    with pytest.raises(Disconnected):
        await late


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("codec", list(Codec))
async def test_every_codec_is_accepted_in_the_versions_that_have_it(
    client: Client, version: int, codec: Codec
) -> None:
    topic = await client.create_topic()
    answer = await client.produce(topic, batch(b"x" * 500, b"y" * 500, codec=codec), version=version)
    if codec is Codec.ZSTD and version < 7:
        assert code(answer.error_code) == "UNSUPPORTED_COMPRESSION_TYPE"
        return
    assert answer.error_code == 0
    data = await client.fetch(topic)
    assert values_in(data) == [b"x" * 500, b"y" * 500]
    assert parse_header(data.records or b"", 0).codec is codec


@pytest.mark.parametrize("wanted", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("codec", list(Codec))
async def test_a_topic_with_a_codec_stores_batches_in_that_codec(
    client: Client, codec: Codec, wanted: str
) -> None:
    topic = await client.create_topic(configs={"compression.type": wanted})
    assert (await client.produce(topic, batch(b"x" * 500, codec=codec))).error_code == 0
    data = await client.fetch(topic)
    assert values_in(data) == [b"x" * 500]
    stored = parse_header(data.records or b"", 0).codec
    assert stored is (Codec.NONE if wanted == "uncompressed" else Codec[wanted.upper()])


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_record_from_too_far_in_the_future_is_refused(
    live: Live, client: Client, version: int
) -> None:
    topic = await client.create_topic(configs={"message.timestamp.after.max.ms": "1000"})
    now_ms = live.services.clock.now_ms()
    records = build_batch([NewRecord(value=b"fine", timestamp=now_ms), NewRecord(timestamp=now_ms + 60_000)])
    answer = await client.produce(topic, records, version=version)
    assert (code(answer.error_code), answer.base_offset) == ("INVALID_TIMESTAMP", -1)
    if version >= 8:
        error = one(answer.record_errors)
        assert error.batch_index == 1
        assert str(now_ms + 60_000) in (error.batch_index_error_message or "")
        assert answer.error_message


async def test_a_record_from_too_long_ago_is_refused(live: Live, client: Client) -> None:
    topic = await client.create_topic(configs={"message.timestamp.before.max.ms": "1000"})
    old = batch(b"old", timestamp=live.services.clock.now_ms() - 60_000)
    assert code((await client.produce(topic, old)).error_code) == "INVALID_TIMESTAMP"


@pytest.mark.parametrize("version", VERSIONS)
async def test_log_append_time_is_returned_and_stored(live: Live, client: Client, version: int) -> None:
    topic = await client.create_topic(configs={"message.timestamp.type": "LogAppendTime"})
    before_ms = live.services.clock.now_ms()
    answer = await client.produce(topic, GOOD, version=version)
    assert before_ms <= answer.log_append_time_ms <= live.services.clock.now_ms()
    stored = records_in(await client.fetch(topic))
    assert [r.timestamp for r in stored] == [answer.log_append_time_ms] * 2


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_batch_beyond_max_message_bytes_is_too_large(client: Client, version: int) -> None:
    fitting = batch(b"v" * 100)
    topic = await client.create_topic(configs={"max.message.bytes": str(len(fitting))})
    assert (await client.produce(topic, fitting, version=version)).error_code == 0
    answer = await client.produce(topic, batch(b"v" * 101), version=version)
    assert code(answer.error_code) == "MESSAGE_TOO_LARGE"


async def test_a_batch_larger_than_a_segment_gets_record_list_too_large(client: Client) -> None:
    topic = await client.create_topic(
        configs={"max.message.bytes": str(3 << 20), "segment.bytes": str(1 << 20)}
    )
    answer = await client.produce(topic, batch(b"v" * (2 << 20)))
    assert code(answer.error_code) == "RECORD_LIST_TOO_LARGE"


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_compacted_topic_refuses_records_without_a_key_and_lists_them(
    client: Client, version: int
) -> None:
    topic = await client.create_topic(configs={"cleanup.policy": "compact"})
    records = build_batch([NewRecord(value=b"1"), NewRecord(key=b"k", value=b"2"), NewRecord(value=b"3")])
    answer = await client.produce(topic, records, version=version)
    assert code(answer.error_code) == "INVALID_RECORD"
    assert [e.batch_index for e in answer.record_errors] == ([0, 2] if version >= 8 else [])
    assert (await client.produce(topic, batch(b"v", key=b"k"), version=version)).error_code == 0


async def test_internal_topics_refuse_records_of_clients(live: Live, client: Client) -> None:
    await client.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))  # makes the topic
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name="__consumer_offsets")])
    made = one((await client.send(wanted)).topics)
    internal = TopicHandle(made.name, made.topic_id)
    answer = await client.produce(internal, batch(b"v", key=b"k"))
    assert code(answer.error_code) == "INVALID_TOPIC_EXCEPTION"


@pytest.mark.parametrize(
    ("transactional_id", "expected"),
    [(None, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"), ("mine", "INVALID_PRODUCER_ID_MAPPING")],
)
async def test_a_transactional_batch_without_a_transaction_is_refused(
    client: Client, transactional_id: str | None, expected: str
) -> None:
    topic = await client.create_topic()
    await client.send(FindCoordinatorRequest(key_type=1, coordinator_keys=["mine"]))
    records = batch(b"v", producer_id=900, epoch=0, sequence=0, is_transactional=True)
    answer = await client.produce(topic, records, transactional_id=transactional_id)
    assert code(answer.error_code) == expected
    assert (await client.fetch(topic)).last_stable_offset == 0


async def test_a_non_transactional_batch_may_have_a_transactional_id(client: Client) -> None:
    topic = await client.create_topic()
    assert (await client.produce(topic, GOOD, transactional_id="mine")).error_code == 0


async def test_keys_values_and_headers_are_kept_as_they_are(client: Client) -> None:
    topic = await client.create_topic()
    sent = [
        NewRecord(key=None, value=None, timestamp=1),
        NewRecord(key=b"", value=b"", headers=(("", b""), ("h", None)), timestamp=2),
        NewRecord(key=bytes(range(256)), value=b"\0" * 10, headers=(("h", b"1"), ("h", b"2")), timestamp=3),
    ]
    assert (await client.produce(topic, build_batch(sent))).error_code == 0
    stored = records_in(await client.fetch(topic))
    assert [(r.key, r.value, tuple(r.headers), r.timestamp) for r in stored] == [
        (r.key, r.value, r.headers, r.timestamp) for r in sent
    ]


async def test_deleting_a_topic_fails_waiting_produces(live: Live, client: Client) -> None:
    """The append stands in the log, its sync has not ended, and then the topic goes."""
    topic = await client.create_topic()
    leader = live.services.replicas.leader_of(topic.name, 0)
    assert isinstance(leader, Replica)
    answer = client.send(produce_request(topic, {0: GOOD}))
    while leader.log.log_end_offset == 0:
        await asyncio.sleep(0)
    leader.close(PartitionGone("deleted"))
    result = (await answer).responses[0].partition_responses[0]
    assert code(result.error_code) == "UNKNOWN_TOPIC_OR_PARTITION"
