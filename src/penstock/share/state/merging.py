"""Merges state batches.

For every offset the batch with the higher delivery count wins, and at equal counts the batch with the higher state, as
in Kafka: a repeated or late write undoes nothing.

The stored batches are ordered by offset and do not overlap; adjacent ones differ. Merging a batch changes only the part
of the list that overlaps with it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import attrgetter

from penstock.share.state.values import StateBatch

_first_offset = attrgetter("first_offset")
_last_offset = attrgetter("last_offset")


def merge(kept: list[StateBatch], batches: Iterable[StateBatch]) -> None:
    for batch in batches:
        touched_from = bisect_left(kept, batch.first_offset, key=_last_offset)
        touched_to = bisect_right(kept, batch.last_offset, key=_first_offset)
        pieces = _merge_overlapping(kept[touched_from:touched_to], batch)
        with_neighbours = slice(max(0, touched_from - 1), touched_to + 1)
        kept[with_neighbours] = join_adjacent(
            [*kept[with_neighbours.start : touched_from], *pieces, *kept[touched_to : with_neighbours.stop]]
        )


def truncate_before(kept: list[StateBatch], start_offset: int) -> None:
    """Remove everything before the start offset."""
    del kept[: bisect_left(kept, start_offset, key=_last_offset)]
    if kept and kept[0].first_offset < start_offset:
        kept[0] = kept[0]._replace(first_offset=start_offset)


def _merge_overlapping(overlapping: list[StateBatch], new: StateBatch) -> list[StateBatch]:
    """Merge a batch with those that overlap with it."""
    pieces: list[StateBatch] = []
    next_offset = new.first_offset
    for old in overlapping:
        if old.first_offset < new.first_offset:
            pieces.append(old._replace(last_offset=new.first_offset - 1))
        elif next_offset < old.first_offset:
            pieces.append(new._replace(first_offset=next_offset, last_offset=old.first_offset - 1))
        first, last = max(old.first_offset, new.first_offset), min(old.last_offset, new.last_offset)
        winner = old if _rank(old) > _rank(new) else new
        pieces.append(winner._replace(first_offset=first, last_offset=last))
        if old.last_offset > new.last_offset:
            pieces.append(old._replace(first_offset=new.last_offset + 1))
        next_offset = last + 1
    if next_offset <= new.last_offset:
        pieces.append(new._replace(first_offset=next_offset))
    return pieces


def join_adjacent(batches: Iterable[StateBatch]) -> list[StateBatch]:
    """Join adjacent batches with the same state."""
    joined: list[StateBatch] = []
    for batch in batches:
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.last_offset + 1 == batch.first_offset
            and _rank(before) == _rank(batch)
        ):
            joined[-1] = before._replace(last_offset=batch.last_offset)
        else:
            joined.append(batch)
    return joined


def _rank(batch: StateBatch) -> tuple[int, int]:
    return batch.delivery_count, batch.state
