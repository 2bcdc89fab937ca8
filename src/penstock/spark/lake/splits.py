"""Splits a table of files that Arrow reads into parts for tasks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds

SPLIT_BYTES = 128 << 20  # Spark's own default for files (spark.sql.files.maxPartitionBytes)
_BATCH_ROWS_MAX = 10_000  # Spark's own default (spark.sql.execution.arrow.maxRecordsPerBatch)

T = TypeVar("T")


def pack(items: Iterable[T], size_of: Callable[[T], int], limit_bytes: int) -> list[list[T]]:
    """Group items in order, up to `limit_bytes` each; a larger item forms a separate group."""
    groups: list[list[T]] = []
    room = 0
    for item in items:
        size = size_of(item)
        if size > room:
            groups.append([])
            room = limit_bytes
        groups[-1].append(item)
        room -= size
    return groups


class DatasetSplit(msgspec.Struct, frozen=True, kw_only=True):
    """Fragments of an Arrow dataset, with their partition values; old ones may lack columns."""

    fragments: list[ds.FileFragment]
    schema: pa.Schema
    predicate: ds.Expression | None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = pa.schema([self.schema.field(name) for name in columns])
        for fragment in self.fragments:
            scanner = fragment.scanner(
                schema=self.schema,
                columns=list(columns),
                filter=self.predicate,
                batch_size=_BATCH_ROWS_MAX,
                use_threads=False,
            )
            for batch in scanner.to_batches():
                yield batch.cast(wanted)


def dataset_splits(
    dataset: ds.Dataset, predicate: ds.Expression | None, schema: pa.Schema
) -> list[DatasetSplit]:
    """Split the files that may have rows for which the predicate is true."""
    fragments = dataset.get_fragments(filter=predicate)
    files = [fragment for fragment in fragments if isinstance(fragment, ds.FileFragment)]
    return [
        DatasetSplit(fragments=group, schema=schema, predicate=predicate)
        for group in pack(files, _size, SPLIT_BYTES)
    ]


def _size(fragment: ds.FileFragment) -> int:
    return int(fragment.filesystem.get_file_info(fragment.path).size or 0)
