"""Pages of the records of several partitions, in the order of time as far as partitions keep it. Pure.

Within a partition the order is that of the offsets, always; between partitions, the record with the smaller timestamp
comes first. A cursor says where the next page begins in each partition: `0:17,1:4`.
"""

import heapq
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from penstock.console.refusals import bad_request
from penstock.protocol.records.record import Record

Cursor = Mapping[int, int]


class Placed(NamedTuple):
    partition: int
    record: Record


class Page(NamedTuple):
    records: list[Placed]
    cursor: dict[int, int]


def parse_cursor(text: str) -> dict[int, int]:
    try:
        pairs = [part.split(":") for part in text.split(",") if part]
        return {int(partition): int(offset) for partition, offset in pairs}
    except ValueError:
        raise bad_request(f"The cursor {text!r} cannot be read.") from None


def format_cursor(cursor: Cursor) -> str:
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(cursor.items()))


def oldest_first(found: Mapping[int, list[Record]], positions: Cursor, limit: int) -> Page:
    """The first `limit` records, and a cursor to continue from. `positions` are the offsets up to which each partition
    was read.
    """
    kept, used = merged(found, limit)
    cursor = {
        partition: records[used[partition]].offset if used[partition] < len(records) else positions[partition]
        for partition, records in found.items()
    }
    return Page(kept, cursor)


def newest_first(found: Mapping[int, list[Record]], begins: Cursor, limit: int) -> Page:
    """The last `limit` records, newest first; older pages end below the cursor. `begins` are the offsets from which
    each partition was read.
    """
    reversed_found = {partition: records[::-1] for partition, records in found.items()}
    kept, used = merged(reversed_found, limit, is_newest_first=True)
    cursor = {
        partition: records[used[partition]].offset + 1
        if used[partition] < len(records)
        else begins[partition]
        for partition, records in reversed_found.items()
    }
    return Page(kept, cursor)


def merged(
    found: Mapping[int, list[Record]], limit: int, *, is_newest_first: bool = False
) -> tuple[list[Placed], Counter[int]]:
    """At most `limit` records, and how many there are of each partition."""
    runs = [[Placed(partition, record) for record in found[partition]] for partition in sorted(found)]
    sign = -1 if is_newest_first else 1
    kept = list(islice(heapq.merge(*runs, key=lambda each: sign * each.record.timestamp), limit))
    return kept, Counter(each.partition for each in kept)
