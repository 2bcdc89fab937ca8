"""Finds which records a filter can match: partitions, offsets, times. Pure.

DuckDB passes the filter of a scan as an expression of Arrow. Arrow decides whether an expression can be true for a file
whose rows are known to satisfy another one; so a range of offsets is described as such a file. Bounds are found by
bisection, which works for every expression that Arrow can decide and never excludes a record that matches.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import fs

Expression = Any  # pyarrow.compute.Expression

_NO_TIME_MS: Final = -1  # of records without a time
_TIME_MS_MAX: Final = 253_402_300_799_999  # the end of the year 9999
_FORMAT: Final = ds.ParquetFileFormat()
_FILES: Final = fs.LocalFileSystem()


class _Column(msgspec.Struct, frozen=True):
    name: str
    type: Any
    unit: int  # of the numbers that are searched, in those of the column


_OFFSETS: Final = _Column("_offset", pa.int64(), 1)
_TIMES: Final = _Column("_timestamp", pa.timestamp("us", "UTC"), 1000)


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The records of a partition that a filter can match: offsets and times from `first` to `last` (inclusive).

    A time is None where the filter does not limit it.
    """

    first: int
    last: int
    first_ms: int | None = None
    last_ms: int | None = None


class Filter:
    """A filter over the columns of `schema`; None matches everything."""

    def __init__(self, expression: Expression | None, schema: pa.Schema) -> None:
        self._expression = expression
        self._schema = schema
        self._times: dict[
            int | None, tuple[int, int] | None
        ] = {}  # by partition, if the filter names partitions
        self.columns = frozenset() if expression is None else _columns_of(expression, schema)

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch if self._expression is None else batch.filter(self._expression)

    def wanted(self, partition: int, start: int, end: int) -> Wanted | None:
        """Return the part of a partition with offsets from `start` to `end` (exclusive) that can match."""
        here = pc.field("_partition") == pa.scalar(partition, pa.int32())
        if start >= end or not self._may_match(here):
            return None
        first, last = start, end - 1
        if "_offset" in self.columns:
            bounds = self._bounds(here, _OFFSETS, start, end - 1)
            if bounds is None:
                return None
            first, last = bounds
        if "_timestamp" not in self.columns:
            return Wanted(first=first, last=last)
        key = partition if "_partition" in self.columns else None
        if key not in self._times:
            self._times[key] = self._bounds(here, _TIMES, _NO_TIME_MS, _TIME_MS_MAX)
        times = self._times[key]
        if times is None:
            return None
        first_ms, last_ms = times
        return Wanted(
            first=first,
            last=last,
            first_ms=None if first_ms == _NO_TIME_MS else first_ms,
            last_ms=None if last_ms == _TIME_MS_MAX else last_ms,
        )

    def _may_match(self, known: Expression) -> bool:
        if self._expression is None:
            return True
        fragment = _FORMAT.make_fragment("/", _FILES, partition_expression=known)
        files = ds.FileSystemDataset([fragment], self._schema, _FORMAT, _FILES)
        return any(True for _ in files.get_fragments(filter=self._expression))

    def _bounds(
        self, known: Expression, searched: "_Column", least: int, most: int
    ) -> tuple[int, int] | None:
        """Return the first and the last value between `least` and `most` that can match."""

        def limit(value: int) -> Any:
            return pa.scalar(value * searched.unit, searched.type)

        field = pc.field(searched.name)

        def may_match(low: int, high: int) -> bool:
            return self._may_match(known & (field >= limit(low)) & (field <= limit(high)))

        if not may_match(least, most):
            return None
        first = _smallest(least, most, lambda value: may_match(least, value))
        last = -_smallest(-most, -first, lambda value: may_match(-value, most))
        return first, last


def _smallest(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the smallest number for which it holds; it holds for `high` and all above the result."""
    if holds(low):
        return low
    while low + 1 < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def _columns_of(expression: Expression, schema: pa.Schema) -> frozenset[str]:
    """An expression does not list its columns, but it cannot be bound to a table that lacks one of them."""
    return frozenset(name for name in schema.names if not _binds(expression, schema, [name]))


def _binds(expression: Expression, schema: pa.Schema, without: Iterable[str]) -> bool:
    kept = pa.schema([field for field in schema if field.name not in without])
    try:
        kept.empty_table().filter(expression)
    except pa.ArrowInvalid:
        return False
    return True
