"""Reading records without being a consumer: from given offsets on, committed ones only, bounded."""

from collections.abc import Mapping
from typing import Final

import msgspec

from penstock.client.aio import Client, FetchedPartition, FetchLimits, TopicPartition
from penstock.console.refusals import check
from penstock.protocol.records.record import Record

# Small, so that decoding one response does not block the loop for long: it may be a broker's own.
_PARTITION_BYTES_MAX: Final = 256 * 1024
_RANGE_BYTES_MAX: Final = 32 * 1024 * 1024
_ROUNDS_MAX: Final = 500


async def fetch_from(
    client: Client,
    topic: str,
    positions: Mapping[int, int],
    *,
    wait_ms: int = 0,
    bytes_max: int = 1024 * 1024,
) -> dict[int, FetchedPartition]:
    """Fetch once from each leader. With `wait_ms` the client must be a branch."""
    limits = FetchLimits(
        wait_ms=wait_ms,
        bytes_max=bytes_max,
        partition_bytes_max=_PARTITION_BYTES_MAX,
        reads_committed_only=True,
    )
    fetched = await client.fetch(
        {TopicPartition(topic, p): offset for p, offset in positions.items()}, limits
    )
    for where, found in fetched.items():
        check(found.error, f"{where} cannot be read from offset {positions[where.partition]}")
    return {where.partition: found for where, found in fetched.items()}


class PartitionRead(msgspec.Struct, kw_only=True):
    """Records of a partition, and the offset up to which it was read."""

    records: list[Record]
    position: int


class RangeRead(msgspec.Struct, kw_only=True):
    """`is_whole` unless a byte limit ended the read early."""

    partitions: dict[int, PartitionRead]
    is_whole: bool


async def read_range(
    client: Client, topic: str, starts: Mapping[int, int], ends: Mapping[int, int], count: int
) -> RangeRead:
    """Up to `count` records of each partition from its start on, none at or beyond its end."""
    found = {partition: PartitionRead(records=[], position=start) for partition, start in starts.items()}
    for _ in range(_ROUNDS_MAX):
        wanted = {
            partition: each.position
            for partition, each in found.items()
            if each.position < ends[partition] and len(each.records) < count
        }
        if not wanted:
            return RangeRead(partitions=found, is_whole=True)
        fetched = await fetch_from(client, topic, wanted)
        if all(each.next_offset == wanted[partition] for partition, each in fetched.items()):
            return RangeRead(partitions=found, is_whole=True)  # the rest is not committed yet
        for partition, each in fetched.items():
            append_fetched(found[partition], each, ends[partition], count)
        if sum(map(size_bytes, found.values())) > _RANGE_BYTES_MAX:
            break
    return RangeRead(partitions=found, is_whole=False)


def size_bytes(read: PartitionRead) -> int:
    return sum(len(record.key or b"") + len(record.value or b"") for record in read.records)


def append_fetched(into: PartitionRead, fetched: FetchedPartition, end: int, count: int) -> None:
    """Append fetched records, up to `count` records and not beyond `end`. Pure."""
    for record in fetched.records:
        if record.offset >= end:
            break
        if len(into.records) == count:
            into.position = record.offset
            return
        into.records.append(record)
    into.position = min(fetched.next_offset, end)
