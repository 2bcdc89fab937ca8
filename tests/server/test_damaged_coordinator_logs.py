"""Damage in the log of a coordinator: all that is intact is served, the rest is reported in one line."""

import asyncio
from pathlib import Path

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
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
from penstock.protocol.records.batch import HEADER_SIZE, iter_batches
from tests.server.live import Client, Live, TopicHandle, one, running_broker, values_in, within
from tests.transactions.live_producer import READ_COMMITTED, LiveProducer

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "20",
    "penstock.log.scrub.interval.ms": "0",
}
IN_CONTENT, IN_LENGTH, IN_MAGIC, IN_OFFSET = HEADER_SIZE + 4, 11, 16, 6


def flip(directory: Path, partition: str, text: bytes, place: int = IN_CONTENT) -> int:
    """A bit of the last batch that holds this text; gives its position."""
    segment = directory / partition / f"{0:020d}.log"
    content = segment.read_bytes()
    found = content.rindex(text)
    position = max(at for at, _ in iter_batches(content) if at < found)
    with segment.open("r+b") as file:
        file.seek(position + place)
        file.write(bytes([content[position + place] ^ 0x01]))
    return position


def lines(caplog: pytest.LogCaptureFixture, name: str) -> list[str]:
    """The errors of coordinators. No line may bring a traceback."""
    assert not [each for each in caplog.records if each.exc_info]
    return [each.getMessage() for each in caplog.records if each.levelname == "ERROR" and name in each.name]


async def commit(client: Client, group: str, topic: TopicHandle, offset: int) -> None:
    await client.send(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]))
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    named = OffsetCommitRequestTopic(topic_id=topic.id, partitions=[partition])
    while True:
        answer = await client.send(OffsetCommitRequest(group_id=group, topics=[named]))
        if one(one(answer.topics).partitions).error_code == 0:
            return
        await asyncio.sleep(0.01)


async def committed(client: Client, group: str, topic: TopicHandle) -> int:
    """Once the coordinator has loaded its partition."""
    wanted = OffsetFetchRequestTopics(topic_id=topic.id, partition_indexes=[0])
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=[wanted])])
    while (found := one((await client.send(request)).groups)).error_code:
        await asyncio.sleep(0.01)
    return int(one(one(found.topics).partitions).committed_offset)


@pytest.mark.parametrize("place", [IN_CONTENT, IN_LENGTH, IN_MAGIC, IN_OFFSET])
async def test_groups_whose_commits_are_intact_have_a_coordinator(
    tmp_path: Path, place: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()
        topic = await client.create_topic()
        for offset in (3, 5):
            for group in ("group-a", "group-b", "group-c"):
                await commit(client, group, topic, offset)
    position = flip(tmp_path, "__consumer_offsets-0", b"group-b", place)
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()

        async def check() -> None:
            assert await committed(client, "group-a", topic) == 5
            assert await committed(client, "group-c", topic) == 5
            assert await committed(client, "group-b", topic) == 3, "an older commit: records are read again"
            await commit(client, "group-b", topic, 7)
            assert await committed(client, "group-b", topic) == 7

        await within(20, check())
        (line,) = lines(caplog, "coordination")
        path = tmp_path / "__consumer_offsets-0" / f"{0:020d}.log"
        assert line.startswith(
            f"Loaded __consumer_offsets-0 without damaged records: offsets 4 to 4 (byte {position} of {path})"
        )
        assert "`penstock group reset`" in line
    async with running_broker(tmp_path, SETTINGS) as live:
        assert await committed(await live.connect(), "group-b", topic) == 7


async def test_offsets_of_a_transaction_whose_end_is_damaged_are_not_committed(tmp_path: Path) -> None:
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()
        topic = await client.create_topic()
        await commit(client, "group-a", topic, 3)
        producer = LiveProducer(client, "payments", is_v2=False)
        assert await producer.init() is ErrorCode.NONE
        assert await producer.add_offsets("group-a") is ErrorCode.NONE
        assert await producer.commit_offset("group-a", topic, 9) is ErrorCode.NONE
        assert await producer.end(commit=False) is ErrorCode.NONE
        await commit(client, "group-b", topic, 5)
        path = tmp_path / "__consumer_offsets-0" / f"{0:020d}.log"
    positions = [at for at, header in iter_batches(path.read_bytes()) if header.is_control]
    with path.open("r+b") as file:
        file.seek(positions[-1] + HEADER_SIZE + 2)
        file.write(b"\xff")
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()
        assert await committed(client, "group-a", topic) == 3
        assert await committed(client, "group-b", topic) == 5
        again = LiveProducer(client, "payments", is_v2=False)
        assert await again.init() is ErrorCode.NONE
        other = await client.create_topic()
        assert await again.add_offsets("group-a") is ErrorCode.NONE
        assert await again.commit_offset("group-a", other, 1) is ErrorCode.NONE
        assert await again.end(commit=True) is ErrorCode.NONE
        assert await committed(client, "group-a", other) == 1
        assert await committed(client, "group-a", topic) == 3, "a later commit is not one of what was aborted"


async def begun(live: Live, name: str, timeout_ms: int = 60_000) -> tuple[LiveProducer, TopicHandle]:
    """A producer in the middle of a transaction, with a topic of its own."""
    client = await live.connect()
    topic = await client.create_topic()
    producer = LiveProducer(client, name)
    assert await producer.init(timeout_ms=timeout_ms) is ErrorCode.NONE
    await producer.write(topic, name.encode())
    return producer, topic


async def until_last_stable(client: Client, topic: TopicHandle, offset: int) -> None:
    while (await client.fetch(topic, isolation_level=READ_COMMITTED)).last_stable_offset != offset:
        await asyncio.sleep(0.01)


async def test_a_transactional_id_whose_state_is_unknown_neither_commits_nor_aborts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_broker(tmp_path, SETTINGS) as live:
        early, of_early = await begun(live, "early", timeout_ms=1_500)
        lost = LiveProducer(await live.connect(), "lost")
        assert await lost.init() is ErrorCode.NONE
        late, of_late = await begun(live, "late")
        _, of_slow = await begun(live, "slow", timeout_ms=1_500)
    flip(tmp_path, "__transaction_state-0", b"lost")
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()
        early.client = late.client = client

        async def commit_late() -> None:
            while (answer := await late.end(commit=True)) is not ErrorCode.NONE:
                assert answer in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
                await asyncio.sleep(0.01)
            await until_last_stable(client, of_late, 2)

        await within(20, commit_late())
        assert values_in(await client.fetch(of_late, isolation_level=READ_COMMITTED))[:1] == [b"late"]
        await within(20, until_last_stable(client, of_slow, 2))  # it timed out, as the early one would have

        assert await early.end(commit=True) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
        answer = await client.fetch(of_early, isolation_level=READ_COMMITTED)
        assert (answer.last_stable_offset, answer.high_watermark) == (0, 1), "it is open as before"
        before = early.producer_id
        assert await early.init() is ErrorCode.NONE
        assert early.producer_id != before
        (line,) = lines(caplog, "coordination")
        assert line.startswith("Loaded __transaction_state-0 without damaged records: offsets ")
        assert "(open before: early)" in line
        assert "`penstock txn abort`" in line
