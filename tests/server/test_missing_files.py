"""Files of a partition that were removed or truncated while the broker was stopped: the next start reports it, readers
get an error for the missing records and all other records, and no offset is assigned a second time.
"""

import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.server.live import Client, TopicHandle, batch, code, running_broker, values_in

SEGMENT_RECORDS = 4
COUNT = 10  # in segments that begin at 0, 4 and 8
Damage = Callable[[Path], None]


def segment(base_offset: int) -> str:
    return f"{base_offset:020d}.log"


def remove(*names: str) -> Damage:
    def damage(directory: Path) -> None:
        for name in names:
            (directory / name).unlink()

    return damage


def cut(name: str, part: float) -> Damage:
    def damage(directory: Path) -> None:
        os.truncate(directory / name, int((directory / name).stat().st_size * part))

    return damage


KINDS = [
    pytest.param(remove(segment(0)), range(4), id="first segment removed"),
    pytest.param(remove(segment(4)), range(4, 8), id="middle segment removed"),
    pytest.param(remove(segment(8)), range(8, 10), id="last segment removed"),
    pytest.param(cut(segment(4), 0.5), range(6, 8), id="sealed segment cut between two batches"),
    pytest.param(cut(segment(4), 0.6), range(6, 8), id="sealed segment cut within a batch"),
    pytest.param(cut(segment(8), 0.5), range(9, 10), id="last segment cut between two batches"),
    pytest.param(cut(segment(8), 0.6), range(9, 10), id="last segment cut within a batch"),
    pytest.param(cut(segment(8), 0), range(8, 10), id="last segment emptied"),
    pytest.param(shutil.rmtree, range(10), id="directory removed"),
]


async def fill(data: Path) -> TopicHandle:
    async with running_broker(data) as live:
        client = await live.connect()
        topic = await client.create_topic(configs={"segment.records": str(SEGMENT_RECORDS)})
        for number in range(COUNT):
            await client.produce(topic, batch(b"%d" % number))
        await client.close()
    return topic


async def found(client: Client, topic: TopicHandle, count: int) -> dict[int, bytes | str]:
    """The value of the record that a reader gets at each offset, or the name of an error."""
    answers: dict[int, bytes | str] = {}
    for offset in range(count):
        data = await client.fetch(topic, offset)
        answers[offset] = code(data.error_code) if data.error_code else values_in(data)[0] or b""
    return answers


def expected(missing: range, count: int) -> dict[int, bytes | str]:
    lost = ErrorCode.CORRUPT_MESSAGE.name
    return {offset: lost if offset in missing else b"%d" % offset for offset in range(count)}


def losses(caplog: pytest.LogCaptureFixture) -> list[str]:
    errors = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    return [each for each in errors if each.startswith("Lost records in ")]


@pytest.mark.parametrize(("damage", "missing"), KINDS)
async def test_records_missing_after_a_clean_stop_are_reported_and_their_offsets_not_reused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Damage, missing: range
) -> None:
    topic = await fill(tmp_path)
    directory = tmp_path / f"{topic.name}-0"
    damage(directory)
    caplog.clear()
    async with running_broker(tmp_path) as live:
        said = losses(caplog)
        assert len(said) == 1, "one line for the partition, before anybody has asked for it"
        assert f"Lost records in {topic.name}-0: offsets {missing[0]} to {missing[-1]} (" in said[0]
        assert str(directory / segment(missing[0] // 4 * 4)) in said[0]
        assert (
            f"penstock topic delete-records {topic.name} --partition 0 --before {missing[-1] + 1}" in said[0]
        )
        client = await live.connect()
        assert await found(client, topic, COUNT) == expected(missing, COUNT)
        assert (await client.produce(topic, batch(b"%d" % COUNT))).base_offset == COUNT
        assert await found(client, topic, COUNT + 1) == expected(missing, COUNT + 1)
        await client.close()
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        assert await found(client, topic, COUNT + 1) == expected(missing, COUNT + 1), "it is remembered"
        await client.close()


async def test_a_file_that_is_restored_from_a_backup_is_as_good_as_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topic = await fill(tmp_path)
    path = tmp_path / f"{topic.name}-0" / segment(8)
    backup = path.read_bytes()
    path.unlink()
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        await client.produce(topic, batch(b"%d" % COUNT))
        await client.close()
    path.write_bytes(backup)
    caplog.clear()
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        assert await found(client, topic, COUNT + 1) == expected(range(0), COUNT + 1)
        await client.close()
    assert losses(caplog) == []


async def test_readers_continue_after_records_whose_loss_was_accepted(tmp_path: Path) -> None:
    topic = await fill(tmp_path)
    (tmp_path / f"{topic.name}-0" / segment(4)).unlink()
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        wanted = [DeleteRecordsPartition(partition_index=0, offset=8)]
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name=topic.name, partitions=wanted)], timeout_ms=1000
        )
        answer = await client.send(request)
        assert answer.topics[0].partitions[0].low_watermark == 8
        assert values_in(await client.fetch(topic, 8)) == [b"8", b"9"]
        await client.close()


async def test_a_directory_missing_after_a_crash_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topic = await fill(tmp_path)
    (tmp_path / ".kafka_cleanshutdown").unlink()
    shutil.rmtree(tmp_path / f"{topic.name}-0")
    caplog.clear()
    async with running_broker(tmp_path):
        pass
    errors = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert len(errors) == 1
    assert f"{topic.name}-0: the directory is missing, but held records up to offset 9" in errors[0]


async def test_a_recreated_topic_has_no_missing_records(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topic = await fill(tmp_path)
    shutil.rmtree(tmp_path / f"{topic.name}-0")
    async with running_broker(tmp_path) as live:
        caplog.clear()
        client = await live.connect()
        await client.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic.name)], timeout_ms=1000))
        again = await client.create_topic(name=topic.name)
        assert (await client.produce(again, batch(b"new"))).base_offset == 0
        await client.close()
    assert [r for r in caplog.records if r.levelno == logging.ERROR] == []


async def test_a_broker_that_lost_records_registers_as_one_that_may_lack_them(tmp_path: Path) -> None:
    """The leader epoch of all its partitions changes, by which consumers and followers find out (KIP-320)."""
    topic = await fill(tmp_path)
    (tmp_path / f"{topic.name}-0" / segment(8)).unlink()
    async with running_broker(tmp_path) as live:
        image = live.services.controller.image
        partition = image.partition(topic.name, 0)
        assert partition is not None
        assert (partition.leader, partition.leader_epoch) == (1, 1)
        assert image.brokers[1].epoch == live.services.access.broker_epoch


async def test_what_kafka_has_removed_after_a_start_that_crashed_is_not_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The crashed start had a list of the files. Kafka ran on the directory then, and crashed, too."""
    topic = await fill(tmp_path)
    (tmp_path / ".kafka_cleanshutdown").rename(tmp_path / ".unregistered-start")
    state = tmp_path / "__cluster_metadata-0" / "quorum-state"
    content = json.loads(state.read_text())
    state.write_text(json.dumps({**content, "clusterId": ""}))
    (tmp_path / f"{topic.name}-0" / segment(0)).unlink()
    (tmp_path / "log-start-offset-checkpoint").write_text(f"0\n1\n{topic.name} 0 4\n")
    caplog.clear()
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        assert values_in(await client.fetch(topic, 4))[0] == b"4"
        await client.close()
    assert losses(caplog) == []
