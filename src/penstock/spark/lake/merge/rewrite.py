"""Writes the files that take the place of touched ones: the same rows, without some, with others altered, and new ones.

Rows keep their places, so files keep covering narrow ranges of keys. A file that grows too large is sorted and split.
With history, versions that have ended go to files of their own, which later merges skip.
"""

import contextlib
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.spark.lake.files import DataFile, FileLayout, TableFiles, remove_files
from penstock.spark.lake.merge.groups import Numbers, sorted_by
from penstock.spark.lake.merge.rules import VALID_FROM, VALID_TO, MergeRules
from penstock.spark.lake.schema import conform


class Edits(msgspec.Struct, kw_only=True):
    """The changes to the rows of one file. Rows are counted from its begin."""

    dropped: list[Numbers] = []
    altered: list[Numbers] = []
    values: list[pa.Table] = []  # for the altered rows: all columns, or some
    added: list[pa.Table] = []

    def row_change(self) -> int:
        return sum(each.num_rows for each in self.added) - sum(map(len, self.dropped))


class NewFiles:
    """The files that a merge writes. `close` returns them; `abandon` removes them."""

    def __init__(self, layout: FileLayout, rules: MergeRules) -> None:
        self.layout = layout
        self._rules = rules
        self._done: list[DataFile] = []
        self._ended = TableFiles(layout)
        self._open: TableFiles | None = None

    @contextlib.contextmanager
    def group(self) -> Iterator[None]:
        """Write the rows of the block to files of their own."""
        self._open = TableFiles(self.layout)
        yield
        self._done += self._open.close()
        self._open = None

    def write(self, rows: pa.RecordBatch) -> None:
        assert self._open is not None, "rows are written in a group"
        if not self._rules.has_history:
            self._open.write(rows)
            return
        ended = pc.is_valid(rows.column(VALID_TO))
        for files, mask in ((self._open, pc.invert(ended)), (self._ended, ended)):
            chosen = rows.filter(mask)
            if chosen.num_rows:
                files.write(chosen)

    def write_sorted(self, rows: pa.Table, parts: int = 1) -> None:
        order = [*self._rules.key, *([VALID_FROM] if self._rules.has_history else [])]
        ordered = sorted_by(rows, order).combine_chunks()
        length = max(1, -(-rows.num_rows // parts))
        for at in range(0, rows.num_rows, length):
            with self.group():
                for batch in ordered.slice(at, length).to_batches():
                    self.write(batch)

    def close(self) -> list[DataFile]:
        return [*self._done, *self._ended.close()]

    def abandon(self) -> None:
        self._ended.abandon()
        if self._open is not None:
            self._open.abandon()
        remove_files(self.layout, [file.path for file in self._done])


def edited(batches: Iterator[pa.RecordBatch], edits: Edits, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file with the edits, and the added rows at its end."""
    dropped = _sorted_rows(edits.dropped)
    altered, values = _altered(edits)
    at = 0
    for batch in batches:
        rows = conform(batch, schema)
        low, high = np.searchsorted(altered, (at, at + rows.num_rows))
        if high > low:
            rows = _with_values(rows, altered[low:high] - at, values.slice(low, high - low))
        first, last = np.searchsorted(dropped, (at, at + rows.num_rows))
        at += rows.num_rows
        if last > first:
            keep = np.ones(rows.num_rows, dtype=np.bool_)
            keep[dropped[first:last] - (at - rows.num_rows)] = False
            rows = rows.filter(pa.array(keep))
        if rows.num_rows:
            yield rows
    for table in edits.added:
        for batch in table.to_batches():
            yield conform(batch, schema)


def _sorted_rows(parts: Sequence[Numbers]) -> Numbers:
    return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))


def _altered(edits: Edits) -> tuple[Numbers, pa.Table]:
    if not edits.altered:
        return np.zeros(0, dtype=np.int64), pa.table({})
    rows = np.concatenate(edits.altered)
    order = np.argsort(rows)
    return rows[order], pa.concat_tables(edits.values).take(order)


def _with_values(rows: pa.RecordBatch, at: Numbers, values: pa.Table) -> pa.RecordBatch:
    """Put values in place of those of some rows, in the columns that `values` has."""
    source = np.arange(rows.num_rows, dtype=np.int64)
    source[at] = rows.num_rows + np.arange(len(at), dtype=np.int64)
    columns = []
    for field in rows.schema:
        column = rows.column(field.name)
        if field.name in values.column_names:
            new = values.column(field.name).combine_chunks().cast(field.type)
            column = pa.concat_arrays([column, new]).take(pa.array(source, pa.int64()))
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)
