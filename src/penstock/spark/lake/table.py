"""The interface of a table, which every table format implements for the sink, the reader and the command line."""

import contextlib
import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

import msgspec
import pyarrow as pa

from penstock.events import now_ms
from penstock.spark.lake.compaction import Candidate
from penstock.spark.lake.conditions import Condition
from penstock.spark.lake.errors import CommitConflict, TableError
from penstock.spark.lake.files import DataFile, FileLayout, remove_files
from penstock.spark.lake.location import Location, location_of
from penstock.spark.lake.merge import deleted_keys, staging
from penstock.spark.lake.merge.contents import Contents, LiveFile
from penstock.spark.lake.merge.deleted_keys import NO_STATE, DeletedKeys
from penstock.spark.lake.merge.merge import Changes, Merge
from penstock.spark.lake.merge.rules import MergeRules, check_rules
from penstock.spark.lake.merge.staging import StagedChanges
from penstock.spark.lake.partitions import check_partition_columns
from penstock.spark.lake.schema import SchemaChange, change_for, table_schema
from penstock.spark.lake.store import Store, open_store

_COMMIT_ATTEMPTS_MAX = 20  # a commit that lost against another writer is retried on the new state


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """The batch of a query that rows belong to: a table accepts each once."""

    query_id: str
    batch_id: int


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    files: Sequence[DataFile] = ()
    schema: pa.Schema
    partition_by: tuple[str, ...] = ()
    replaces_all: bool = False
    merge_schema: bool = False
    batch: Batch | None = None
    merge_rules: MergeRules | None = (
        None  # the rows are merged by these rules, and `schema` is that of the result
    )
    changes: Changes | None = None  # the files hold changes to merge
    removed: Sequence[LiveFile] = ()
    deleted_keys: int = NO_STATE  # the state of the deleted keys that belongs to the table from now on


class TableState(msgspec.Struct, frozen=True, kw_only=True):
    schema: pa.Schema
    partition_by: tuple[str, ...]
    merge_rules: MergeRules | None = None  # of a table with one row for each key


class WritePlan(msgspec.Struct, frozen=True, kw_only=True):
    """How a commit changes the schema of a table, and how the table is partitioned."""

    change: SchemaChange
    partition_by: tuple[str, ...]


class Version(msgspec.Struct, frozen=True, kw_only=True):
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


class RowRange(msgspec.Struct, frozen=True, kw_only=True):
    """The rows whose value of a column is in a range. Null is in none."""

    column: str
    start: dt.datetime
    end: dt.datetime  # exclusive

    def bounds(self, schema: pa.Schema, where: str) -> tuple[str, str]:
        """Return both ends as texts for the type of the column. Raises TableError if it is no time."""
        kind = schema.field(self.column).type if self.column in schema.names else None
        if kind is None or not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
            found = "there is no such column" if kind is None else f"its type is {kind}"
            raise TableError(f"table {where} has no time or date in column {self.column}: {found}")
        if pa.types.is_date(kind):
            if self.start.time() != dt.time() or self.end.time() != dt.time():
                raise TableError(
                    f"column {self.column} has dates: the range must begin and end at midnight, UTC"
                )
            return self.start.date().isoformat(), self.end.date().isoformat()
        zone: object = getattr(kind, "tz", None)
        start, end = (each if zone else each.replace(tzinfo=None) for each in (self.start, self.end))
        return start.isoformat(), end.isoformat()


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    files_before: int
    files_after: int


class Split(Protocol):
    """The part of a table that one task reads. Pickled on the driver, read on an executor."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]: ...


class Table(ABC):
    """The table at a location, which need not exist. Every call looks at the table as it is then."""

    can_widen: ClassVar[bool]  # whether a column can get a wider type
    can_merge: ClassVar[bool] = False  # whether changes can be merged into it

    def __init__(
        self, location: Location | str, store: Store | None = None, now_ms: Callable[[], int] = now_ms
    ) -> None:
        self.location = location_of(location) if isinstance(location, str) else location
        self.path = self.location.path  # for messages
        self._given_store = store
        self._now_ms = now_ms

    @property
    def _store(self) -> Store:
        """The files below the table's root."""
        return self._given_store or open_store(self.location)

    def verify(self) -> None:
        """Check that the table can be read and written; raise TableError with the reason if not."""
        self._store.verify()
        self.state()

    @abstractmethod
    def state(self) -> TableState | None: ...

    @abstractmethod
    def layout(self, schema: pa.Schema, partition_by: tuple[str, ...]) -> FileLayout: ...

    @abstractmethod
    def commit(self, commit: Commit) -> bool:
        """Do one transaction; return false if the batch was committed before."""

    def replace_rows(self, rows: pa.Table, replaced: RowRange) -> None:  # noqa: ARG002 - some formats can
        """Delete the rows of the range and add others, in one transaction."""
        raise TableError(
            f"table {self.path} cannot replace rows in one commit: only Delta and Iceberg tables can. "
            f"Write the range to a new table"
        )

    @abstractmethod
    def live_paths(self) -> set[str]:
        """Return the paths of the table's current files, relative to its root."""

    @abstractmethod
    def files(self) -> list[Candidate]:
        """Return the table's current files."""

    @abstractmethod
    def size(self) -> Size: ...

    @abstractmethod
    def splits(self, conditions: Sequence[Condition] = ()) -> list[Split]: ...

    @abstractmethod
    def history(self, limit: int) -> list[Version]: ...

    @abstractmethod
    def compact(self, file_size_bytes: int) -> Compaction:
        """Merge small files into files of about this size."""

    @abstractmethod
    def vacuum(self, age_ms: int, *, is_dry_run: bool) -> list[str]:
        """Remove files of at least this age that no reader needs; return their paths."""

    def plan_write(self, state: TableState | None, commit: Commit) -> WritePlan:
        """Return how the commit changes the table; raise TableError for rows that do not fit."""
        self._check_merge_rules(state, commit.merge_rules)
        change = change_for(
            state.schema if state else None,
            commit.schema,
            where=self.path,
            merge_schema=commit.merge_schema,
            can_widen=self.can_widen,
        )
        if state and commit.partition_by and commit.partition_by != state.partition_by:
            current = ", ".join(state.partition_by)
            kept = f"partitioned by {current}" if current else "not partitioned"
            raise TableError(
                f"table {self.path} is {kept}, not by {', '.join(commit.partition_by)}: "
                "leave partition_by out, or write to another path"
            )
        columns = state.partition_by if state else commit.partition_by
        check_partition_columns(change.schema, columns, self.path)
        widened = [name for name in change.widened if name in columns]
        if widened:
            raise TableError(
                f"table {self.path} is partitioned by {', '.join(widened)}: cast the rows to its type"
            )
        return WritePlan(change=change, partition_by=columns)

    def _check_merge_rules(self, state: TableState | None, rules: MergeRules | None) -> None:
        if rules and not self.can_merge:
            raise TableError(
                f"table {self.path} is of Parquet files, of which readers would see replaced rows twice: upsert into "
                "a Delta or an Iceberg table (table_format=delta)"
            )
        if state is None or (rules and state.merge_rules is None and not self.live_paths()):
            return
        check_rules(state.merge_rules, rules, where=self.path)


class OptimisticTable(Table):
    """A table whose log accepts one of several concurrent commits; the others are retried on the new state."""

    conflict: ClassVar[type[Exception]]  # raised by the library for a commit that lost

    @abstractmethod
    def _open(self) -> contextlib.AbstractContextManager[Any | None]:
        """Open the library's table; None if there is none."""

    @abstractmethod
    def _state_of(self, table: Any) -> TableState: ...

    @abstractmethod
    def _last_batch(self, table: Any, query_id: str) -> int:
        """Return the last committed batch of a query, or -1."""

    @abstractmethod
    def _contents(self, table: Any) -> Contents: ...

    @abstractmethod
    def _deleted_keys_state(self, table: Any) -> int: ...

    @abstractmethod
    def _create(self, commit: Commit, plan: WritePlan) -> bool:
        """Create the table; return whether that committed the files too."""

    @abstractmethod
    def _change(self, table: Any, commit: Commit, plan: WritePlan) -> None:
        """Commit to the table that exists. Raises `conflict` if another commit was first."""

    def state(self) -> TableState | None:
        with self._open() as table:
            return None if table is None else self._state_of(table)

    def commit(self, commit: Commit) -> bool:
        batch = commit.batch
        for _ in range(_COMMIT_ATTEMPTS_MAX):
            with self._open() as table, contextlib.suppress(self.conflict):
                if table is None:
                    if self._create(commit, self.plan_write(None, commit)):
                        return True
                    continue
                if batch and self._last_batch(table, batch.query_id) >= batch.batch_id:
                    return False
                plan = self.plan_write(self._state_of(table), commit)
                if commit.merge_rules and commit.changes:
                    self._merge(table, commit, plan, commit.merge_rules, commit.changes)
                else:
                    self._change(table, commit, plan)
                return True
        raise self._conflict_error()

    def _merge(
        self, table: Any, commit: Commit, plan: WritePlan, rules: MergeRules, changes: Changes
    ) -> None:
        """Merge the changes into the table as it is now, and commit the result."""
        layout = changes.output_layout(self.layout(plan.change.schema, plan.partition_by))
        order = pa.schema([layout.schema.field(name) for name in rules.columns])
        remembered = DeletedKeys(layout.store, self._deleted_keys_state(table), order)
        staged = StagedChanges(changes.layout, commit.files)
        merge = Merge(self._contents(table), layout, rules, remembered)
        merged = merge.run(staged.parts(rules.key[0]), in_place=not staged.is_large)
        result = msgspec.structs.replace(
            commit,
            files=merged.added,
            removed=merged.removed,
            deleted_keys=remembered.with_added(merged.deletions, self._now_ms(), rules.delete_retention_ms),
        )
        try:
            self._change(table, result, plan)
        except self.conflict:
            remove_files(layout, [file.path for file in merged.added])
            raise

    def _unneeded_merge_files(self, table: Any, store: Store, oldest_ms: int) -> list[str]:
        """Return old files beside the table's: of failed merges, and of earlier deleted keys."""
        needed = DeletedKeys(store, self._deleted_keys_state(table), pa.schema([])).paths
        return [
            file.path
            for directory in (deleted_keys.DIRECTORY, staging.DIRECTORY)
            for file in store.files(directory)
            if file.path not in needed and file.modified_ms <= oldest_ms
        ]

    @contextlib.contextmanager
    def _existing(self) -> Iterator[Any]:
        with self._open() as table:
            if table is None:
                raise TableError(
                    f"there is no {type(self).__name__.removesuffix('Table')} table at {self.path}"
                )
            yield table

    def _attempts(self) -> Iterator[Any]:
        """Yield the table for each attempt at a change; the caller breaks when one succeeds."""
        for _ in range(_COMMIT_ATTEMPTS_MAX):
            with self._existing() as table:
                yield table
        raise self._conflict_error()

    def replace_rows(self, rows: pa.Table, replaced: RowRange) -> None:
        for table in self._attempts():
            state = self._state_of(table)
            self.plan_write(state, Commit(schema=table_schema(rows.schema)))
            with contextlib.suppress(self.conflict):
                self._replace_rows(
                    table,
                    _fitted(rows, state.schema),
                    replaced.column,
                    replaced.bounds(state.schema, self.path),
                )
                return

    @abstractmethod
    def _replace_rows(self, table: Any, rows: pa.Table, column: str, bounds: tuple[str, str]) -> None:
        """Commit to the table. Raises `conflict` if another commit was first."""

    def _conflict_error(self) -> CommitConflict:
        return CommitConflict(f"table {self.path} was changed by other writers at the same time: try again")


def _fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the rows with the columns of the table; columns that they lack are null."""
    columns = [
        rows.column(field.name).cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
