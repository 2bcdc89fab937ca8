"""Which records of a dead-letter partition were replayed: all below a position, and some after it. Pure.

Stored as the committed offset of a consumer group: the offset is the first record that was not replayed, and the
commit's metadata lists the replayed ones after it as ranges: `12-15,20,22-30`. Offsets without a record (the markers
of transactions) count with the record after them, so that they split no range.
"""

import bisect

# Kafka's `offset.metadata.max.bytes`.
METADATA_CHARACTERS_MAX = 4096


class TooManyRanges(Exception):
    """The replayed records are in more ranges than a commit can hold."""


class Progress:
    """The replayed offsets of one partition, added in any order."""

    __slots__ = ("_begins", "_ends", "_position")

    def __init__(self, position: int, metadata: str = "") -> None:
        self._position = position
        self._begins: list[int] = []
        self._ends: list[int] = []  # the last offset of each range
        for piece in filter(None, metadata.split(",")):
            begin, _, end = piece.partition("-")
            if begin.isdecimal() and (end or begin).isdecimal():  # metadata of another program is ignored
                self.add(int(begin), int(end or begin))

    @property
    def position(self) -> int:
        return self._position

    def has(self, offset: int) -> bool:
        if offset < self._position:
            return True
        at = bisect.bisect_right(self._begins, offset) - 1
        return at >= 0 and offset <= self._ends[at]

    def add(self, begin: int, end: int) -> None:
        """Mark all offsets from `begin` to `end`, both included, as replayed."""
        if end < max(begin, self._position):
            return
        first = bisect.bisect_left(self._ends, begin - 1)
        last = bisect.bisect_right(self._begins, end + 1)
        if first < last:
            begin, end = min(begin, self._begins[first]), max(end, self._ends[last - 1])
        self._begins[first:last], self._ends[first:last] = [begin], [end]
        if self._begins[0] <= self._position:
            self._position = max(self._position, self._ends[0] + 1)
            del self._begins[0], self._ends[0]

    def metadata(self) -> str:
        pieces = (
            str(begin) if begin == end else f"{begin}-{end}"
            for begin, end in zip(self._begins, self._ends, strict=True)
        )
        text = ",".join(pieces)
        if len(text) > METADATA_CHARACTERS_MAX:
            raise TooManyRanges
        return text
