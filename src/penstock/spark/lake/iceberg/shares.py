"""Splits an Iceberg table into parts for tasks, and converts conditions to Iceberg's expressions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyiceberg.expressions as ice
from pyiceberg.io.pyarrow import ArrowScan

from penstock.spark.lake.conditions import Condition
from penstock.spark.lake.shares import SHARE_BYTES, packed


class IcebergShare(msgspec.Struct, frozen=True, kw_only=True):
    """Files that pyiceberg reads: by field ids or name mapping, and without deleted rows."""

    metadata: Any
    io: Any
    tasks: list[Any]
    schema: pa.Schema
    size_bytes: int

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = pa.schema([self.schema.field(name) for name in columns])
        scan = ArrowScan(self.metadata, self.io, self.metadata.schema().select(*columns), ice.AlwaysTrue())
        for task in self.tasks:  # one by one: pyiceberg keeps the rows of all tasks in memory
            for batch in scan.to_record_batches([task]):
                yield batch.select(wanted.names).cast(wanted)


def iceberg_shares(table: Any, tasks: Iterable[Any], schema: pa.Schema) -> Iterator[IcebergShare]:
    """Group the files of the tasks. `schema` is the table's stored schema."""
    for group in packed(tasks, lambda task: int(task.file.file_size_in_bytes), SHARE_BYTES):
        yield IcebergShare(
            metadata=table.metadata,
            io=table.io,
            tasks=group,
            schema=schema,
            size_bytes=sum(task.file.file_size_in_bytes for task in group),
        )


def row_filter(conditions: Sequence[Condition]) -> Any:
    """Return the conjunction of all conditions."""
    found = ice.AlwaysTrue()
    for condition in conditions:
        found = ice.And(found, _expression(condition))
    return found


def _expression(condition: Condition) -> Any:
    name, value = condition.column, condition.value
    match condition.operator:
        case "is null":
            return ice.IsNull(name)
        case "is not null":
            return ice.NotNull(name)
        case "in":
            return ice.In(name, [_literal(each) for each in value])
        case "starts with":
            return ice.StartsWith(name, value)
        case comparison:
            return _COMPARISONS[comparison](name, _literal(value))


def _literal(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


_COMPARISONS: dict[str, Callable[[str, Any], Any]] = {
    "==": ice.EqualTo,
    ">": ice.GreaterThan,
    ">=": ice.GreaterThanOrEqual,
    "<": ice.LessThan,
    "<=": ice.LessThanOrEqual,
}
