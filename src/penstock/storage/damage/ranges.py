"""The damaged ranges of one log, as far as they are known: their records are not served.

A check of a segment adds and removes them; so do a repair, a truncation and the deletion of records. Damaged
segments are not compacted.
"""

from collections.abc import Callable, Iterable, Iterator

from penstock.storage.damage.damage import Damage


class DamagedRanges:
    """Ascending by offset, without overlaps. Only the event loop calls it."""

    __slots__ = ("_on_change", "_ranges")

    def __init__(self, ranges: Iterable[Damage] = (), on_change: Callable[[], None] = lambda: None) -> None:
        """`on_change` is called when a range was added or removed."""
        self._ranges = _ordered(ranges)
        self._on_change = on_change

    def __iter__(self) -> Iterator[Damage]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    def __repr__(self) -> str:
        return f"DamagedRanges({list(self._ranges)})"

    def bounds(self, segment: int, offset: int) -> tuple[int, int | None]:
        """The positions in a segment, given by its base offset, between which the valid batches around `offset` lie.

        The second is None if they reach to the end of the segment.
        """
        begin, end = 0, None
        for each in self._ranges:
            if each.segment != segment:
                continue
            if each.next_offset <= offset:
                begin = max(begin, each.position + each.size_bytes)
            elif each.base_offset > offset:
                end = each.position if end is None else min(end, each.position)
        return begin, end

    def set_found(self, segment: int, found: Iterable[Damage]) -> None:
        """A check of the whole segment with this base offset has found exactly these."""
        self._set([*(each for each in self._ranges if each.segment != segment), *found])

    def remember(self, known: Iterable[Damage], segment_sizes: dict[int, int], begin: int, end: int) -> None:
        """Add the damage known before a restart, as far as the log still has it.

        `segment_sizes` are the bytes of its segments by base offset; the log has the offsets from `begin` to `end`.
        """
        kept = list(self._ranges)
        for each in known:
            is_there = (
                begin < each.next_offset <= end
                and each.position + each.size_bytes <= segment_sizes.get(each.segment, 0)
                and not any(_overlap(each, other) for other in kept)
            )
            if is_there:
                kept.append(each)
        self._set(kept)

    def remove(self, damage: Damage) -> None:
        """Its bytes were repaired."""
        self._set(each for each in self._ranges if each != damage)

    def truncate_to(self, end_offset: int) -> None:
        self._set(each for each in self._ranges if each.next_offset <= end_offset)

    def start_at(self, offset: int) -> None:
        """The records below were deleted."""
        self._set(each for each in self._ranges if each.next_offset > offset)

    def clear(self) -> None:
        self._set(())

    def _set(self, ranges: Iterable[Damage]) -> None:
        ordered = _ordered(ranges)
        if ordered != self._ranges:
            self._ranges = ordered
            self._on_change()


def _ordered(ranges: Iterable[Damage]) -> tuple[Damage, ...]:
    return tuple(sorted(ranges, key=lambda each: each.base_offset))


def _overlap(one: Damage, other: Damage) -> bool:
    return one.base_offset < other.next_offset and other.base_offset < one.next_offset
