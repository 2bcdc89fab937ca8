"""From frames to answers over a live broker: order, effects, versions and what ends a connection."""

import asyncio
import logging
import struct

import pytest

from penstock.protocol.apis import APIS
from penstock.protocol.messages.api_versions import ApiVersionsRequest
from penstock.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.protocol.messages.describe_cluster import DescribeClusterRequest
from penstock.protocol.messages.fetch import FetchPartition
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from penstock.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from penstock.server.handlers import HANDLERS
from tests.server.live import (
    Client,
    Live,
    TopicHandle,
    batch,
    code,
    fetch_request,
    fetch_topic,
    produce_request,
    unique_name,
)
from tests.server.raw import connected, frame_of, read_answer


async def test_requests_of_different_apis_are_answered_in_order(live: Live) -> None:
    """Some are answered at once, some after a sync, some from the disk, some after a wait."""
    client = await live.connect()
    topic = await client.create_topic()
    wanted = {0: FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)}
    reader, writer = await connected(live)
    frames = []
    for number in range(0, 400, 5):
        requests = [
            (produce_request(topic, {0: batch(str(number).encode())}), 13),
            (fetch_request([fetch_topic(topic, 18, wanted)], max_wait_ms=5, min_bytes=1 << 30), 18),
            (MetadataRequest(topics=[]), 13),
            (ListOffsetsRequest(replica_id=-1), 11),
            (ApiVersionsRequest(client_software_name="x", client_software_version="1"), 4),
        ]
        frames += [frame_of(r, v, correlation_id=number + i) for i, (r, v) in enumerate(requests)]
    writer.write(b"".join(frames))
    answered = [struct.unpack_from(">i", await read_answer(reader))[0] for _ in range(400)]
    assert answered == list(range(400))
    writer.close()
    await client.close()


async def test_later_requests_see_the_changes_of_earlier_ones(live: Live, client: Client) -> None:
    """As in Kafka, where a connection's requests are served one after the other."""
    name = unique_name()
    created = client.send(
        CreateTopicsRequest(topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=1)])
    )
    produced = client.send(produce_request(TopicHandle(name, b""), {0: batch(b"v")}, version=12), 12)
    asked = client.send(MetadataRequest(topics=[MetadataRequestTopic(name=name)]))
    assert (await produced).responses[0].partition_responses[0].error_code == 0
    deleted = client.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=name)]))
    gone = client.send(produce_request(TopicHandle(name, b""), {0: batch(b"v")}, version=12), 12)
    assert (await created).topics[0].error_code == 0
    assert (await asked).topics[0].error_code == 0
    assert (await deleted).responses[0].error_code == 0
    result = (await gone).responses[0].partition_responses[0]
    assert code(result.error_code) == "UNKNOWN_TOPIC_OR_PARTITION"


async def test_deleted_records_are_gone_for_the_next_request(client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"a", b"b"))
    deletion = DeleteRecordsPartition(partition_index=0, offset=-1)
    start = ListOffsetsPartition(partition_index=0, timestamp=-2)
    deleted = client.send(
        DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic.name, partitions=[deletion])])
    )
    listed = client.send(
        ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic.name, partitions=[start])])
    )
    await deleted
    assert (await listed).topics[0].partitions[0].offset == 2


async def test_a_request_with_too_many_elements_closes_the_connection(live: Live, client: Client) -> None:
    """A name has one byte and takes microseconds: a frame of the largest size would take minutes."""
    many = FindCoordinatorRequest(coordinator_keys=[""] * 2_000)
    assert len((await client.send(many)).coordinators) == 2_000
    reader, writer = await connected(live)
    writer.write(frame_of(FindCoordinatorRequest(coordinator_keys=[""] * 50_001)))
    assert await reader.read() == b""
    writer.close()


@pytest.mark.parametrize("key", [-1, 4, 9999])
async def test_an_unknown_api_closes_the_connection_after_earlier_requests_are_answered(
    live: Live, key: int
) -> None:
    reader, writer = await connected(live)
    body = struct.pack(">hhih", key, 0, 2, -1)
    writer.write(frame_of(DescribeClusterRequest(), correlation_id=1))
    writer.write(struct.pack(">i", len(body)) + body + frame_of(DescribeClusterRequest(), correlation_id=3))
    assert struct.unpack_from(">i", await read_answer(reader)) == (1,)
    assert await reader.read() == b""
    writer.close()


@pytest.mark.parametrize("key", [k for k in HANDLERS if k != 18])
async def test_an_unsupported_version_closes_the_connection(live: Live, key: int) -> None:
    for version in (APIS[key].versions.start - 1, APIS[key].versions.stop, -5):
        reader, writer = await connected(live)
        body = struct.pack(">hhih", key, version, 2, -1)
        writer.write(struct.pack(">i", len(body)) + body)
        assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize("key", list(HANDLERS))
async def test_a_request_without_a_body_closes_its_own_connection_only(
    live: Live, client: Client, key: int
) -> None:
    for version in APIS[key].versions:
        reader, writer = await connected(live)
        body = struct.pack(">hhih", key, version, 2, -1)
        writer.write(struct.pack(">i", len(body)) + body)
        writer.write_eof()
        await asyncio.wait_for(reader.read(), 10)
        writer.close()
    assert (await client.send(DescribeClusterRequest())).error_code == 0


async def test_an_exception_in_a_handler_closes_its_own_connection_only(
    live: Live, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = await live.connect()

    def fail(*_args: object, **_kwargs: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("penstock.server.handlers.describe_cluster.api.DescribeClusterResponse", fail)
    before = broken.send(MetadataRequest(topics=[]))
    failing = broken.send(DescribeClusterRequest())
    assert (await before).brokers
    with pytest.raises(ConnectionError):
        await failing
    assert "a bug" in caplog.text
    assert (await client.send(MetadataRequest(topics=[]))).brokers


async def test_a_debug_line_of_a_request_names_the_client(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "penstock.server.dispatch.dispatcher"):
        await client.send(DescribeClusterRequest())
    assert any(
        "DescribeCluster v" in message and message.endswith("client_id=test") for message in caplog.messages
    )
