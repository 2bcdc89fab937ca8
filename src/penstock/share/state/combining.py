"""State batches laid over each other.

For every offset the batch with the higher delivery count counts, and of two with the same count the one with the higher
state, as in Kafka: a write that is repeated, or that comes late, takes nothing back.

What is kept is a list of batches in the order of their offsets that do not overlap; neighbours differ. A batch that is
laid over it changes only the part of the list that it touches.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import attrgetter

from penstock.share.values import StateBatch

_first_offset = attrgetter("first_offset")
_last_offset = attrgetter("last_offset")


def lay_over(kept: list[StateBatch], batches: Iterable[StateBatch]) -> None:
    for batch in batches:
        touched_from = bisect_left(kept, batch.first_offset, key=_last_offset)
        touched_to = bisect_right(kept, batch.last_offset, key=_first_offset)
        pieces = _combined(kept[touched_from:touched_to], batch)
        with_neighbours = slice(max(0, touched_from - 1), touched_to + 1)
        kept[with_neighbours] = _joined(
            [*kept[with_neighbours.start : touched_from], *pieces, *kept[touched_to : with_neighbours.stop]]
        )


def cut_before(kept: list[StateBatch], start_offset: int) -> None:
    """Forget what lies before the start offset."""
    del kept[: bisect_left(kept, start_offset, key=_last_offset)]
    if kept and kept[0].first_offset < start_offset:
        kept[0] = kept[0]._replace(first_offset=start_offset)


def _combined(below: list[StateBatch], above: StateBatch) -> list[StateBatch]:
    """What becomes of batches that all overlap with the one above them."""
    pieces: list[StateBatch] = []
    next_offset = above.first_offset
    for old in below:
        if old.first_offset < above.first_offset:
            pieces.append(old._replace(last_offset=above.first_offset - 1))
        elif next_offset < old.first_offset:
            pieces.append(above._replace(first_offset=next_offset, last_offset=old.first_offset - 1))
        first, last = max(old.first_offset, above.first_offset), min(old.last_offset, above.last_offset)
        winner = old if _rank(old) > _rank(above) else above
        pieces.append(winner._replace(first_offset=first, last_offset=last))
        if old.last_offset > above.last_offset:
            pieces.append(old._replace(first_offset=above.last_offset + 1))
        next_offset = last + 1
    if next_offset <= above.last_offset:
        pieces.append(above._replace(first_offset=next_offset))
    return pieces


def _joined(batches: list[StateBatch]) -> list[StateBatch]:
    """The same with neighbours that do not differ made one."""
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
