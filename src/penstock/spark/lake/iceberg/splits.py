"""Splits an Iceberg table into parts for tasks, and converts conditions to Iceberg's expressions."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyiceberg.expressions as ice
from pyiceberg.io.pyarrow import ArrowScan

from penstock.spark.lake.conditions import Condition, Operator
from penstock.spark.lake.splits import SPLIT_BYTES, pack


class IcebergSplit(msgspec.Struct, frozen=True, kw_only=True):
    """Files that pyiceberg reads: by field ids or name mapping, and without deleted rows."""

    metadata: Any
    io: Any
    tasks: list[Any]
    schema: pa.Schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = pa.schema([self.schema.field(name) for name in columns])
        scan = ArrowScan(self.metadata, self.io, self.metadata.schema().select(*columns), ice.AlwaysTrue())
        for task in self.tasks:  # one by one: pyiceberg keeps the rows of all tasks in memory
            for batch in scan.to_record_batches([task]):
                yield batch.select(wanted.names).cast(wanted)


def iceberg_splits(table: Any, tasks: Iterable[Any], schema: pa.Schema) -> Iterator[IcebergSplit]:
    """Group the files of the tasks. `schema` is the table's stored schema."""
    for group in pack(tasks, lambda task: int(task.file.file_size_in_bytes), SPLIT_BYTES):
        yield IcebergSplit(metadata=table.metadata, io=table.io, tasks=group, schema=schema)


def row_filter(conditions: Sequence[Condition]) -> Any:
    return functools.reduce(ice.And, map(_expression, conditions), ice.AlwaysTrue())


def _expression(condition: Condition) -> Any:
    make, value = _EXPRESSIONS[condition.operator], condition.value
    if value is None:
        return make(condition.column)
    return make(condition.column, [*map(_literal, value)] if isinstance(value, tuple) else _literal(value))


def _literal(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


_EXPRESSIONS: dict[Operator, Callable[..., Any]] = {
    "==": ice.EqualTo,
    ">": ice.GreaterThan,
    ">=": ice.GreaterThanOrEqual,
    "<": ice.LessThan,
    "<=": ice.LessThanOrEqual,
    "in": ice.In,
    "is null": ice.IsNull,
    "is not null": ice.NotNull,
    "starts with": ice.StartsWith,
}
