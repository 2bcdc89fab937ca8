"""Requests that arrive while the disk is busy are answered as at any other time."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.cluster.replica import Replica
from penstock.protocol.compression import Codec
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.protocol.messages.init_producer_id import InitProducerIdRequest
from penstock.protocol.messages.produce import (
    FLEXIBLE_FROM,
    PartitionProduceResponse,
)
from penstock.runtime.offload import InlineOffload, Then
from penstock.security.acl import AccessControlEntry, PermissionType
from penstock.security.operations import Operation
from penstock.security.principal import Principal
from penstock.security.resources import PatternType, ResourceType
from tests.server.guarded import guarded_broker
from tests.server.live import (
    PRODUCE_LATEST,
    Client,
    Live,
    TopicHandle,
    batch,
    code,
    produce_request,
    running_broker,
    until,
    values_in,
)


class BusyDisk(InlineOffload):
    """Syncs of all logs end when the test releases them."""

    def __init__(self, live: Live) -> None:
        flusher: Any = live.services.replicas.deps.flusher
        if flusher._ring is not None:
            flusher._ring.unwatch()
        self._held: list[tuple[Callable[[], object], Then]] | None = []
        for each in (flusher, flusher._journal):
            each._ring = None
            each._offload = self

    def call(self, work: Callable[[], object], then: Then) -> None:
        if self._held is None:
            super().call(work, then)
        else:
            self._held.append((work, then))

    def let_go(self) -> None:
        held, self._held = self._held or [], None
        for work, then in held:
            super().call(work, then)


@contextlib.contextmanager
def busy_disk(live: Live) -> Iterator[BusyDisk]:
    disk = BusyDisk(live)
    try:
        yield disk
    finally:
        disk.let_go()  # or a test that fails would never end


class Scene:
    """A topic with two records; the disk is still syncing the second."""

    client: Client
    topic: TopicHandle
    producer_id: int
    replica: Replica
    disk: BusyDisk
    first: "asyncio.Future[Any]"

    def send(
        self,
        records: bytes,
        acks: int = -1,
        *,
        version: int = PRODUCE_LATEST,
        client: Client | None = None,
    ) -> "asyncio.Future[Any]":
        request = produce_request(self.topic, {0: records}, acks=acks, version=version)
        return (client or self.client).send(request, version)

    async def end_offset_is(self, offset: int) -> None:
        await until(lambda: self.replica.log.log_end_offset == offset)


@contextlib.asynccontextmanager
async def scene_on(live: Live, configs: dict[str, str] | None = None) -> AsyncIterator[Scene]:
    scene = Scene()
    scene.client = await live.connect()
    scene.topic = await scene.client.create_topic(configs=configs)
    granted = await scene.client.send(InitProducerIdRequest(transactional_id=None))
    scene.producer_id = granted.producer_id
    await scene.client.produce(scene.topic, batch(b"0"))
    replica = live.services.replicas.get(scene.topic.name, 0)
    assert replica is not None
    scene.replica = replica
    with busy_disk(live) as scene.disk:
        scene.first = scene.send(batch(b"1"))
        await until(lambda: replica.log.is_journaling)
        yield scene


async def answer_to(sent: "asyncio.Future[Any]") -> PartitionProduceResponse:
    response: PartitionProduceResponse = (await sent).responses[0].partition_responses[0]
    return response


async def test_with_acks_0_there_is_no_response(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live, scene_on(live) as scene:
        scene.client.tell(produce_request(scene.topic, {0: batch(b"2")}, acks=0))
        last = scene.send(batch(b"3"))
        await scene.end_offset_is(4)
        scene.disk.let_go()
        assert [(await answer_to(each)).base_offset for each in (scene.first, last)] == [1, 3]
        assert values_in(await scene.client.fetch(scene.topic)) == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize(
    ("records", "acks", "expected"),
    [
        (
            batch(b"t", producer_id=5, epoch=0, sequence=0, is_transactional=True),
            -1,
            "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        ),
        (batch(b"a"), 7, "INVALID_REQUIRED_ACKS"),
        (batch(b"a")[:-1], -1, "INVALID_RECORD"),
        (batch(b"a")[:20], -1, "INVALID_RECORD"),
        (b"", -1, "INVALID_RECORD"),
    ],
    ids=["of no transaction", "acks that do not exist", "cut short", "cut in its header", "nothing"],
)
async def test_invalid_batches_are_refused(tmp_path: Path, records: bytes, acks: int, expected: str) -> None:
    async with running_broker(tmp_path) as live, scene_on(live) as scene:
        bad = [scene.send(records, acks), scene.send(records, acks)]  # the second begins as the first
        good = scene.send(batch(b"2"))
        await scene.end_offset_is(3)
        scene.disk.let_go()
        for each in bad:
            assert code((await answer_to(each)).error_code) == expected
        assert (await answer_to(good)).base_offset == 2


@pytest.mark.parametrize("version", range(FLEXIBLE_FROM, PRODUCE_LATEST + 1))
@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
async def test_a_busy_disk_changes_neither_responses_nor_metrics(
    tmp_path: Path, version: int, kind: str
) -> None:
    settings = {"message.timestamp.type": kind}
    async with running_broker(tmp_path) as live, scene_on(live, settings) as scene:
        counts = live.services.metrics.requests.of("Produce")

        before = counts.seconds.count
        while_busy = [scene.send(batch(value), version=version) for value in (b"2", b"3")]
        await scene.end_offset_is(4)
        assert not any(each.done() for each in while_busy)
        scene.disk.let_go()
        await scene.first
        answers = [await each for each in while_busy]
        answers += [await scene.send(batch(value), version=version) for value in (b"2", b"3")]
        partitions = [answer.responses[0].partition_responses[0] for answer in answers]
        assert [each.base_offset for each in partitions] == [2, 3, 4, 5]
        assert all((each.log_append_time_ms > 0) == (kind == "LogAppendTime") for each in partitions)
        first, *others = [
            msgspec.structs.replace(each, base_offset=0, log_append_time_ms=0) for each in partitions
        ]
        assert all(each == first for each in others)
        assert len({(each.responses[0].name, each.responses[0].topic_id) for each in answers}) == 1
        assert counts.seconds.count - before == len([scene.first, *answers])


async def test_a_deleted_topic_is_unknown_to_the_next_request(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live, scene_on(live) as scene:
        scene.disk.let_go()
        await scene.first
        await scene.client.send(DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=scene.topic.id)]))
        assert code((await answer_to(scene.send(batch(b"2")))).error_code) == "UNKNOWN_TOPIC_ID"


async def test_a_revoked_permission_applies_to_the_next_request(tmp_path: Path) -> None:
    async with guarded_broker(tmp_path) as guarded:
        live, topic, somebody = guarded.live, await guarded.create_topic(), Principal("somebody")
        entry = AccessControlEntry(
            resource_type=ResourceType.TOPIC,
            resource_name=topic.name,
            pattern_type=PatternType.LITERAL,
            principal=str(somebody),
            host="*",
            operation=Operation.WRITE,
            permission_type=PermissionType.ALLOW,
        )
        await guarded.allow(entry)
        await guarded.admin.send(produce_request(topic, {0: batch(b"0")}))
        writer = guarded.caller(somebody)
        with busy_disk(live):
            sent = [
                asyncio.ensure_future(writer.send(produce_request(topic, {0: batch(b"x")}))) for _ in range(2)
            ]
            await asyncio.sleep(0)
        assert [(await answer_to(each)).base_offset for each in sent] == [1, 2]
        await guarded.forget(somebody)
        with busy_disk(live):
            last = asyncio.ensure_future(guarded.admin.send(produce_request(topic, {0: batch(b"y")})))
            await asyncio.sleep(0)
            refused = await answer_to(
                asyncio.ensure_future(writer.send(produce_request(topic, {0: batch(b"z")})))
            )
            assert code(refused.error_code) == "TOPIC_AUTHORIZATION_FAILED"
        assert (await answer_to(last)).base_offset == 3


async def test_retries_and_sequence_gaps_are_detected(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live, scene_on(live) as scene:

        def of_producer(sequence: int) -> bytes:
            return batch(b"p", producer_id=scene.producer_id, epoch=0, sequence=sequence)

        sent = [scene.send(of_producer(sequence)) for sequence in (0, 1, 0, 5, 2)]
        await scene.end_offset_is(5)
        assert not sent[0].done()
        scene.disk.let_go()
        answers = [await answer_to(each) for each in sent]
        assert [(code(each.error_code), each.base_offset) for each in answers] == [
            ("NONE", 2),
            ("NONE", 3),
            ("NONE", 2),
            ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1),
            ("NONE", 4),
        ]
        assert answers[3].log_start_offset == 0, "as a refusal tells it at any other time"


async def test_changed_settings_apply_to_the_next_request(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live, scene_on(live) as scene:
        log = scene.replica.log
        log.configure(msgspec.structs.replace(log.config, max_message_bytes=80))
        bad, good = scene.send(batch(b"x" * 100)), scene.send(batch(b"2"))
        await scene.end_offset_is(3)
        scene.disk.let_go()
        assert code((await answer_to(bad)).error_code) == "MESSAGE_TOO_LARGE"
        assert (await answer_to(good)).base_offset == 2


async def test_metrics_count_the_bytes_that_clients_sent_and_not_the_recompressed_ones(
    tmp_path: Path,
) -> None:
    async with running_broker(tmp_path) as live, scene_on(live, {"compression.type": "gzip"}) as scene:
        before = scene.replica.bytes_in
        records = batch(*[b"x" * 100] * 100)
        sent = scene.send(records)
        await scene.end_offset_is(102)
        scene.disk.let_go()
        await sent
        assert scene.replica.bytes_in - before == len(records)


async def test_a_small_batch_that_decompresses_to_many_bytes_is_stored_in_order(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live, scene_on(live, {"max.message.bytes": "10000000"}) as scene:
        large = scene.send(batch(bytes(3_000_000), codec=Codec.GZIP))
        last = scene.send(batch(b"3"))
        await scene.end_offset_is(3)  # nothing of its client overtakes it
        scene.disk.let_go()
        assert [(await answer_to(each)).base_offset for each in (scene.first, large, last)] == [1, 2, 3]


async def test_every_request_is_in_the_debug_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic()
        caplog.set_level(logging.DEBUG, "penstock.server.dispatch.dispatcher")
        for _ in range(3):
            await client.produce(topic, batch(b"x"))
        with busy_disk(live):
            sent = [client.send(produce_request(topic, {0: batch(b"x")})) for _ in range(3)]
            await until(lambda: sum("Produce" in record.getMessage() for record in caplog.records) == 6)
        await asyncio.gather(*sent)
