"""What each table format does for the sink, the reader and the command line."""

from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

import msgspec
import pyarrow as pa

from penstock.spark.lake.conditions import Condition
from penstock.spark.lake.errors import TableError
from penstock.spark.lake.files import DataFile, FileLayout
from penstock.spark.lake.partitions import check_columns
from penstock.spark.lake.schema import SchemaChange, change_for

Format = Literal["delta", "iceberg", "parquet"]
FORMATS: tuple[Format, ...] = ("delta", "iceberg", "parquet")
COMMIT_ATTEMPTS_MAX = 20  # a commit that others got ahead of is tried again on what they made


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Which batch of which query rows belong to: a table takes each once."""

    query_id: str
    batch_id: int


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """What one transaction does to a table."""

    files: Sequence[DataFile]
    schema: pa.Schema
    partition_by: tuple[str, ...] = ()
    replaces_all: bool = False
    merge_schema: bool = False
    batch: Batch | None = None


class TableState(msgspec.Struct, frozen=True, kw_only=True):
    schema: pa.Schema
    partition_by: tuple[str, ...]


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a table's history."""

    version: str
    timestamp_ms: int
    operation: str
    rows_added: int | None = None
    files_added: int | None = None
    files_removed: int | None = None
    query_id: str | None = None
    batch_id: int | None = None


class Size(msgspec.Struct, frozen=True, kw_only=True):
    rows: int
    files: int
    size_bytes: int


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    files_before: int
    files_after: int


class Share(Protocol):
    """A part of a table that one task reads. Pickled on the driver, read on an executor."""

    @property
    def size_bytes(self) -> int: ...

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]: ...


class Table(Protocol):
    """A table at a path, in one of the formats. Every call looks at the table as it is then."""

    path: str
    can_widen: bool

    def state(self) -> TableState | None: ...
    def layout(self, schema: pa.Schema, partition_by: tuple[str, ...]) -> FileLayout: ...
    def create(self, schema: pa.Schema, partition_by: tuple[str, ...]) -> None: ...
    def commit(self, commit: Commit) -> bool:
        """Make one transaction; false where the batch was committed before and nothing was done."""
        ...

    def live_paths(self) -> set[str]:
        """The files of the table as it is, below its root."""
        ...

    def size(self) -> Size: ...
    def shares(self, conditions: Sequence[Condition] = ()) -> list[Share]: ...
    def history(self, limit: int) -> list[Version]: ...
    def compact(self, file_size_bytes: int) -> Compaction: ...
    def vacuum(self, age_ms: int, *, is_dry_run: bool) -> list[str]: ...


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """How rows fit a table as it is at that moment."""

    change: SchemaChange
    partition_by: tuple[str, ...]


def fit(
    table: Table,
    state: TableState | None,
    rows: pa.Schema,
    partition_by: tuple[str, ...],
    *,
    merge_schema: bool,
) -> Fit:
    """What the table becomes by rows of this schema, or an error that names what does not fit."""
    known = state.schema if state else None
    change = change_for(known, rows, where=table.path, merge_schema=merge_schema, can_widen=table.can_widen)
    if state and partition_by and partition_by != state.partition_by:
        kept = f"partitioned by {', '.join(state.partition_by)}" if state.partition_by else "not partitioned"
        raise TableError(
            f"table {table.path} is {kept}, not by {', '.join(partition_by)}: "
            "leave partition_by out, or write to another path"
        )
    columns = state.partition_by if state else partition_by
    check_columns(change.schema, columns, table.path)
    widened = [name for name in change.widened if name in columns]
    if widened:
        raise TableError(
            f"table {table.path} is partitioned by {', '.join(widened)}: cast the rows to its type"
        )
    return Fit(change=change, partition_by=columns)
