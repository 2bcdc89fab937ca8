"""A producer fills the disk of a broker: it is reported everywhere at once, and only writes are refused."""

import asyncio
import contextlib
import errno
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

from penstock.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from penstock.storage.directory.disk_space import DiskState
from penstock_simulation.disk import FaultyDisk
from tests.gateway.http.admin import admin_of
from tests.server.live import Client, Live, TopicHandle, batch, code, one, records_in, running_broker, within

SIZE = 24_000_000
RESERVE = SIZE // 20
SETTINGS = {"offsets.topic.num.partitions": "1", "log.retention.check.interval.ms": "100"}
DATA = Path("/data")


@contextlib.contextmanager
def small_disk() -> Iterator[FaultyDisk]:
    yield FaultyDisk(Random(1), capacity_bytes=SIZE)


@contextlib.asynccontextmanager
async def admin_port(live: Live) -> AsyncIterator[Callable[[str], Awaitable[tuple[int, Any]]]]:
    async with admin_of(live.broker) as url, aiohttp.ClientSession(url) as http:

        async def get(path: str) -> tuple[int, Any]:
            async with http.get(path) as answer:
                is_json = "json" in answer.headers["Content-Type"]
                return answer.status, await answer.json(content_type=None) if is_json else await answer.text()

        yield get


async def fill(client: Client, topic: TopicHandle) -> tuple[str, str]:
    """Produce until the broker refuses; gives the error and its message."""
    for _ in range(SIZE):
        answer = await client.produce(topic, batch(b"v" * 50_000))
        if answer.error_code:
            return code(answer.error_code), answer.error_message or ""
    raise AssertionError("the disk is never full")


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


async def commit(client: Client, topic: TopicHandle, offset: int) -> int:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    named = OffsetCommitRequestTopic(topic_id=topic.id, partitions=[partition])
    response = await client.send(OffsetCommitRequest(group_id="g", topics=[named]))
    return int(one(one(response.topics).partitions).error_code)


async def committed(client: Client, topic: TopicHandle) -> int:
    """Once the coordinator has loaded its partition, which it does after a start."""
    wanted = OffsetFetchRequestTopics(topic_id=topic.id, partition_indexes=[0])
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=[wanted])])
    while (group := one((await client.send(request)).groups)).error_code:
        await asyncio.sleep(0.01)
    return int(one(one(group.topics).partitions).committed_offset)


def lines(log: pytest.LogCaptureFixture, level: str) -> list[str]:
    return [each.getMessage() for each in log.records if each.levelname == level and "disk" in each.name]


async def test_a_full_disk_is_reported_and_refuses_only_records(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with small_disk() as disk:
        async with running_broker(DATA, SETTINGS, files=disk) as live, admin_port(live) as get:
            client = await live.connect()
            topic = await client.create_topic()
            assert await get("/readyz") == (200, {"status": "ready"})
            error, message = await fill(client, topic)
            assert error == "KAFKA_STORAGE_ERROR"
            assert message.startswith(f"cannot write to {topic.name}-0: the disk of the broker is full")
            assert disk.usage("/data").free_bytes > RESERVE // 2, "the reserve is still there"

            space = live.services.replicas.disk
            assert space.state is DiskState.FULL
            status, body = await get("/readyz")
            assert (status, body["status"]) == (200, "degraded")
            assert one(body["reasons"]).startswith("its disk is full (")
            assert str(DATA) not in str(body)
            _, metrics = await get("/metrics")
            assert 'penstock_log_dir_state{directory="/data"} 1' in metrics
            assert f'penstock_log_dir_total_bytes{{directory="/data"}} {SIZE}' in metrics
            await within(5, until(lambda: len(lines(caplog, "ERROR")) == 1))
            assert lines(caplog, "ERROR")[0].startswith("Disk full: /data has ")

            await within(5, _until_shown(get))

            assert records_in(await client.fetch(topic))
            await within(5, _until_committed(client, topic))
            assert await committed(client, topic) == 7
        assert disk.exists("/data/.kafka_cleanshutdown"), "the stop was a clean one"
        async with running_broker(DATA, SETTINGS, files=disk) as live:
            client = await live.connect()
            assert await committed(client, topic) == 7
            assert (await fill(client, topic))[0] == "KAFKA_STORAGE_ERROR"


async def _until_shown(get: Callable[[str], Awaitable[tuple[int, Any]]]) -> None:
    """The console leaves a broker out that does not answer in time."""
    while not (shown := (await get("/console/api/troubles"))[1]["troubles"]):
        await asyncio.sleep(0.01)
    assert one(shown).startswith("The disk of broker 1 is ")


async def _until_committed(client: Client, topic: TopicHandle) -> None:
    """Asking for the coordinator makes the topic of the offsets, which takes room too."""
    await client.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
    while await commit(client, topic, 7):
        await asyncio.sleep(0.01)


async def test_deleting_a_topic_frees_a_full_disk_without_a_restart(caplog: pytest.LogCaptureFixture) -> None:
    with small_disk() as disk:
        async with running_broker(DATA, SETTINGS, files=disk) as live, admin_port(live) as get:
            client = await live.connect()
            topic, other = await client.create_topic(), await client.create_topic()
            await fill(client, topic)
            await client.send(
                DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=topic.id)], timeout_ms=5000)
            )
            space = live.services.replicas.disk
            await within(20, until(lambda: space.state is DiskState.OK))
            assert (await client.produce(other, batch(b"v"))).error_code == 0
            assert await get("/readyz") == (200, {"status": "ready"})
            assert await get("/console/api/troubles") == (200, {"troubles": []})
            await within(5, until(lambda: len(lines(caplog, "WARNING")) == 1))
            assert lines(caplog, "WARNING")[0].startswith("Disk space recovered on /data; writes resumed: ")


async def test_a_shorter_retention_frees_a_full_disk_without_a_restart() -> None:
    with small_disk() as disk:
        async with running_broker(DATA, SETTINGS, files=disk) as live:
            client = await live.connect()
            topic = await client.create_topic(configs={"segment.bytes": "2000000"})
            await fill(client, topic)
            await _set(client, 2, topic.name, "retention.bytes", "4000000")
            space = live.services.replicas.disk
            await within(20, until(lambda: space.state is DiskState.OK))
            assert (await client.produce(topic, batch(b"v"))).error_code == 0


async def _set(client: Client, kind: int, resource: str, name: str, value: str) -> None:
    config = AlterableConfig(name=name, config_operation=0, value=value)
    changed = AlterConfigsResource(resource_type=kind, resource_name=resource, configs=[config])
    response = await client.send(IncrementalAlterConfigsRequest(resources=[changed]))
    assert one(response.responses).error_code == 0


async def test_the_reserve_can_be_changed_while_the_broker_runs() -> None:
    with small_disk() as disk:
        async with running_broker(DATA, SETTINGS, files=disk) as live:
            client = await live.connect()
            topic = await client.create_topic()
            space = live.services.replicas.disk
            await _set(client, 4, "1", "penstock.disk.reserve.bytes", str(SIZE))
            await within(5, until(lambda: space.state is DiskState.FULL))
            assert (await client.produce(topic, batch(b"v"))).error_code == 56
            await _set(client, 4, "1", "penstock.disk.reserve.bytes", "0")
            await within(20, until(lambda: space.state is DiskState.OK))
            await fill(client, topic)
            assert disk.usage("/data").free_bytes < RESERVE, "the disk itself refuses"
            assert space.state is DiskState.FULL


async def test_a_batch_larger_than_the_free_space_is_refused_and_smaller_ones_are_stored() -> None:
    with small_disk() as disk:
        async with running_broker(DATA, SETTINGS, files=disk) as live:
            client = await live.connect()
            topic = await client.create_topic(configs={"max.message.bytes": "20000000"})
            await _set(client, 4, "1", "penstock.disk.reserve.bytes", "10000000")
            space = live.services.replicas.disk
            await within(5, until(lambda: space.reserve_bytes == 10_000_000))
            assert (await client.produce(topic, batch(b"v" * 15_000_000))).error_code == 56
            await within(5, until(lambda: space.room_bytes > 0))
            assert (await client.produce(topic, batch(b"v"))).error_code == 0


async def test_a_failed_disk_makes_the_broker_unready(caplog: pytest.LogCaptureFixture) -> None:
    disk = FaultyDisk(Random(1))
    async with running_broker(DATA, SETTINGS, files=disk) as live, admin_port(live) as get:
        client = await live.connect()
        topic = await client.create_topic()
        await client.produce(topic, batch(b"v"))
        fault = disk.fail("write", topic.name, error=errno.EIO)
        answer = await client.produce(topic, batch(b"v"))
        assert code(answer.error_code) == "KAFKA_STORAGE_ERROR"
        assert "/data" not in (answer.error_message or "")
        status, problem = await get("/readyz")
        assert (status, "disk has failed" in problem["detail"]) == (503, True)
        _, metrics = await get("/metrics")
        assert 'penstock_log_dir_state{directory="/data"} 2' in metrics
        await within(5, until(lambda: len(lines(caplog, "ERROR")) == 1))
        assert lines(caplog, "ERROR")[0].startswith("Disk of /data failed (")
        disk.heal(fault)


async def test_no_response_of_a_broker_with_a_failing_disk_contains_a_path() -> None:
    """Of the metadata log, too."""
    disk = FaultyDisk(Random(1))
    async with running_broker(DATA, SETTINGS, files=disk) as live:
        client = await live.connect()
        topic = await client.create_topic()
        await client.produce(topic, batch(b"v"))
        disk.set_capacity(0)
        produced = await client.produce(topic, batch(b"v" * 200_000))
        deleted = await client.send(
            DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=topic.id)], timeout_ms=5000)
        )
        user = ScramCredentialUpsertion(
            name="u", mechanism=1, iterations=4096, salt=b"s", salted_password=b"p"
        )
        altered = await client.send(AlterUserScramCredentialsRequest(upsertions=[user]))
        answers = [produced, one(deleted.responses), one(altered.results)]
        assert [code(each.error_code) for each in answers] == ["KAFKA_STORAGE_ERROR"] * 3
        for each in answers:
            assert each.error_message == (
                "the disk of the broker refused the operation (No space left on device); nothing was stored"
            )
        disk.set_capacity(None)
