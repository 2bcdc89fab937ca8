"""DeleteRecords in every version, against a live broker."""

import pytest

from penstock.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.server.live import Client, batch, code, one, running_broker, values_in, versions

VERSIONS = versions(DeleteRecordsRequest)


async def delete(
    client: Client, topic: str, offset: int, version: int = VERSIONS[-1], partition: int = 0
) -> DeleteRecordsPartitionResult:
    wanted = DeleteRecordsPartition(partition_index=partition, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic, partitions=[wanted])], timeout_ms=1000
    )
    result: DeleteRecordsPartitionResult = one(one((await client.send(request, version)).topics).partitions)
    return result


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_start_of_the_log_moves_forward_only(client: Client, version: int) -> None:
    topic = await client.create_topic()
    for i in range(5):
        await client.produce(topic, batch(str(i).encode()))
    for offset, low_watermark in [(0, 0), (2, 2), (1, 2), (4, 4), (-1, 5), (5, 5)]:
        result = await delete(client, topic.name, offset, version)
        assert (result.error_code, result.low_watermark) == (0, low_watermark), offset
    assert (await client.produce(topic, batch(b"next"))).base_offset == 5
    assert values_in(await client.fetch(topic, 5)) == [b"next"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_invalid_offsets_and_unknown_partitions_are_refused(client: Client, version: int) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"v"))
    compacted = await client.create_topic(configs={"cleanup.policy": "compact"})
    for name, partition, offset, expected in [
        ("no-such-topic", 0, 0, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("__share_group_state", 0, 0, "UNKNOWN_TOPIC_OR_PARTITION"),
        (topic.name, 5, 0, "UNKNOWN_TOPIC_OR_PARTITION"),
        (topic.name, 0, 2, "OFFSET_OUT_OF_RANGE"),
        (topic.name, 0, -2, "OFFSET_OUT_OF_RANGE"),
        (compacted.name, 0, 0, "POLICY_VIOLATION"),
    ]:
        result = await delete(client, name, offset, version, partition)
        assert (code(result.error_code), result.low_watermark) == (expected, -1), (name, offset)


async def test_records_of_internal_topics_cannot_be_deleted(tmp_path_factory: pytest.TempPathFactory) -> None:
    async with running_broker(tmp_path_factory.mktemp("internal")) as live:
        client = await live.connect()
        await client.create_topic(name="__consumer_offsets")
        result = await delete(client, "__consumer_offsets", 0)
        assert code(result.error_code) == "INVALID_TOPIC_EXCEPTION"


async def test_deleted_records_stay_deleted_after_a_restart(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    directory = tmp_path_factory.mktemp("deleted")
    async with running_broker(directory) as live:
        client = await live.connect()
        topic = await client.create_topic()
        for i in range(5):
            await client.produce(topic, batch(str(i).encode()))
        assert (await delete(client, topic.name, 3)).low_watermark == 3
    async with running_broker(directory) as live:
        client = await live.connect()
        data = await client.fetch(topic, 3)
        assert (data.log_start_offset, values_in(data)) == (3, [b"3", b"4"])
        assert code((await client.fetch(topic, 2)).error_code) == "OFFSET_OUT_OF_RANGE"


async def test_the_last_of_several_entries_for_a_partition_counts(client: Client) -> None:
    topic = await client.create_topic()
    for i in range(4):
        await client.produce(topic, batch(str(i).encode()))
    wanted = [DeleteRecordsPartition(partition_index=0, offset=offset) for offset in (4, 3, 1)]
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic.name, partitions=each) for each in (wanted, wanted[:2])],
        timeout_ms=1000,
    )
    result = one(one((await client.send(request)).topics).partitions)
    assert (result.error_code, result.low_watermark) == (0, 3)
