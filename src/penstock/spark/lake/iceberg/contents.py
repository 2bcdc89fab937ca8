"""The files of an Iceberg table, as a merge sees them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.types import DateType, TimestampType, TimestamptzType
from pyiceberg.utils.datetime import days_to_date, micros_to_timestamp, micros_to_timestamptz

from penstock.spark.lake.iceberg.splits import IcebergSplit
from penstock.spark.lake.merge.contents import LiveFile
from penstock.spark.lake.partitions import text_of


class IcebergContents:
    """`schema` and `partition_by` are the table's."""

    def __init__(self, table: Any, schema: pa.Schema, partition_by: Sequence[str]) -> None:
        self._table = table
        self._schema = schema
        self._partition_by = partition_by
        self.columns: Sequence[str] = schema.names

    def live_files(self, columns: Sequence[str]) -> list[LiveFile]:
        fields = {
            name: self._table.schema().find_field(name) for name in columns if name in self._schema.names
        }
        return [self._file(task, fields) for task in self._table.scan().plan_files()]

    def _file(self, task: Any, fields: Mapping[str, Any]) -> LiveFile:
        file = task.file
        nulls = {name: file.null_value_counts.get(field.field_id) for name, field in fields.items()}
        return LiveFile(
            path=file.file_path,
            rows=file.record_count,
            size_bytes=file.file_size_in_bytes,
            partition={name: text_of(file.partition[at]) for at, name in enumerate(self._partition_by)},
            bounds={name: found for name, field in fields.items() if (found := _bounds(file, field))},
            nulls={name: count for name, count in nulls.items() if count is not None},
            handle=task,
        )

    def read(self, file: LiveFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        split = IcebergSplit(
            metadata=self._table.metadata, io=self._table.io, tasks=[file.handle], schema=self._schema
        )
        return split.batches(columns)


def _bounds(file: Any, field: Any) -> tuple[Any, Any] | None:
    low, high = file.lower_bounds.get(field.field_id), file.upper_bounds.get(field.field_id)
    if low is None or high is None:
        return None
    return _value(field.field_type, low), _value(field.field_type, high)


def _value(kind: Any, content: bytes) -> Any:
    """Iceberg stores times as numbers since 1970."""
    value = from_bytes(kind, content)
    if isinstance(kind, DateType):
        return days_to_date(value)
    if isinstance(kind, TimestampType):
        return micros_to_timestamp(value)
    return micros_to_timestamptz(value) if isinstance(kind, TimestamptzType) else value
