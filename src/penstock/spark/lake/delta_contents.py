"""The files of a Delta table, as a merge sees them."""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as ds

from penstock.spark.lake.merge.contents import LiveFile
from penstock.spark.lake.partitions import text_of
from penstock.spark.lake.splits import DatasetSplit


class DeltaContents:
    """`schema` and `partition_by` are the table's."""

    def __init__(self, table: Any, schema: pa.Schema, partition_by: Sequence[str]) -> None:
        self._table = table
        self._schema = schema
        self._partition_by = partition_by
        self.columns: Sequence[str] = schema.names

    def live_files(self, columns: Sequence[str]) -> list[LiveFile]:
        adds = pa.table(self._table.get_add_actions(flatten=True))
        if not adds.num_rows:
            return []
        dataset = self._table.to_pyarrow_dataset()
        fragments = {fragment.path: fragment for fragment in dataset.get_fragments()}
        return [self._file(add, fragments[unquote(add["path"])], columns) for add in adds.to_pylist()]

    def _file(
        self, add: dict[str, Any], fragment: ds.ParquetFileFragment, columns: Sequence[str]
    ) -> LiveFile:
        values = {name: add[f"partition.{name}"] for name in self._partition_by}
        bounds = {name: (values[name], values[name]) for name in columns if values.get(name) is not None}
        for name in columns:
            low, high = add.get(f"min.{name}"), add.get(f"max.{name}")
            if low is not None and high is not None:
                bounds[name] = (low, high)
        rows = add["num_records"]
        return LiveFile(
            path=unquote(add["path"]),
            rows=fragment.metadata.num_rows if rows is None else rows,
            size_bytes=add["size_bytes"],
            partition={name: text_of(value) for name, value in values.items()},
            bounds=bounds,
            nulls={name: nulls for name in columns if (nulls := add.get(f"null_count.{name}")) is not None},
            handle=fragment,
        )

    def read(self, file: LiveFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        fragments = [file.handle]
        return DatasetSplit(fragments=fragments, schema=self._schema, predicate=None).batches(columns)
