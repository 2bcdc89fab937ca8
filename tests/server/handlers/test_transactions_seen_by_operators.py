"""DescribeTransactions, ListTransactions, and what brokers ask each other: AddPartitionsToTxn v4+, WriteTxnMarkers."""

import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from penstock.protocol.messages.describe_transactions import DescribeTransactionsRequest
from penstock.protocol.messages.list_transactions import ListTransactionsRequest
from penstock.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from penstock.transactions import markers
from tests.server.live import Client, Live, TopicHandle, one
from tests.transactions.live_producer import READ_COMMITTED, LiveProducer

_numbers = itertools.count()


@pytest.fixture
def producer(client: Client) -> Callable[..., LiveProducer]:
    return lambda **options: LiveProducer(client, f"operated-{next(_numbers)}", **options)


async def test_a_transaction_is_described_with_its_partitions(
    client: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic = await client.create_topic(partitions=3)
    mine = producer()
    await mine.init(timeout_ms=1234)
    await mine.write(topic, b"x", partition=2)
    await mine.write(topic, b"x", partition=0)
    answer = await client.send(DescribeTransactionsRequest(transactional_ids=[mine.transactional_id]))
    described = one(answer.transaction_states)
    assert described.error_code == 0
    assert (described.producer_id, described.producer_epoch) == (mine.producer_id, mine.epoch)
    assert (described.transaction_state, described.transaction_timeout_ms) == ("Ongoing", 1234)
    assert described.transaction_start_time_ms > 0
    assert [(each.topic, each.partitions) for each in described.topics] == [(topic.name, [0, 2])]


async def test_an_unused_id_cannot_be_described(client: Client) -> None:
    answer = await client.send(DescribeTransactionsRequest(transactional_ids=["nobody", ""]))
    assert [ErrorCode(each.error_code).name for each in answer.transaction_states] == [
        "TRANSACTIONAL_ID_NOT_FOUND",
        "INVALID_REQUEST",
    ]


async def listed(client: Client, version: int = 2, **filters: Any) -> dict[str, str]:
    answer = await client.send(ListTransactionsRequest(**filters), version)
    assert answer.error_code == 0
    return {each.transactional_id: each.transaction_state for each in answer.transaction_states}


async def test_transactions_are_listed_by_state_producer_duration_and_pattern(
    client: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic = await client.create_topic()
    idle, busy = producer(), producer()
    await idle.init()
    await busy.init()
    await busy.write(topic, b"x")
    both = {idle.transactional_id: "Empty", busy.transactional_id: "Ongoing"}
    assert both.items() <= (await listed(client, 0)).items()
    ongoing = await listed(client, 0, state_filters=["Ongoing"])
    assert busy.transactional_id in ongoing
    assert set(ongoing.values()) == {"Ongoing"}
    assert await listed(client, 0, producer_id_filters=[idle.producer_id]) == {idle.transactional_id: "Empty"}
    assert busy.transactional_id not in await listed(client, 1, duration_filter=3_600_000)
    assert await listed(client, transactional_id_pattern=f"{busy.transactional_id[:-1]}.") != {}
    assert await listed(client, transactional_id_pattern=busy.transactional_id) == {
        busy.transactional_id: "Ongoing"
    }
    assert await listed(client, transactional_id_pattern=busy.transactional_id[:-1]) == {}


async def test_an_unknown_state_is_returned_and_an_invalid_pattern_refused(client: Client) -> None:
    answer = await client.send(ListTransactionsRequest(state_filters=["Asleep"]))
    assert (answer.unknown_state_filters, answer.transaction_states) == (["Asleep"], [])
    for pattern in ("(", r"(a)\1", "(?=a)"):
        answer = await client.send(ListTransactionsRequest(transactional_id_pattern=pattern))
        assert ErrorCode(answer.error_code).name == "INVALID_REGULAR_EXPRESSION", pattern


# -- what brokers ask


async def ask(
    client: Client, *transactions: AddPartitionsToTxnTransaction, version: int = 5
) -> list[list[str]]:
    answer = await client.send(AddPartitionsToTxnRequest(transactions=list(transactions)), version)
    return [
        [
            ErrorCode(partition.partition_error_code).name
            for topic in result.topic_results
            for partition in topic.results_by_partition
        ]
        for result in answer.results_by_transaction
    ]


def about(
    mine: LiveProducer, topic: TopicHandle, *partitions: int, verify_only: bool
) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=mine.transactional_id,
        producer_id=mine.producer_id,
        producer_epoch=mine.epoch,
        verify_only=verify_only,
        topics=[AddPartitionsToTxnTopic(name=topic.name, partitions=list(partitions))],
    )


@pytest.mark.parametrize("version", [4, 5])
async def test_a_broker_verifies_and_adds_for_several_transactions_at_once(
    other_broker: Client, producer: Callable[..., LiveProducer], version: int
) -> None:
    topic = await other_broker.create_topic(partitions=2)
    one_, other = producer(), producer()
    await one_.init()
    await other.init()
    answers = await ask(
        other_broker,
        about(one_, topic, 0, verify_only=False),
        about(other, topic, 0, verify_only=True),
        version=version,
    )
    assert answers == [["NONE"], ["TRANSACTION_ABORTABLE"]]
    assert await ask(other_broker, about(one_, topic, 0, 1, verify_only=True), version=version) == [
        ["NONE", "TRANSACTION_ABORTABLE"]
    ]


async def test_an_unknown_partition_refuses_all_others(
    other_broker: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic = await other_broker.create_topic()
    mine = producer()
    await mine.init()
    assert await ask(other_broker, about(mine, topic, 0, 1, verify_only=False)) == [
        ["OPERATION_NOT_ATTEMPTED", "UNKNOWN_TOPIC_OR_PARTITION"]
    ]
    assert await ask(other_broker, about(mine, topic, 0, verify_only=True)) == [["TRANSACTION_ABORTABLE"]]


async def write_marker(
    client: Client,
    mine: LiveProducer,
    topic: TopicHandle,
    *partitions: int,
    epoch: int,
    coordinator_epoch: int = 0,
    version: int = 2,
    transaction_version: int = 0,
    is_commit: bool = True,
) -> list[str]:
    answer = await client.send(
        WriteTxnMarkersRequest(
            markers=[
                WritableTxnMarker(
                    producer_id=mine.producer_id,
                    producer_epoch=epoch,
                    transaction_result=is_commit,
                    coordinator_epoch=coordinator_epoch,
                    transaction_version=transaction_version,
                    topics=[WritableTxnMarkerTopic(name=topic.name, partition_indexes=list(partitions))],
                )
            ]
        ),
        version,
    )
    result = one(answer.markers)
    assert result.producer_id == mine.producer_id
    return [ErrorCode(each.error_code).name for each in one(result.topics).partitions]


@pytest.mark.parametrize("version", [1, 2])
async def test_a_marker_ends_the_transaction_in_its_partition(
    other_broker: Client, producer: Callable[..., LiveProducer], version: int
) -> None:
    topic = await other_broker.create_topic(partitions=2)
    mine = producer()
    await mine.init()
    await mine.write(topic, b"x")
    assert (await other_broker.fetch(topic, isolation_level=READ_COMMITTED)).last_stable_offset == 0
    assert await write_marker(other_broker, mine, topic, 0, 7, epoch=0, version=version) == [
        "NONE",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]
    assert (await other_broker.fetch(topic, isolation_level=READ_COMMITTED)).last_stable_offset == 2


async def test_a_marker_of_an_older_producer_or_coordinator_is_refused(
    other_broker: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic = await other_broker.create_topic()
    mine = producer()
    await mine.init()
    mine.epoch = 4
    assert await write_marker(other_broker, mine, topic, 0, epoch=4, coordinator_epoch=9) == ["NONE"]
    assert await write_marker(other_broker, mine, topic, 0, epoch=3, coordinator_epoch=9) == [
        "INVALID_PRODUCER_EPOCH"
    ]
    assert await write_marker(other_broker, mine, topic, 0, epoch=4, coordinator_epoch=8) == [
        "TRANSACTION_COORDINATOR_FENCED"
    ]


async def test_in_version_2_a_repeated_marker_is_not_written_and_does_not_end_the_next_transaction(
    other_broker: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic = await other_broker.create_topic()
    mine = producer()
    await mine.init()
    await mine.write(topic, b"first")
    assert await write_marker(other_broker, mine, topic, 0, epoch=1, transaction_version=2) == ["NONE"]
    assert await write_marker(other_broker, mine, topic, 0, epoch=1, transaction_version=2) == ["NONE"]
    assert (await other_broker.fetch(topic)).high_watermark == 2
    assert await mine.end(commit=True) is ErrorCode.NONE  # its own marker is there already
    await mine.write(topic, b"second")
    assert await write_marker(other_broker, mine, topic, 0, epoch=1, transaction_version=2) == [
        "INVALID_PRODUCER_EPOCH"
    ]
    assert (await other_broker.fetch(topic, isolation_level=READ_COMMITTED)).last_stable_offset == 2


async def test_a_client_can_only_abort_the_current_transaction(
    client: Client, producer: Callable[..., LiveProducer]
) -> None:
    """With other epochs it would lock out the producer, or the coordinator."""
    topic = await client.create_topic()
    mine = producer()
    await mine.init()
    await mine.write(topic, b"x")
    assert await write_marker(client, mine, topic, 0, epoch=0) == ["CLUSTER_AUTHORIZATION_FAILED"]
    for epoch, coordinator_epoch in ((1, 0), (32767, 0), (0, 1), (0, 2**31 - 1)):
        assert await write_marker(
            client, mine, topic, 0, epoch=epoch, coordinator_epoch=coordinator_epoch, is_commit=False
        ) == ["INVALID_PRODUCER_EPOCH"]
    assert (await client.fetch(topic, isolation_level=READ_COMMITTED)).last_stable_offset == 0
    assert await write_marker(client, mine, topic, 0, epoch=0, is_commit=False) == ["NONE"]
    assert (await client.fetch(topic, isolation_level=READ_COMMITTED)).last_stable_offset == 2
    assert await write_marker(client, mine, topic, 0, epoch=0, is_commit=False) == ["INVALID_PRODUCER_EPOCH"]


async def test_all_markers_of_a_request_are_appended_before_waiting_for_any(
    live: Live,
    other_broker: Client,
    producer: Callable[..., LiveProducer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = await other_broker.create_topic()
    both = producer(), producer()
    for each in both:
        await each.init()
        await each.write(topic, b"x")
    leader = live.services.replicas.leader_of(topic.name, 0)
    assert isinstance(leader, Replica)
    end_offsets: list[int] = []
    wait = markers._outcome

    async def note_and_wait(written: Awaitable[None]) -> ErrorCode:
        leader.write_queued()
        end_offsets.append(leader.log.log_end_offset)
        return await wait(written)

    monkeypatch.setattr(markers, "_outcome", note_and_wait)
    where = [WritableTxnMarkerTopic(name=topic.name, partition_indexes=[0])]
    answer = await other_broker.send(
        WriteTxnMarkersRequest(
            markers=[
                WritableTxnMarker(producer_id=each.producer_id, producer_epoch=0, topics=where)
                for each in both
            ]
        )
    )
    assert [one(one(each.topics).partitions).error_code for each in answer.markers] == [0, 0]
    assert end_offsets[0] == 4, "two records and two markers"


async def test_a_client_cannot_abort_a_transaction_twice_in_one_request(
    client: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic = await client.create_topic()
    mine = producer()
    await mine.init()
    await mine.write(topic, b"x")
    where = [WritableTxnMarkerTopic(name=topic.name, partition_indexes=[0])]
    marker = WritableTxnMarker(producer_id=mine.producer_id, producer_epoch=0, topics=where)
    answer = await client.send(WriteTxnMarkersRequest(markers=[marker, marker]))
    codes = [ErrorCode(one(one(each.topics).partitions).error_code) for each in answer.markers]
    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH]
