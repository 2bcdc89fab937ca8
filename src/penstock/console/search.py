"""A search through the records of a topic: matches, progress, limits. Pure."""

from collections.abc import Mapping
from typing import Final

from penstock.client.aio import FetchedPartition
from penstock.protocol.records.record import Record

SCANNED_MAX: Final = 2_000_000
MATCHES_MAX: Final = 500


class Needle:
    """Text in the key, the value, or either; ASCII in either case. Bytes are compared, so any text is found."""

    __slots__ = ("_in_key", "_in_value", "_text")

    def __init__(self, text: str, field: str) -> None:
        self._text = text.encode().lower()
        self._in_key = field in ("any", "key")
        self._in_value = field in ("any", "value")

    def is_in(self, record: Record) -> bool:
        if self._in_key and record.key is not None and self._text in record.key.lower():
            return True
        return self._in_value and record.value is not None and self._text in record.value.lower()


class Scan:
    """`reason` says why it ended early; None while it runs, and when it has read everything."""

    __slots__ = ("_begins", "_ends", "_matches", "_needle", "_positions", "_scanned", "reason")

    def __init__(self, needle: Needle, begins: Mapping[int, int], ends: Mapping[int, int]) -> None:
        self._needle = needle
        self._begins = dict(begins)
        self._positions = dict(begins)
        self._ends = ends
        self._scanned = 0
        self._matches = 0
        self.reason: str | None = None

    def wanted(self) -> dict[int, int]:
        """The next offsets to read."""
        return {p: offset for p, offset in self._positions.items() if offset < self._ends[p]}

    def matches_in(self, partition: int, fetched: FetchedPartition) -> list[Record]:
        """Return the matches among fetched records, and advance."""
        end = self._ends[partition]
        self._positions[partition] = min(end, max(fetched.next_offset, self._positions[partition]))
        found: list[Record] = []
        for record in fetched.records:
            if record.offset >= end or self.reason is not None:
                break
            self._scanned += 1
            if self._needle.is_in(record):
                found.append(record)
                self._matches += 1
            if self._matches >= MATCHES_MAX:
                self.reason = f"Stopped after {MATCHES_MAX} matches"
            elif self._scanned >= SCANNED_MAX:
                self.reason = f"Stopped after {SCANNED_MAX:,} messages"
        return found

    def progress(self) -> dict[str, int]:
        total = sum(self._ends[p] - begin for p, begin in self._begins.items())
        return {"scanned": self._scanned, "total": total, "matches": self._matches}
