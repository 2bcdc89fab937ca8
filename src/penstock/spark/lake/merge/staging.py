"""The files with the changes of a batch, from the tasks that write them to the merge on the driver.

The merge takes as many changes at a time as fit its memory, each time those of a range of keys.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.spark.lake.errors import TableError
from penstock.spark.lake.files import DataFile, FileLayout
from penstock.spark.lake.location import Location
from penstock.spark.lake.merge.rules import MergeRules, check_keys, check_order

DIRECTORY = "_penstock/changes/"


def change_layout(location: Location, changes: pa.Schema) -> FileLayout:
    """Return where the tasks write their changes: below the table, where no reader of the table looks."""
    return FileLayout(location=location, schema=changes, directory=DIRECTORY)


def checked(batches: Iterator[pa.RecordBatch], rules: MergeRules, where: str) -> Iterator[pa.RecordBatch]:
    """Refuse changes without a key before anything is merged."""
    for batch in batches:
        check_keys(batch, rules.key, where)
        check_order(batch, rules, where)
        yield batch


class StagedChanges:
    MEMORY_BYTES_MAX = 256 << 20

    def __init__(self, layout: FileLayout, files: Sequence[DataFile]) -> None:
        self._layout = layout
        self._files = files

    @property
    def is_large(self) -> bool:
        return self._size_bytes() > self.MEMORY_BYTES_MAX

    def parts(self, first_key: str) -> Iterator[pa.Table]:
        """Yield all changes, or those of one range of the key's first column after the other."""
        if not self.is_large:
            yield self._read(None)
            return
        limits = self._limits(first_key)
        field = pc.field(first_key)
        lows: list[Any] = [None, *limits]
        highs: list[Any] = [*limits, None]
        for low, high in zip(lows, highs, strict=True):
            above = pc.scalar(True) if low is None else field >= low
            below = pc.scalar(True) if high is None else field < high
            yield self._read(above & below)

    def _limits(self, first_key: str) -> list[Any]:
        """Return the values that split the changes into parts of about the size that fits."""
        count = -(-self._size_bytes() // self.MEMORY_BYTES_MAX)
        keys = pa.concat_tables([pq.read_table(each, columns=[first_key]) for each in self._opened()])
        column = keys.column(first_key)
        step = max(1, len(column) // (count * 100))
        sample = column.take(np.arange(0, len(column), step))
        ordered = sample.take(pc.sort_indices(sample))
        chosen = [ordered[at * len(ordered) // count] for at in range(1, count)]
        return sorted({value.as_py(): value for value in chosen}.values(), key=lambda value: value.as_py())

    def _size_bytes(self) -> int:
        footers = [pq.read_metadata(each) for each in self._opened()]
        groups = (footer.row_group(at) for footer in footers for at in range(footer.num_row_groups))
        return sum(group.total_byte_size for group in groups)

    def _read(self, condition: pc.Expression | None) -> pa.Table:
        schema = self._layout.schema
        tables = [pq.read_table(each, filters=condition, schema=schema) for each in self._opened()]
        return pa.concat_tables([schema.empty_table(), *tables])

    def _opened(self) -> Iterator[pa.BufferReader]:
        """Yield the content of each file, one at a time."""
        for file in self._files:
            content = self._layout.store.read(self._layout.write_path(file.path))
            if content is None:
                raise TableError(f"{file.path} was removed before its changes were merged: write again")
            yield pa.BufferReader(content)
