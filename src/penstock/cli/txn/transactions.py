"""Transactions of a cluster: requests that librdkafka does not have.

Coordinators know transactional ids, the leaders of partitions know the open transactions there.
"""

import time
from collections.abc import Iterable, Sequence

import msgspec

from penstock.cli.connect.requests import TRANSACTION, RequestClient, check_error
from penstock.cli.connect.target import select_partitions, unknown_topic
from penstock.cli.errors import CommandError, not_found
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import (
    describe_producers,
    describe_transactions,
    init_producer_id,
    list_transactions,
    write_txn_markers,
)


class ListedTransaction(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


class Transaction(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`started_ms` is None while no transaction is open."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int | None
    coordinator: int
    partitions: list[tuple[str, int]]

    @property
    def open_s(self) -> int | None:
        return None if self.started_ms is None else max(0, round(time.time() - self.started_ms / 1000))

    @property
    def places(self) -> str:
        return " ".join(f"{topic}-{number}" for topic, number in self.partitions)


class PartitionProducer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A producer of a partition; `start_offset` is the first offset of its open transaction, None without one."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    last_timestamp_ms: int
    start_offset: int | None

    def is_hanging(self, owner: Transaction | None) -> bool:
        """Whether its transaction is open here while no coordinator will ever end it."""
        place = (self.topic, self.partition)
        return self.start_offset is not None and (owner is None or place not in owner.partitions)


def list_all(
    client: RequestClient,
    *,
    states: Sequence[str] = (),
    producer_ids: Sequence[int] = (),
    longer_than_ms: int = -1,
) -> list[ListedTransaction]:
    """List the transactional ids of every coordinator, by name."""
    request = list_transactions.ListTransactionsRequest(
        state_filters=list(states), producer_id_filters=list(producer_ids), duration_filter=longer_than_ms
    )
    found = []
    for node_id in client.brokers():
        response: list_transactions.ListTransactionsResponse = client.ask_broker(node_id, request)
        check_error(response, f"cannot list the transactions of broker {node_id}")
        found += [
            ListedTransaction(
                transactional_id=each.transactional_id,
                producer_id=each.producer_id,
                state=each.transaction_state,
                coordinator=node_id,
            )
            for each in response.transaction_states
        ]
    return sorted(found, key=lambda each: each.transactional_id)


def describe(client: RequestClient, transactional_id: str) -> Transaction:
    """Describe the transaction of an id. Raises `CommandError` if there is no such id."""
    found = _describe(client, transactional_id)
    if found is None:
        known = [each.transactional_id for each in list_all(client)]
        raise not_found("transactional id", transactional_id, known, "`penstock txn list` lists them")
    return found


def _describe(client: RequestClient, transactional_id: str) -> Transaction | None:
    response: describe_transactions.DescribeTransactionsResponse = client.ask_coordinator(
        TRANSACTION,
        transactional_id,
        describe_transactions.DescribeTransactionsRequest(transactional_ids=[transactional_id]),
        lambda response: int(response.transaction_states[0].error_code),
    )
    found = response.transaction_states[0]
    if found.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        return None
    check_error(found, f"cannot describe transactional id {transactional_id}")
    started_ms = found.transaction_start_time_ms
    return Transaction(
        transactional_id=transactional_id,
        state=found.transaction_state,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        timeout_ms=found.transaction_timeout_ms,
        started_ms=started_ms if started_ms >= 0 else None,
        coordinator=client.coordinator_id(TRANSACTION, transactional_id),
        partitions=sorted((topic.topic, each) for topic in found.topics for each in topic.partitions),
    )


def describe_owners(client: RequestClient, producer_ids: Iterable[int]) -> dict[int, Transaction]:
    """Describe the transactions of producers, by producer id; those that no coordinator knows are left out."""
    wanted = sorted(producer_ids)
    if not wanted:
        return {}
    described = [_describe(client, each.transactional_id) for each in list_all(client, producer_ids=wanted)]
    return {each.producer_id: each for each in described if each is not None}


def partition_producers(
    client: RequestClient, topic: str, partition: int | None = None
) -> list[PartitionProducer]:
    """List the producers that the partitions of a topic, or one of them, know."""
    topics = client.topics()
    if topic not in topics:
        raise unknown_topic(topic, topics)
    found: list[PartitionProducer] = []
    for number in select_partitions(topic, topics[topic], partition):
        wanted = describe_producers.TopicRequest(name=topic, partition_indexes=[number])
        response: describe_producers.DescribeProducersResponse = client.ask_leader(
            topic,
            number,
            describe_producers.DescribeProducersRequest(topics=[wanted]),
            lambda response: int(response.topics[0].partitions[0].error_code),
        )
        described = response.topics[0].partitions[0]
        check_error(described, f"cannot describe the producers of {topic}-{number}")
        found += [
            PartitionProducer(
                topic=topic,
                partition=number,
                producer_id=each.producer_id,
                producer_epoch=each.producer_epoch,
                coordinator_epoch=each.coordinator_epoch,
                last_timestamp_ms=each.last_timestamp,
                start_offset=each.current_txn_start_offset if each.current_txn_start_offset >= 0 else None,
            )
            for each in described.active_producers
        ]
    return found


def fence(client: RequestClient, transactional_id: str, timeout_ms: int) -> None:
    """Fence the producer of an id, which aborts its open transaction. Returns when it is aborted.

    Like Kafka's admin client: InitProducerId gives the next epoch once the transaction before is complete, and
    CONCURRENT_TRANSACTIONS, which is retried, until then.
    """
    request = init_producer_id.InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
    )
    response = client.ask_coordinator(
        TRANSACTION, transactional_id, request, lambda response: int(response.error_code)
    )
    check_error(response, f"cannot abort the transaction of {transactional_id}")


def write_abort_marker(client: RequestClient, producer: PartitionProducer) -> None:
    """End the producer's transaction in one partition, bypassing its coordinator."""
    topic, partition = producer.topic, producer.partition
    marker = write_txn_markers.WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        # -1: no marker of this producer was ever written here; any epoch is new then.
        coordinator_epoch=max(0, producer.coordinator_epoch),
        topics=[write_txn_markers.WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
    )
    response: write_txn_markers.WriteTxnMarkersResponse = client.ask_leader(
        topic,
        partition,
        write_txn_markers.WriteTxnMarkersRequest(markers=[marker]),
        lambda response: int(response.markers[0].topics[0].partitions[0].error_code),
    )
    result = response.markers[0].topics[0].partitions[0]
    check_error(result, f"cannot abort the transaction in {topic}-{partition}")


def find_open(client: RequestClient, topic: str, partition: int, start_offset: int) -> PartitionProducer:
    """Find the open transaction that begins at an offset."""
    producers = partition_producers(client, topic, partition)
    for producer in producers:
        if producer.start_offset == start_offset:
            return producer
    begins = sorted(each.start_offset for each in producers if each.start_offset is not None)
    there = f"those open there begin at {', '.join(map(str, begins))}" if begins else "none is open there"
    raise CommandError(f"no transaction begins at offset {start_offset} of {topic}-{partition}: {there}")
