"""A transaction has one outcome everywhere, whenever the power fails: data in two topics and an offset, or none.

A producer commits and aborts in turn on a broker with a disk in memory. Before each sync a snapshot of the disk is
taken, with the responses that the producer had got by then. Each snapshot then loses what a power cut may lose, and a
broker is started on the rest: acknowledged outcomes must hold, others must be one or the other, and nothing may hang.
"""

import asyncio
import itertools
import os
from pathlib import Path
from random import Random

import msgspec
import pytest

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from penstock.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.record import iter_records
from penstock.transactions.state import Transaction
from penstock_simulation.disk import FaultyDisk, Keep
from tests.server.live import Client, Live, TopicHandle, one, running_broker, until
from tests.transactions.crashes import Recorder
from tests.transactions.live_producer import READ_COMMITTED, LiveProducer

SETTINGS = {
    "transaction.state.log.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "log.cleaner.enable": "false",
}
TOPICS = ("debits", "credits")
GROUP = "the-group"
ID = "the-producer"
ENDS = (True, False, True)  # commit, abort, commit


class Known(msgspec.Struct, frozen=True):
    """The transactions that the producer asked to end, and those whose end was acknowledged."""

    asked: tuple[int, ...] = ()
    answered: tuple[int, ...] = ()


async def record(is_v2: bool, seed: int) -> Recorder[Known]:
    disk = FaultyDisk(Random(seed))
    known = [Known()]
    async with running_broker(Path("/data"), SETTINGS, files=disk) as live:
        client = await live.connect()
        topics = [await client.create_topic(name=name) for name in TOPICS]
        await client.send(FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]))
        producer = LiveProducer(client, ID, is_v2=is_v2)
        recorder = Recorder(disk, seed, lambda: known[0])
        assert await producer.init() is ErrorCode.NONE
        for number, commit in enumerate(ENDS):
            for topic in topics:
                await producer.write(topic, b"%d" % number)
            if not is_v2:
                assert await producer.add_offsets(GROUP) is ErrorCode.NONE
            assert await producer.commit_offset(GROUP, topics[0], number + 1) is ErrorCode.NONE
            known[0] = Known((*known[0].asked, number), known[0].answered)
            assert await producer.end(commit=commit) is ErrorCode.NONE
            known[0] = Known(known[0].asked, (*known[0].answered, number))
            await until(lambda: at_rest(live))
        recorder.stop()
        await client.close()
    return recorder


def at_rest(live: Live) -> bool:
    transaction = live.services.transactions.get(ID)
    return isinstance(transaction, Transaction) and transaction.state.is_idle


async def recovered(live: Live) -> tuple[list[set[int]], int]:
    """Which transactions each topic shows, and the committed offset, once a new producer has taken over."""
    client = await live.connect()
    heir = LiveProducer(client, ID)
    while (code := await heir.init()) is not ErrorCode.NONE:
        assert code is ErrorCode.CONCURRENT_TRANSACTIONS
    shown = [await visible_in(client, await handle_of(client, name)) for name in TOPICS]
    offset = await committed_offset(client)
    await client.close()
    return shown, offset


async def handle_of(client: Client, name: str) -> TopicHandle:
    answer = await client.send(MetadataRequest(topics=[MetadataRequestTopic(name=name)]))
    return TopicHandle(name, one(answer.topics).topic_id)


async def visible_in(client: Client, topic: TopicHandle) -> set[int]:
    """The records of a read_committed consumer; none may be withheld."""
    found: set[int] = set()
    offset = 0
    while True:
        part = await client.fetch(topic, offset, isolation_level=READ_COMMITTED)
        assert part.last_stable_offset == part.high_watermark, "a transaction hangs"
        view = memoryview(bytes(part.records or b""))
        aborted = {(each.producer_id, each.first_offset) for each in part.aborted_transactions or ()}
        for position, header in iter_batches(view):
            offset = header.next_offset
            # Every transaction here is one batch, so its first offset tells.
            if not header.is_control and (header.producer_id, header.base_offset) not in aborted:
                records = iter_records(view[position : position + header.size_bytes])
                found |= {int(record.value or b"") for record in records}
        if offset >= part.high_watermark:
            return found


async def committed_offset(client: Client) -> int:
    await client.send(FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]))
    answer = await client.send(
        OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(
                    group_id=GROUP,
                    topics=[OffsetFetchRequestTopics(name=TOPICS[0], partition_indexes=[0])],
                )
            ],
            require_stable=True,
        ),
        9,
    )
    partition = one(one(one(answer.groups).topics).partitions)
    assert partition.error_code == 0, ErrorCode(partition.error_code).name
    offset: int = partition.committed_offset
    return offset


def check(known: Known, shown: list[set[int]], offset: int) -> None:
    debits, credited = shown
    assert debits == credited, "a transaction is visible in one topic only"
    assert offset == max(debits, default=-2) + 1, "the offset does not go with the records"
    committed = {number for number, commit in enumerate(ENDS) if commit}
    assert debits <= committed & set(known.asked), "what was aborted, or never ended, is visible"
    assert committed & set(known.answered) <= debits, "what was committed is lost"


@pytest.mark.parametrize("keep", [Keep.NOTHING, Keep.EVERYTHING, Keep.PREFIX])
@pytest.mark.parametrize("is_v2", [False, True], ids=["version-1", "version-2"])
def test_a_crash_before_any_sync_leaves_a_transaction_whole_or_undone(is_v2: bool, keep: Keep) -> None:
    seed = int(os.environ.get("CRASH_SEED", "7"))

    async def scenario() -> None:
        recorder = await record(is_v2, seed)
        assert len(recorder.moments) > 3 * len(ENDS)
        ways: set[tuple[int, ...]] = set()
        for number, moment in zip(itertools.count(), recorder.moments, strict=False):
            async with running_broker(Path("/data"), SETTINGS, files=moment.crash(keep)) as live:
                shown, offset = await recovered(live)
            try:
                check(moment.known, shown, offset)
            except AssertionError as error:
                raise AssertionError(
                    f"at sync {number}, of {moment.before}, CRASH_SEED={seed}: {error}"
                ) from error
            ways.add(tuple(sorted(shown[0])))
        assert {(), (0,)} <= ways, "some crashes came before a commit and some after"

    asyncio.run(scenario())
