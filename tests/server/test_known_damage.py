"""Damaged records that were found stay known across restarts: they are not served, and they are reported."""

import asyncio
import contextlib
import itertools
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from penstock.client.damage import NAME
from penstock.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from penstock.protocol.records.batch import HEADER_SIZE, iter_batches
from tests.gateway.http.admin import admin_of
from tests.server.live import Client, Live, TopicHandle, batch, code, one, running_broker, values_in, within

SCRUBBING = {"penstock.log.scrub.interval.ms": "50"}
NOT_SCRUBBING = {"penstock.log.scrub.interval.ms": "0"}
TOPIC = "orders"
BAD = 2
COUNT = 5


@contextlib.asynccontextmanager
async def admin_port(live: Live) -> AsyncIterator[Callable[[str], Awaitable[tuple[int, Any]]]]:
    async with admin_of(live.broker) as url, aiohttp.ClientSession(url) as http:

        async def get(path: str) -> tuple[int, Any]:
            async with http.get(path) as answer:
                is_json = "json" in answer.headers["Content-Type"]
                return answer.status, await answer.json(content_type=None) if is_json else await answer.text()

        yield get


def segment(directory: Path) -> Path:
    return directory / f"{TOPIC}-0" / f"{0:020d}.log"


def flip(directory: Path) -> None:
    """A bit in the value of the record at `BAD`; once more, it is whole again."""
    content = segment(directory).read_bytes()
    position = next(itertools.islice(iter_batches(content), BAD, None))[0] + HEADER_SIZE + 8
    with segment(directory).open("r+b") as file:
        file.seek(position)
        file.write(bytes([content[position] ^ 0x01]))


async def known(live: Live) -> None:
    while not live.services.replicas.damage:
        await asyncio.sleep(0.01)


async def served(client: Client, topic: TopicHandle, offset: int) -> tuple[str, list[bytes | None]]:
    answer = await client.fetch(topic, offset, partition_max_bytes=1)
    return code(answer.error_code), values_in(answer) if answer.records else []


@contextlib.asynccontextmanager
async def damaged(directory: Path) -> AsyncIterator[tuple[Live, Client, TopicHandle]]:
    """A broker that has found a record of its topic to be damaged."""
    async with running_broker(directory, SCRUBBING) as live:
        client = await live.connect()
        topic = await client.create_topic(name=TOPIC)
        for number in range(COUNT):
            await client.produce(topic, batch(b"value-%d" % number))
        flip(directory)
        await within(20, known(live))
        yield live, client, topic


async def check_shown(live: Live, directory: Path) -> None:
    async with admin_port(live) as get:
        status, body = await get("/readyz")
        assert (status, body["status"]) == (200, "degraded")
        assert one(body["reasons"]).startswith(
            "records of 1 partition(s) are damaged on its disk and not served"
        )
        assert not [each for each in (str(directory), "orders") if each in str(body)]
        _, metrics = await get("/metrics")
        assert "\npenstock_partitions_damaged 1\n" in metrics
        assert '\npenstock_partition_damaged_offsets{topic="orders",partition="0"} 1\n' in metrics
        _, shown = await get("/console/api/troubles")
        assert one(shown["troubles"]).startswith(
            "orders-0 has damaged records on the disk of broker 1 (offsets 2)"
        )


async def test_a_damaged_record_is_known_and_not_served_after_a_restart(tmp_path: Path) -> None:
    async with damaged(tmp_path) as (live, client, topic):
        assert await served(client, topic, BAD) == ("CORRUPT_MESSAGE", [])
        await check_shown(live, tmp_path)
    async with running_broker(tmp_path, NOT_SCRUBBING) as live:
        await check_shown(live, tmp_path)
        client = await live.connect()
        assert await served(client, topic, BAD) == ("CORRUPT_MESSAGE", [])
        assert await served(client, topic, BAD + 1) == ("NONE", [b"value-3"])
        await check_shown(live, tmp_path)


async def test_damage_found_by_recovery_is_known_after_the_next_restart(tmp_path: Path) -> None:
    async with damaged(tmp_path) as (_, _, topic):
        pass
    (tmp_path / ".kafka_cleanshutdown").unlink()
    (tmp_path / "damage-checkpoint").unlink()
    async with running_broker(tmp_path, SCRUBBING) as live:
        await within(20, known(live))
    async with running_broker(tmp_path, NOT_SCRUBBING) as live:
        assert await served(await live.connect(), topic, BAD) == ("CORRUPT_MESSAGE", [])


async def test_a_record_that_was_restored_from_a_backup_is_served_again(tmp_path: Path) -> None:
    async with damaged(tmp_path) as (_, _, topic):
        pass
    flip(tmp_path)
    async with running_broker(tmp_path, NOT_SCRUBBING) as live:
        client = await live.connect()

        async def until_served() -> None:
            while await served(client, topic, BAD) != ("NONE", [b"value-2"]):
                await asyncio.sleep(0.01)

        await within(20, until_served())
        assert not live.services.replicas.damage
    assert (tmp_path / "damage-checkpoint").read_text() == "0\n0\n"


@pytest.mark.parametrize("how", ["topic", "records"])
async def test_damage_is_removed_with_its_records(tmp_path: Path, how: str) -> None:
    async with damaged(tmp_path) as (live, client, topic):
        if how == "topic":
            gone = DeleteTopicState(topic_id=topic.id)
            await client.send(DeleteTopicsRequest(topics=[gone], timeout_ms=5000))
        else:
            partition = DeleteRecordsPartition(partition_index=0, offset=BAD + 1)
            wanted = DeleteRecordsTopic(name=TOPIC, partitions=[partition])
            await client.send(DeleteRecordsRequest(topics=[wanted], timeout_ms=5000))

        async def until_forgotten() -> None:
            while live.services.replicas.damage:
                await asyncio.sleep(0.01)

        await within(20, until_forgotten())
        async with admin_port(live) as get:
            assert await get("/readyz") == (200, {"status": "ready"})
    async with running_broker(tmp_path, NOT_SCRUBBING) as live:
        assert not live.services.replicas.damage


async def test_a_damaged_file_of_known_damage_does_not_prevent_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with damaged(tmp_path) as (_, _, topic):
        pass
    path = tmp_path / "damage-checkpoint"
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"\xff\xfe\n" + path.read_bytes())
    with caplog.at_level(logging.WARNING):
        async with running_broker(tmp_path, SCRUBBING) as live:
            await within(20, known(live))
            assert await served(await live.connect(), topic, BAD) == ("CORRUPT_MESSAGE", [])
    assert [each for each in caplog.messages if each.startswith("Ignored ") and "damage-checkpoint" in each]


async def test_damage_is_described_when_requested_by_name(tmp_path: Path) -> None:
    async with damaged(tmp_path) as (_, client, _):
        wanted = DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=[NAME])
        (config,) = one((await client.send(DescribeConfigsRequest(resources=[wanted]))).results).configs
        assert json.loads(config.value) == [
            {"topic": "orders", "partition": 0, "rangeCount": 1, "ranges": [[2, 2]]}
        ]
        assert config.read_only
        everything = DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=None)
        listed = one((await client.send(DescribeConfigsRequest(resources=[everything]))).results).configs
        assert NAME not in [each.name for each in listed]
