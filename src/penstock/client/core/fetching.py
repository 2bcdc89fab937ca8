"""Fetch requests and the records in their responses. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from penstock.client.batches import next_offset_after, wanted_batches
from penstock.client.metadata import TopicPartition
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages import fetch
from penstock.protocol.records.record import Record, iter_records

_OFFSET_MAX: Final = 2**63 - 1


class FetchLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`wait_ms` is how long to wait for a first record; `records_max` bounds each partition."""

    wait_ms: int = 0
    bytes_max: int = 4 * 1024 * 1024
    partition_bytes_max: int = 1024 * 1024
    records_max: int = 1_000_000
    reads_committed_only: bool = False


DEFAULT_LIMITS: Final = FetchLimits()


class FetchedPartition(msgspec.Struct, frozen=True, kw_only=True):
    """The records of one partition. `next_offset` is where to continue: it may have moved without records.

    `error` is one that is not retriable: OFFSET_OUT_OF_RANGE, TOPIC_AUTHORIZATION_FAILED, …
    """

    records: list[Record]
    next_offset: int
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    error: ErrorCode = ErrorCode.NONE
    is_throttled: bool = False


def request_for(positions: Mapping[TopicPartition, int], limits: FetchLimits) -> fetch.FetchRequest:
    by_topic: dict[str, list[fetch.FetchPartition]] = {}
    for where, offset in positions.items():
        partition = fetch.FetchPartition(
            partition=where.partition,
            fetch_offset=offset,
            partition_max_bytes=limits.partition_bytes_max,
        )
        by_topic.setdefault(where.topic, []).append(partition)
    return fetch.FetchRequest(
        max_wait_ms=limits.wait_ms,
        min_bytes=1,
        max_bytes=limits.bytes_max,
        isolation_level=int(limits.reads_committed_only),
        topics=[fetch.FetchTopic(topic=name, partitions=partitions) for name, partitions in by_topic.items()],
    )


def read_answer(
    response: fetch.FetchResponse, positions: Mapping[TopicPartition, int], limits: FetchLimits
) -> dict[TopicPartition, FetchedPartition]:
    """The partitions of a response without a retriable error. Raises `CorruptRecords`."""
    found: dict[TopicPartition, FetchedPartition] = {}
    for topic in response.responses:
        for data in topic.partitions:
            where = TopicPartition(topic.topic, data.partition_index)
            if where in positions and not is_retriable(data.error_code):
                fetched = read_partition(data, positions[where], limits)
                is_throttled = bool(response.throttle_time_ms)
                found[where] = (
                    msgspec.structs.replace(fetched, is_throttled=True) if is_throttled else fetched
                )
    return found


def read_partition(data: fetch.PartitionData, offset: int, limits: FetchLimits) -> FetchedPartition:
    """The records of one partition. Raises `CorruptRecords`."""
    records: list[Record] = []
    next_offset = offset
    if data.records and not data.error_code:
        next_offset = max(offset, next_offset_after(data.records) or offset)
        for record in _records(data, offset, limits):
            if len(records) == limits.records_max:
                next_offset = record.offset
                break
            records.append(record)
    return FetchedPartition(
        records=records,
        next_offset=next_offset,
        high_watermark=data.high_watermark,
        last_stable_offset=data.last_stable_offset,
        log_start_offset=data.log_start_offset,
        error=ErrorCode(data.error_code),
    )


def _records(data: fetch.PartitionData, offset: int, limits: FetchLimits) -> Iterator[Record]:
    """The records from `offset` on. A batch is returned whole, so it may begin before."""
    assert data.records is not None
    aborted = (data.aborted_transactions or ()) if limits.reads_committed_only else None
    for batch in wanted_batches(data.records, offset, _OFFSET_MAX, aborted):
        for record in iter_records(data.records, pos=batch.position):
            if record.offset >= offset:
                yield record
