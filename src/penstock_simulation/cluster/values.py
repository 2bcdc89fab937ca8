"""Types that checkers and clients share."""

from functools import lru_cache

from penstock.protocol.records.record import iter_records

PartitionName = tuple[str, int]
Records = list[tuple[int, bytes]]
"""Offsets and values, in the order of a log."""


@lru_cache(maxsize=64)  # every replica has the batch, and readers read it again
def records_of_batch(batch: bytes) -> Records:
    return [(each.offset, each.value or b"") for each in iter_records(batch)]
