"""DescribeLogDirs in every version, against a live broker."""

import errno
from pathlib import Path
from random import Random

import pytest

from penstock.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)
from penstock_simulation.disk import FaultyDisk
from tests.server.live import Client, Live, batch, code, one, running_broker, versions

VERSIONS = versions(DescribeLogDirsRequest)


async def describe(
    client: Client, topics: dict[str, list[int]] | None = None, version: int = VERSIONS[-1]
) -> DescribeLogDirsResult:
    wanted = None
    if topics is not None:
        wanted = [DescribableLogDirTopic(topic=t, partitions=p) for t, p in topics.items()]
    response = await client.send(DescribeLogDirsRequest(topics=wanted), version)
    assert response.error_code == 0
    result: DescribeLogDirsResult = one(response.results)
    return result


def sizes(result: DescribeLogDirsResult) -> dict[tuple[str, int], int]:
    return {(t.name, p.partition_index): p.partition_size for t in result.topics for p in t.partitions}


@pytest.mark.parametrize("version", VERSIONS)
async def test_log_sizes_and_disk_space_are_reported(live: Live, client: Client, version: int) -> None:
    topic = await client.create_topic(partitions=2)
    records = batch(b"v" * 100)
    await client.produce(topic, records)
    result = await describe(client, {topic.name: [0, 1, 1, 7], "no-such-topic": [0]}, version)
    assert (result.error_code, result.log_dir) == (0, live.services.replicas.directory)
    assert sizes(result) == {(topic.name, 0): len(records), (topic.name, 1): 0}
    partition = one(result.topics).partitions[0]
    assert (partition.offset_lag, partition.is_future_key) == (0, False)
    if version >= 4:
        assert 0 < result.usable_bytes <= result.total_bytes
    else:
        assert (result.usable_bytes, result.total_bytes) == (-1, -1)


@pytest.mark.parametrize("version", VERSIONS)
async def test_null_selects_all_partitions_and_an_empty_list_none(client: Client, version: int) -> None:
    topic = await client.create_topic()
    assert (topic.name, 0) in sizes(await describe(client, None, version))
    assert sizes(await describe(client, {}, version)) == {}


async def test_unopened_logs_are_measured_on_disk(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic(configs={"segment.records": "2"})
        for _ in range(7):
            await client.produce(topic, batch(b"v" * 100))
        before = sizes(await describe(client))
    async with running_broker(tmp_path, {"log.cleaner.enable": "false"}) as live:
        client = await live.connect()
        assert sizes(await describe(client)) == before
        assert not any(replica.is_open for replica in live.services.replicas)


async def test_a_disk_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    disk = FaultyDisk(Random(1), capacity_bytes=10_000_000)
    async with running_broker(Path("/data"), files=disk) as live:
        client = await live.connect()
        assert (await describe(client)).total_bytes == 10_000_000
        fault = disk.fail("usage", error=errno.EIO)
        result = await describe(client)
        assert (code(result.error_code), result.log_dir) == ("KAFKA_STORAGE_ERROR", "/data")
        disk.heal(fault)
        assert (await describe(client)).error_code == 0
