"""Mutated requests at a live broker: it lives on, others are served, and its memory stays bounded."""

import asyncio
import contextlib
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.protocol.apis import APIS
from penstock.protocol.messages.api_versions import ApiVersionsRequest
from penstock.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from penstock.protocol.messages.fetch import FetchPartition, FetchRequest
from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from penstock.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from penstock.protocol.messages.produce import ProduceRequest
from penstock.server.handlers import HANDLERS
from tests.server.live import (
    Client,
    Live,
    TopicHandle,
    api_of,
    batch,
    fetch_request,
    fetch_topic,
    produce_request,
    running_broker,
    unique_name,
)
from tests.server.raw import connected, frame_of

ROUNDS = 600


def reset_peak_memory_kib() -> int:
    """Forget the peak of whatever ran before in this process; gives what is in use."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_memory_kib()


def peak_memory_kib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def samples(topic: TopicHandle) -> Iterator[tuple[Any, int]]:
    """Valid requests in all their versions, to be damaged."""
    for version in api_of(ProduceRequest).versions:
        yield produce_request(topic, {0: batch(b"a", b"b", key=b"k")}, version=version), version
    for version in api_of(FetchRequest).versions:
        wanted = {0: FetchPartition(partition=0, partition_max_bytes=1 << 20)}
        yield fetch_request([fetch_topic(topic, version, wanted)]), version
    others = [
        MetadataRequest(topics=[MetadataRequestTopic(name=topic.name)]),
        ApiVersionsRequest(client_software_name="x", client_software_version="1"),
        CreateTopicsRequest(topics=[CreatableTopic(name=topic.name, num_partitions=1, replication_factor=1)]),
        ListOffsetsRequest(
            replica_id=-1,
            topics=[ListOffsetsTopic(name=topic.name, partitions=[ListOffsetsPartition(timestamp=-1)])],
        ),
        DescribeConfigsRequest(
            resources=[DescribeConfigsResource(resource_type=2, resource_name=topic.name)]
        ),
        IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource_type=2,
                    resource_name=topic.name,
                    configs=[AlterableConfig(name="retention.ms", config_operation=0, value="5")],
                )
            ]
        ),
    ]
    for request in others:
        for version in api_of(type(request)).versions:
            yield request, version


def damaged(frame: bytes, chance: random.Random) -> bytes:
    """Flip, cut, insert or overwrite; the length in front mostly fits again, so that the damage is looked at."""
    body = bytearray(frame[4:])
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        at = chance.randrange(2, len(body))
        match chance.randrange(5):
            case 0:
                body[at] ^= 1 << chance.randrange(8)
            case 1:
                body[at : at + 4] = struct.pack(">i", chance.choice((-1, 2**31 - 1, -(2**31), 0, 10**6)))
            case 2:
                del body[at : at + chance.randrange(1, 9)]
            case 3:
                body[at:at] = chance.randbytes(chance.randrange(1, 9))
            case _:
                body[at] = chance.choice((0, 0x7F, 0x80, 0xFF))
        if len(body) < 12:
            break
    size = len(body) if chance.random() < 0.95 else chance.randrange(0, 2 * len(body))
    return struct.pack(">i", size) + bytes(body)


async def throw(live: Live, data: bytes) -> None:
    """Send it, say that no more comes, and take whatever comes back until the broker closes."""
    reader, writer = await connected(live)
    with contextlib.suppress(ConnectionError):
        writer.write(data)
        writer.write_eof()
        await asyncio.wait_for(reader.read(), 20)
    writer.close()


async def still_serves(client: Client) -> None:
    topic = await client.create_topic(name=f"{unique_name()}-that-no-damage-could-have-made")
    assert (await client.produce(topic, batch(b"v"))).error_code == 0
    assert (await client.fetch(topic)).high_watermark == 1


@pytest.mark.parametrize("seed", [1, 2])
async def test_damaged_requests_do_not_affect_other_clients(
    tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(seed)
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic()
        valid = [frame_of(request, version) for request, version in samples(topic)]
        memory_before_kib = reset_peak_memory_kib()
        for _ in range(ROUNDS // 30):
            frames = [damaged(chance.choice(valid), chance) for _ in range(30)]
            await asyncio.gather(*(throw(live, frame) for frame in frames))
            await still_serves(client)
        assert peak_memory_kib() - memory_before_kib < 200_000
        assert "Unhandled error" not in caplog.text


async def test_random_bytes_for_every_api_do_not_affect_other_clients(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(3)
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        for key in HANDLERS:
            frames = []
            for version in APIS[key].versions:
                body = struct.pack(">hhih", key, version, 1, -1) + chance.randbytes(chance.randrange(60))
                frames.append(struct.pack(">i", len(body)) + body)
            await asyncio.gather(*(throw(live, frame) for frame in frames))
        await still_serves(client)
        assert "Unhandled error" not in caplog.text
