"""Shared by tests of transactions with a live broker: the records of a read_committed consumer, and end offsets."""

from penstock.protocol.messages.fetch import PartitionData
from penstock.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.record import iter_records
from penstock.transactions.state import Transaction
from tests.server.live import Client, Live, TopicHandle, one, until
from tests.transactions.live_producer import READ_COMMITTED, LiveProducer


def transaction_of(live: Live, transactional_id: str) -> Transaction:
    transaction = live.services.transactions.get(transactional_id)
    assert isinstance(transaction, Transaction), transaction
    return transaction


async def at_rest(live: Live, producer: LiveProducer) -> Transaction:
    await until(lambda: transaction_of(live, producer.transactional_id).state.is_idle)
    return transaction_of(live, producer.transactional_id)


def data_in(part: PartitionData) -> list[tuple[bytes | None, int]]:
    """The values of a fetched partition that are no control records, with their producer ids."""
    view = memoryview(bytes(part.records or b""))
    return [
        (record.value, header.producer_id)
        for position, header in iter_batches(view)
        if not header.is_control
        for record in iter_records(view[position : position + header.size_bytes])
    ]


def visible(part: PartitionData) -> list[bytes | None]:
    """The records of a fetch from offset 0 as a read_committed consumer returns them: without the aborted ones."""
    view = memoryview(bytes(part.records or b""))
    starts = sorted((t.first_offset, t.producer_id) for t in part.aborted_transactions or ())
    aborted: set[int] = set()
    found: list[bytes | None] = []
    for position, header in iter_batches(view):
        while starts and starts[0][0] <= header.base_offset:
            aborted.add(starts.pop(0)[1])
        if header.is_control:
            aborted.discard(header.producer_id)
        elif header.producer_id not in aborted or not header.is_transactional:
            found += [r.value for r in iter_records(view[position : position + header.size_bytes])]
    return found


async def committed_values(client: Client, topic: TopicHandle, partition: int = 0) -> list[bytes | None]:
    return visible(await client.fetch(topic, partition=partition, isolation_level=READ_COMMITTED))


async def all_values(client: Client, topic: TopicHandle, partition: int = 0) -> list[bytes | None]:
    return [value for value, _ in data_in(await client.fetch(topic, partition=partition))]


async def latest_offsets(client: Client, topic: TopicHandle) -> tuple[int, int]:
    """The end offset of a partition for read_uncommitted and for read_committed consumers."""
    offsets = []
    for isolation_level in (0, READ_COMMITTED):
        answer = await client.send(
            ListOffsetsRequest(
                replica_id=-1,
                isolation_level=isolation_level,
                topics=[
                    ListOffsetsTopic(
                        name=topic.name, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)]
                    )
                ],
            )
        )
        offsets.append(one(one(answer.topics).partitions).offset)
    return offsets[0], offsets[1]
