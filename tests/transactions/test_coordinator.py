"""Transactions as a client sees them, in both versions of the protocol."""

import asyncio
import itertools
from collections.abc import Callable, Sequence

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.transactions.states import State
from tests.server.handlers.test_delete_records import delete as delete_records
from tests.server.live import Client, Live, TopicHandle, batch
from tests.transactions.live_producer import READ_COMMITTED, LiveProducer
from tests.transactions.live_transactions import (
    all_values,
    at_rest,
    committed_values,
    latest_offsets,
    transaction_of,
    visible,
)

_numbers = itertools.count()
BOTH = pytest.mark.parametrize("is_v2", [False, True], ids=["version-1", "version-2"])


def new_id() -> str:
    return f"app-{next(_numbers)}"


@pytest.fixture
def producer(client: Client) -> Callable[..., LiveProducer]:
    return lambda **options: LiveProducer(client, options.pop("id", None) or new_id(), **options)


# -- committing and aborting


@BOTH
async def test_a_committed_transaction_is_visible_in_all_its_partitions_and_an_aborted_one_in_none(
    live: Live, client: Client, producer: Callable[..., LiveProducer], is_v2: bool
) -> None:
    topic = await client.create_topic(partitions=3)
    mine = producer(is_v2=is_v2)
    assert await mine.init() is ErrorCode.NONE
    for number, commit in enumerate([True, False, True, False]):
        for partition in range(3):
            await mine.write(topic, b"%d-%d" % (number, partition), partition=partition)
        assert await mine.end(commit=commit) is ErrorCode.NONE
    await at_rest(live, mine)
    for partition in range(3):
        assert await committed_values(client, topic, partition) == [b"%d-%d" % (n, partition) for n in (0, 2)]
        assert await all_values(client, topic, partition) == [b"%d-%d" % (n, partition) for n in range(4)]


@BOTH
async def test_readers_of_committed_records_wait_for_an_open_transaction(
    live: Live, client: Client, producer: Callable[..., LiveProducer], is_v2: bool
) -> None:
    topic = await client.create_topic()
    mine = producer(is_v2=is_v2)
    await mine.init()
    now_ms = mine.clock.now_ms()
    await client.produce(topic, batch(b"before", timestamp=now_ms))
    await mine.write(topic, b"in")
    await client.produce(topic, batch(b"behind", timestamp=now_ms))
    part = await client.fetch(topic, isolation_level=READ_COMMITTED)
    assert (part.high_watermark, part.last_stable_offset) == (3, 1)
    assert visible(part) == [b"before"]
    assert await latest_offsets(client, topic) == (3, 1)
    await mine.end(commit=True)
    await at_rest(live, mine)
    assert await committed_values(client, topic) == [b"before", b"in", b"behind"]
    assert await latest_offsets(client, topic) == (4, 4)


async def test_the_end_for_readers_of_committed_records_is_not_below_the_log_start(
    live: Live, client: Client, producer: Callable[..., LiveProducer]
) -> None:
    """An open transaction begins among records that an administrator deletes."""
    topic = await client.create_topic()
    mine = producer()
    await mine.init()
    for number in range(6):
        await mine.write(topic, b"%d" % number)
    assert (await delete_records(client, topic.name, 5)).low_watermark == 5
    assert await latest_offsets(client, topic) == (6, 5)
    part = await client.fetch(topic, 5, isolation_level=READ_COMMITTED)
    assert (ErrorCode(part.error_code), part.last_stable_offset, visible(part)) == (ErrorCode.NONE, 5, [])
    await mine.end(commit=True)
    await at_rest(live, mine)
    assert visible(await client.fetch(topic, 5, isolation_level=READ_COMMITTED)) == [b"5"]


async def test_a_long_poll_for_committed_records_ends_when_the_marker_comes(
    live: Live, producer: Callable[..., LiveProducer], client: Client
) -> None:
    topic = await client.create_topic()
    mine = producer()
    await mine.init()
    await mine.write(topic, b"late")
    reader = await live.connect()
    try:
        poll = asyncio.ensure_future(reader.fetch(topic, max_wait_ms=20_000, isolation_level=READ_COMMITTED))
        await mine.end(commit=True)
        assert visible(await poll) == [b"late"]
    finally:
        await reader.close()


async def test_transactions_of_two_producers_in_one_partition_do_not_mix(
    live: Live, client: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic = await client.create_topic()
    one_, other = producer(), producer(is_v2=False)
    await one_.init()
    await other.init()
    for number in range(3):
        await one_.write(topic, b"one-%d" % number)
        await other.write(topic, b"other-%d" % number)
    await one_.end(commit=True)
    await at_rest(live, one_)
    assert await committed_values(client, topic) == [b"one-0"]  # `other` is still open behind it
    await other.end(commit=False)
    await at_rest(live, other)
    assert await committed_values(client, topic) == [b"one-%d" % n for n in range(3)]


# -- fencing


@BOTH
async def test_a_second_producer_of_an_id_aborts_and_fences_the_first(
    live: Live, client: Client, producer: Callable[..., LiveProducer], is_v2: bool
) -> None:
    topic = await client.create_topic()
    zombie = producer(is_v2=is_v2)
    await zombie.init()
    await zombie.write(topic, b"of the zombie")
    heir = producer(id=zombie.transactional_id, is_v2=is_v2)
    assert await heir.init() is ErrorCode.NONE
    assert await zombie.produce(topic, b"too late") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert await zombie.add(topic, 0) is ErrorCode.PRODUCER_FENCED
    assert await zombie.end(commit=True) is ErrorCode.PRODUCER_FENCED
    await heir.write(topic, b"of the heir")
    await heir.end(commit=True)
    await at_rest(live, heir)
    assert await committed_values(client, topic) == [b"of the heir"]


@pytest.mark.parametrize(
    ("version", "code"),
    [(0, "INVALID_PRODUCER_EPOCH"), (1, "INVALID_PRODUCER_EPOCH"), (2, "PRODUCER_FENCED")],
)
async def test_a_fenced_producer_gets_an_error_that_its_version_knows(
    client: Client, producer: Callable[..., LiveProducer], version: int, code: str
) -> None:
    topic = await client.create_topic()
    zombie = producer()
    await zombie.init()
    await producer(id=zombie.transactional_id).init()
    assert (await zombie.add(topic, 0, version=version)).name == code
    assert (await zombie.end(commit=True, version=version)).name == code
    assert (await zombie.add_offsets("group", version=version)).name == code
    expected = {"producer_id": zombie.producer_id, "producer_epoch": zombie.epoch}
    assert (await zombie.init(version=3, **expected)).name == "INVALID_PRODUCER_EPOCH"
    assert (await zombie.init(version=4, **expected)).name == "PRODUCER_FENCED"


# -- first records of a transaction (KIP-890)


@pytest.mark.parametrize(("version", "code"), [(10, "INVALID_TXN_STATE"), (11, "TRANSACTION_ABORTABLE")])
async def test_records_for_a_partition_that_was_not_added_are_refused_before_version_12(
    client: Client, producer: Callable[..., LiveProducer], version: int, code: str
) -> None:
    topic = await client.create_topic(partitions=2)
    mine = producer(is_v2=False)
    await mine.init()
    assert (await mine.produce(topic, b"x", version=version)).name == code
    await mine.add(topic, 1)
    assert (await mine.produce(topic, b"x", version=version)).name == code
    assert await mine.produce(topic, b"x", partition=1, version=version) is ErrorCode.NONE
    assert await all_values(client, topic) == []


async def test_records_add_their_partition_from_version_12_on(
    live: Live, client: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic = await client.create_topic(partitions=2)
    mine = producer()
    await mine.init()
    assert await mine.produce(topic, b"x", partition=1, version=12) is ErrorCode.NONE
    transaction = transaction_of(live, mine.transactional_id)
    assert transaction.state is State.ONGOING
    assert transaction.partitions == {(topic.name, 1)}


async def test_records_of_an_ended_transaction_are_refused(
    live: Live, client: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic = await client.create_topic()
    mine = producer(is_v2=False)
    await mine.init()
    await mine.write(topic, b"in")
    await mine.end(commit=True)
    await at_rest(live, mine)
    assert await mine.produce(topic, b"late") is ErrorCode.TRANSACTION_ABORTABLE
    v2 = producer()
    await v2.init()
    await v2.write(topic, b"in")
    late = producer(id=v2.transactional_id)
    late.producer_id, late.epoch = v2.producer_id, v2.epoch
    await v2.end(commit=True)
    assert await late.produce(topic, b"late") is ErrorCode.INVALID_PRODUCER_EPOCH


async def test_pipelined_first_batches_of_a_transaction_keep_their_order(
    live: Live, client: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic = await client.create_topic(partitions=2)
    mine = producer()
    await mine.init()
    answers = await asyncio.gather(*(send(mine, topic, number, number % 2) for number in range(10)))
    assert [ErrorCode(code).name for code in answers] == ["NONE"] * 10
    await mine.end(commit=True)
    await at_rest(live, mine)
    assert await committed_values(client, topic, 0) == [b"%d" % n for n in range(0, 10, 2)]
    assert await committed_values(client, topic, 1) == [b"%d" % n for n in range(1, 10, 2)]


async def send(mine: LiveProducer, topic: TopicHandle, number: int, partition: int) -> int:
    records = batch(
        b"%d" % number,
        timestamp=mine.clock.now_ms(),
        producer_id=mine.producer_id,
        epoch=mine.epoch,
        sequence=number // 2,
        is_transactional=True,
    )
    answer = await mine.client.produce(
        topic, records, partition=partition, transactional_id=mine.transactional_id
    )
    code: int = answer.error_code
    return code


async def test_a_transactional_batch_needs_a_transactional_id_that_is_its_own(
    client: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic = await client.create_topic()
    mine = producer()
    await mine.init()
    records = batch(b"x", producer_id=mine.producer_id, epoch=mine.epoch, sequence=0, is_transactional=True)
    outcomes: Sequence[ErrorCode] = [
        ErrorCode((await client.produce(topic, records, transactional_id=each)).error_code)
        for each in (None, "", new_id())
    ]
    assert [each.name for each in outcomes] == [
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "INVALID_REQUEST",
        "INVALID_PRODUCER_ID_MAPPING",
    ]


async def test_a_transaction_of_version_2_starts_at_sequence_0(
    client: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic = await client.create_topic()
    mine = producer()
    await mine.init()
    records = batch(b"x", producer_id=mine.producer_id, epoch=mine.epoch, sequence=5, is_transactional=True)
    answer = await client.produce(topic, records, transactional_id=mine.transactional_id)
    assert ErrorCode(answer.error_code).name == "OUT_OF_ORDER_SEQUENCE_NUMBER"


# -- InitProducerId


async def test_each_initialization_of_an_id_gets_the_next_epoch(
    client: Client, producer: Callable[..., LiveProducer]
) -> None:
    first = producer()
    epochs = []
    for version in range(7):
        again = producer(id=first.transactional_id)
        assert await again.init(version=version) is ErrorCode.NONE
        epochs.append((again.producer_id, again.epoch))
    assert [epoch for _, epoch in epochs] == list(range(7))
    assert len({producer_id for producer_id, _ in epochs}) == 1


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
async def test_a_timeout_must_not_exceed_the_maximum_of_the_broker(
    producer: Callable[..., LiveProducer], timeout_ms: int
) -> None:
    assert await producer().init(timeout_ms=timeout_ms) is ErrorCode.INVALID_TRANSACTION_TIMEOUT


async def test_two_phase_commit_is_refused_unless_the_broker_allows_it(
    producer: Callable[..., LiveProducer],
) -> None:
    assert (
        await producer().init(version=6, enable2_pc=True) is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    )
    assert await producer().init(version=6, keep_prepared_txn=True) is ErrorCode.UNSUPPORTED_VERSION


async def test_a_producer_continues_after_an_error_in_the_next_epoch(
    client: Client, producer: Callable[..., LiveProducer]
) -> None:
    mine = producer()
    await mine.init()
    was = {"producer_id": mine.producer_id, "producer_epoch": mine.epoch}
    assert await mine.init(**was) is ErrorCode.NONE
    assert mine.epoch == 1
    assert await mine.init(**was) is ErrorCode.NONE
    assert mine.epoch == 1
