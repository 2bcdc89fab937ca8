"""The number of records of a partition. Offsets are not enough: each transaction has a marker.

Batches say in their headers how many records they have, so they are read, but not decoded. That is bounded: of more
than `_BYTES_MAX` the offsets that are left count, which gives an upper bound.
"""

from typing import Final

import msgspec

from penstock.client.aio import Client, FetchLimits, LeaderOf, TopicPartition
from penstock.client.batches import next_offset_after, wanted_batches
from penstock.client.core.fetching import request_for

_BYTES_MAX: Final = 4 * 1024 * 1024
_LIMITS: Final = FetchLimits(bytes_max=512 * 1024, partition_bytes_max=512 * 1024, reads_committed_only=True)
_NAMES_LAST: Final = 12  # of Fetch: later versions know topics by id only


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """`is_exact` is False where it is an upper bound."""

    records: int
    is_exact: bool


async def count_records(client: Client, where: TopicPartition, start: int, end: int) -> Count:
    """Committed records from `start` up to and without `end`."""
    records = read_bytes = 0
    offset = start
    while offset < end:
        if read_bytes >= _BYTES_MAX:
            return Count(records=records + end - offset, is_exact=False)
        response = await client.request(
            LeaderOf(*where),
            request_for({where: offset}, _LIMITS),
            error_of=lambda answer: int(answer.responses[0].partitions[0].error_code),
            version_max=_NAMES_LAST,
        )
        data = response.responses[0].partitions[0]
        batches = data.records or b""
        found = wanted_batches(batches, offset, end, data.aborted_transactions or ())
        records += sum(batch.header.record_count for batch in found)
        following = next_offset_after(batches)
        if following is None or following <= offset:
            break  # the rest is not committed yet
        read_bytes += len(batches)
        offset = following
    return Count(records=records, is_exact=True)
