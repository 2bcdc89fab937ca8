"""Delta tables, through `deltalake`. A batch is recorded as the table's application transaction `(query id, batch id)`.

The commit that adds the files also records the batch; Delta's log refuses it if another commit recorded a batch of the
same query since the table was read. New columns are added in a separate commit before it, which changes no row;
Delta has no way to widen a type that all its readers know.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, cast
from urllib.parse import unquote

import deltalake
import msgspec
import pyarrow as pa
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from penstock.spark.lake.compaction import Candidate
from penstock.spark.lake.conditions import Condition, arrow_expression
from penstock.spark.lake.delta_contents import DeltaContents
from penstock.spark.lake.errors import TableError, storage_errors
from penstock.spark.lake.files import DataFile, FileLayout
from penstock.spark.lake.merge.contents import Contents, LiveFile
from penstock.spark.lake.merge.deleted_keys import NO_STATE
from penstock.spark.lake.merge.rules import PROPERTY, MergeRules, decode_rules
from penstock.spark.lake.schema import SchemaChange, table_schema
from penstock.spark.lake.splits import dataset_splits
from penstock.spark.lake.storage_options import settings_for
from penstock.spark.lake.table import (
    Commit,
    Compaction,
    OptimisticTable,
    Size,
    Split,
    TableState,
    Version,
    WritePlan,
)

_HOUR_MS = 3_600_000
_DELETED_KEYS = "penstock.deleted-keys"  # every merge sets it, so that of two at the same time one is refused
_LOG = "_delta_log"
_QUERY, _BATCH, _ROWS, _ADDED = (f"penstock.{name}" for name in ("queryId", "batchId", "rows", "files"))


class DeltaTable(OptimisticTable):
    can_widen = False
    can_merge = True
    conflict = CommitFailedError

    def layout(self, schema: pa.Schema, partition_by: tuple[str, ...]) -> FileLayout:
        return FileLayout(location=self.location, schema=schema, partition_by=partition_by)

    def _create(self, commit: Commit, plan: WritePlan) -> bool:
        if commit.changes:  # these are merged into the empty table
            commit = msgspec.structs.replace(commit, files=(), batch=None)
        try:
            create_table_with_add_actions(
                self.path,
                deltalake.Schema.from_arrow(plan.change.schema),
                self._adds(commit),
                mode="error",
                partition_by=list(plan.partition_by),
                commit_properties=_properties(commit),
                storage_options=self._storage_options(),
            )
        except DeltaError:
            if self._load() is not None:  # another writer was first
                return False
            raise
        return commit.changes is None

    def _change(self, table: Any, commit: Commit, plan: WritePlan) -> None:
        if plan.change:
            _add_columns(table, plan.change)
        if commit.merge_rules and self._state_of(table).merge_rules is None:
            _set_rules(table, commit.merge_rules)
        forgets = commit.deleted_keys != NO_STATE and commit.deleted_keys != self._deleted_keys_state(table)
        if not (commit.files or commit.removed or commit.replaces_all or forgets):
            return
        table.create_write_transaction(
            [*self._adds(commit), *(self._remove(file) for file in commit.removed)],
            mode="overwrite" if commit.replaces_all else "append",
            schema=table.schema(),
            partition_by=list(plan.partition_by),
            commit_properties=_properties(commit),
        )

    def _replace_rows(self, table: Any, rows: pa.Table, column: str, bounds: tuple[str, str]) -> None:
        first, end = bounds
        name = f'"{column}"'
        predicate = f"{name} >= '{first}' AND {name} < '{end}'"
        deltalake.write_deltalake(table, rows, mode="overwrite", predicate=predicate)

    def _adds(self, commit: Commit) -> list[Any]:
        return [_add(file, self._now_ms()) for file in commit.files]

    def _remove(self, file: LiveFile) -> Any:
        return RemoveAction(
            path=file.path,
            data_change=True,
            deletion_timestamp=self._now_ms(),
            size=file.size_bytes,
            partition_values=dict(file.partition),
        )

    def _contents(self, table: Any) -> Contents:
        state = self._state_of(table)
        return DeltaContents(table, state.schema, state.partition_by)

    def _deleted_keys_state(self, table: Any) -> int:
        return int(table.transaction_version(_DELETED_KEYS) or NO_STATE)

    def _last_batch(self, table: Any, query_id: str) -> int:
        last: int | None = table.transaction_version(query_id)
        return -1 if last is None else last

    def _state_of(self, table: Any) -> TableState:
        return TableState(
            schema=table_schema(pa.schema(table.schema().to_arrow())),
            partition_by=tuple(table.metadata().partition_columns),
            merge_rules=decode_rules(table.metadata().configuration.get(PROPERTY)),
        )

    def live_paths(self) -> set[str]:
        """Delta's log has paths as URIs; `file_uris` would encode the root and not the rest."""
        return {unquote(path) for path in cast("list[str]", self._add_actions()["path"].to_pylist())}

    def files(self) -> list[Candidate]:
        adds = self._add_actions()
        partitions = [name for name in adds.column_names if name.startswith("partition.")]
        return [
            Candidate(
                path=unquote(row["path"]),
                size_bytes=row["size_bytes"],
                partition=tuple(row[name] for name in partitions),
            )
            for row in adds.select(["path", "size_bytes", *partitions]).to_pylist()
        ]

    def size(self) -> Size:
        adds = self._add_actions()
        rows: list[Any] = adds["num_records"].to_pylist()
        sizes: list[Any] = adds["size_bytes"].to_pylist()
        with self._existing() as table:
            known = sum(rows) if None not in rows else table.count()
        return Size(rows=known, files=adds.num_rows, size_bytes=sum(sizes))

    def _add_actions(self) -> pa.Table:
        with self._existing() as table:
            return pa.table(table.get_add_actions(flatten=True))

    def splits(self, conditions: Sequence[Condition] = ()) -> list[Split]:
        with self._existing() as table:
            try:
                dataset = table.to_pyarrow_dataset()
            except DeltaError as error:  # a feature of Delta that this library does not read
                raise TableError(f"table {self.path} cannot be read: {error}") from error
            return list(dataset_splits(dataset, arrow_expression(conditions), self._state_of(table).schema))

    def history(self, limit: int) -> list[Version]:
        with self._existing() as table:
            return [_version(entry) for entry in table.history(limit)]

    def compact(self, file_size_bytes: int) -> Compaction:
        with self._existing() as table:
            try:
                metrics = table.optimize.compact(target_size=file_size_bytes)
            except CommitFailedError as error:
                raise self._conflict_error() from error
        return Compaction(files_before=metrics["numFilesRemoved"], files_after=metrics["numFilesAdded"])

    def vacuum(self, age_ms: int, *, is_dry_run: bool) -> list[str]:
        """Delta counts the age in whole hours, so it is rounded up."""
        with self._existing() as table:
            found: list[str] = table.vacuum(
                retention_hours=-(-age_ms // _HOUR_MS),
                dry_run=is_dry_run,
                enforce_retention_duration=False,
                full=True,
            )
            merges = self._unneeded_merge_files(table, self._store, self._now_ms() - age_ms)
        if not is_dry_run:
            self._store.remove(merges)
        return [*found, *merges]

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any | None]:
        with storage_errors(self.path):
            yield self._load()

    def _load(self) -> Any | None:
        if not self.location.is_remote and not self._store.exists(
            _LOG
        ):  # deltalake would create the directory
            return None
        try:
            return deltalake.DeltaTable(self.path, storage_options=self._storage_options())
        except TableNotFoundError:
            return None
        except DeltaError as error:
            raise TableError(f"the Delta table at {self.path} cannot be read: {error}") from error

    def _storage_options(self) -> dict[str, str] | None:
        """Commits are conditional puts, which deltalake does by itself."""
        return settings_for(self.location).for_deltalake() if self.location.is_remote else None


def _add_columns(table: Any, change: SchemaChange) -> None:
    added = pa.schema([change.schema.field(name) for name in change.added])
    table.alter.add_columns(list(deltalake.Schema.from_arrow(added).fields))
    table.update_incremental()


def _add(file: DataFile, now_ms: int) -> Any:
    return AddAction(
        path=file.path,
        size=file.size_bytes,
        partition_values=file.partition,
        modification_time=now_ms,
        data_change=True,
        stats=file.statistics,
    )


def _properties(commit: Commit) -> Any:
    metadata: dict[str, Any] = {_ROWS: sum(file.rows for file in commit.files), _ADDED: len(commit.files)}
    transactions = []
    if batch := commit.batch:
        metadata |= {_QUERY: batch.query_id, _BATCH: batch.batch_id}
        transactions.append(deltalake.Transaction(batch.query_id, batch.batch_id))
    if commit.changes:
        transactions.append(deltalake.Transaction(_DELETED_KEYS, commit.deleted_keys))
    return deltalake.CommitProperties(custom_metadata=metadata, app_transactions=transactions or None)


def _set_rules(table: Any, rules: MergeRules) -> None:
    """Set them in a commit of its own: deltalake creates no table with properties of other programs."""
    table.alter.set_table_properties({PROPERTY: rules.encode()}, raise_if_not_exists=False)
    table.update_incremental()


def _version(entry: dict[str, Any]) -> Version:
    metrics = entry.get("operationMetrics") or {}
    batch_id = entry.get(_BATCH)
    return Version(
        version=str(entry["version"]),
        timestamp_ms=entry["timestamp"],
        operation=entry["operation"].lower(),
        rows_added=entry.get(_ROWS),
        files_added=entry.get(_ADDED, metrics.get("numFilesAdded")),
        files_removed=metrics.get("numFilesRemoved"),
        query_id=entry.get(_QUERY),
        batch_id=None if batch_id is None else int(batch_id),
    )
