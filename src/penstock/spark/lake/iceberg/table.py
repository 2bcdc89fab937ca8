"""Iceberg tables, through `pyiceberg` and a SQLite catalog that lies with the table's metadata.

A batch is recorded as the table property `penstock.batch.<query id>`, set by the commit that adds the files. The
catalog accepts a commit only on the metadata it was made from, and pyiceberg's own retries are off: each attempt here
first checks whether the batch has been committed meanwhile. `metadata/version-hint.text` names the newest metadata for
readers without the catalog; it is written after the commit, so after a crash it is behind until the next one.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, TableAlreadyExistsError
from pyiceberg.expressions import And, GreaterThanOrEqual, LessThan
from pyiceberg.io.pyarrow import parquet_file_to_data_file

from penstock.spark.lake.compaction import Candidate, merge_small_files
from penstock.spark.lake.conditions import Condition
from penstock.spark.lake.errors import CommitConflict
from penstock.spark.lake.files import FileLayout, remove_files
from penstock.spark.lake.iceberg.cleanup import expired_snapshots, unreferenced_files
from penstock.spark.lake.iceberg.contents import IcebergContents
from penstock.spark.lake.iceberg.splits import iceberg_splits, row_filter
from penstock.spark.lake.merge.contents import Contents
from penstock.spark.lake.merge.deleted_keys import NO_STATE
from penstock.spark.lake.merge.rules import PROPERTY, decode_rules
from penstock.spark.lake.schema import table_schema
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

_NAMESPACE = "penstock"
_IDENTIFIER = (_NAMESPACE, "table")
_CATALOG_FILE = "metadata/penstock-catalog.db"
_NEW_CATALOG_FILE = "metadata/penstock-catalog.new.db"
_LOCK_FILE = "metadata/penstock-catalog.db.lock"
_CATALOG_TIMEOUT_S = 60
SNAPSHOTS_MAX = 200
SNAPSHOTS_KEPT = 100
_HINT_FILE = "metadata/version-hint.text"
_BATCH_PROPERTY = "penstock.batch."
_DELETED_KEYS = "penstock.deleted-keys"
_QUERY, _BATCH = "penstock.query-id", "penstock.batch-id"
_PROPERTIES = {
    "commit.retry.num-retries": "0",
    "commit.manifest-merge.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
}


class IcebergTable(OptimisticTable):
    can_widen = True
    can_merge = True
    conflict = CommitFailedException

    def layout(self, schema: pa.Schema, partition_by: tuple[str, ...]) -> FileLayout:
        return FileLayout(
            root=self.path,
            schema=_without_short_integers(schema),
            partition_by=partition_by,
            directory="data/",
            keeps_partition_columns=True,
        )

    def _create(self, commit: Commit, plan: WritePlan) -> bool:
        """Create an empty table, which stays if the commit fails; the files follow in the next attempt."""
        self._create_catalog()
        lost_race = contextlib.suppress(TableAlreadyExistsError, CommitFailedException)
        with self._catalog(_CATALOG_FILE) as catalog, lost_race:
            schema = _without_short_integers(plan.change.schema)
            made = catalog.create_table_transaction(
                _IDENTIFIER, schema, self.path, properties={**_PROPERTIES, **_rules_of(commit)}
            )
            with made, made.update_spec() as spec:
                for name in plan.partition_by:
                    spec.add_identity(name)
        return False

    def _create_catalog(self) -> None:
        """Create the catalog under another name and move it, so that a catalog that exists is complete."""
        with self._disk.locked(self._absolute(_LOCK_FILE)):
            if os.path.exists(self._absolute(_CATALOG_FILE)):
                return
            with self._catalog(_NEW_CATALOG_FILE, init_catalog_tables="true") as catalog:
                catalog.create_namespace_if_not_exists(_NAMESPACE)
            self._disk.move(self._absolute(_NEW_CATALOG_FILE), self._absolute(_CATALOG_FILE))

    def _change(self, table: Any, commit: Commit, plan: WritePlan) -> None:
        paths = [self._absolute(file.path) for file in commit.files]
        forgets = commit.deleted_keys != NO_STATE and commit.deleted_keys != self._deleted_keys_state(table)
        if not (paths or commit.removed or commit.replaces_all or plan.change or forgets):
            return
        with table.transaction() as change:
            if plan.change:
                with change.update_schema() as update:
                    update.union_by_name(plan.change.schema)
            if batch := commit.batch:
                change.set_properties({_BATCH_PROPERTY + batch.query_id: str(batch.batch_id)})
            if commit.changes:
                change.set_properties({**_rules_of(commit), _DELETED_KEYS: str(commit.deleted_keys)})
            removed = (
                _live_files(table) if commit.replaces_all else [each.handle.file for each in commit.removed]
            )
            summary = {_QUERY: batch.query_id, _BATCH: str(batch.batch_id)} if batch else {}
            _replace_files(change, table, removed, paths, summary)
        self._write_hint(table)
        self._expire_old_snapshots(table)

    def _replace_rows(self, table: Any, rows: pa.Table, column: str, bounds: tuple[str, str]) -> None:
        """The deletion and the new rows are two snapshots of one commit."""
        first, end = bounds
        with table.transaction() as change:
            change.overwrite(rows, And(GreaterThanOrEqual(column, first), LessThan(column, end)))
        self._write_hint(table)

    def _expire_old_snapshots(self, table: Any) -> None:
        """Drop old snapshots: every commit rewrites the metadata of all of them, so a stream must not collect them."""
        snapshots = sorted(table.snapshots(), key=lambda each: each.sequence_number)
        if len(snapshots) > SNAPSHOTS_MAX:
            old = [each.snapshot_id for each in snapshots[:-SNAPSHOTS_KEPT]]
            with contextlib.suppress(CommitConflict):  # the other writer will do it
                self._expire(table, old)

    def _write_hint(self, table: Any) -> None:
        name = os.path.basename(table.metadata_location).removesuffix(".metadata.json")
        self._disk.write(self._absolute(_HINT_FILE), name.encode())

    def live_paths(self) -> set[str]:
        with self._existing() as table:
            return {os.path.relpath(file.file_path, self.path) for file in _live_files(table)}

    def size(self) -> Size:
        with self._existing() as table:
            files = _live_files(table)
        return Size(
            rows=sum(file.record_count for file in files),
            files=len(files),
            size_bytes=sum(file.file_size_in_bytes for file in files),
        )

    def splits(self, conditions: Sequence[Condition] = ()) -> list[Split]:
        with self._existing() as table:
            tasks = list(table.scan(row_filter=row_filter(conditions)).plan_files())
            return list(iceberg_splits(table, tasks, self._state_of(table).schema))

    def history(self, limit: int) -> list[Version]:
        with self._existing() as table:
            snapshots = sorted(table.snapshots(), key=lambda each: each.sequence_number, reverse=True)
        return [_version(each) for each in snapshots[:limit]]

    def compact(self, file_size_bytes: int) -> Compaction:
        """Merge small files. A group of which another writer changed a file meanwhile is left as it is."""
        with self._existing() as table:
            state = self._state_of(table)
            tasks = {task.file.file_path: task for task in table.scan().plan_files()}
            layout = self.layout(state.schema, state.partition_by)

            def rows(paths: list[str]) -> Iterator[pa.RecordBatch]:
                for split in iceberg_splits(table, [tasks[path] for path in paths], state.schema):
                    yield from split.batches(state.schema.names)

            merges = merge_small_files(map(_candidate, tasks.values()), file_size_bytes, layout, rows)
        for table in self._attempts():
            live = {file.file_path: file for file in _live_files(table)}
            done = [merge for merge in merges if live.keys() >= set(merge.removed)]
            removed = [live[path] for merge in done for path in merge.removed]
            added = [file.path for merge in done for file in merge.added]
            if not removed:
                break
            with contextlib.suppress(CommitFailedException):
                with table.transaction() as change:
                    paths = [self._absolute(path) for path in added]
                    _replace_files(change, table, removed, paths, {"penstock.operation": "compact"})
                self._write_hint(table)
                break
        remove_files(layout, [file.path for merge in merges if merge not in done for file in merge.added])
        return Compaction(files_before=len(removed), files_after=len(added))

    def vacuum(self, age_ms: int, *, is_dry_run: bool) -> list[str]:
        """Expire snapshots of that age, and remove files that no other snapshot needs."""
        oldest_ms = self._now_ms() - age_ms
        with self._existing() as table:
            expired = expired_snapshots(table, oldest_ms)
            if expired and not is_dry_run:
                self._expire(table, expired)
            found = unreferenced_files(table, set(expired), oldest_ms, self.path, self._disk)
            merges = self._vacuum_merges(table, age_ms, is_dry_run=is_dry_run)
        if not is_dry_run:
            for path in found:
                self._disk.remove(self._absolute(path))
        return [*found, *merges]

    def _expire(self, table: Any, snapshots: list[int]) -> None:
        try:
            table.maintenance.expire_snapshots().by_ids(snapshots).commit()
        except CommitFailedException as error:
            raise self._conflict_error() from error
        self._write_hint(table)

    @contextlib.contextmanager
    def _catalog(self, name: str, init_catalog_tables: str = "false") -> Iterator[Any]:
        uri = f"sqlite:///{self._absolute(name)}?timeout={_CATALOG_TIMEOUT_S}"
        catalog = SqlCatalog(
            _NAMESPACE, uri=uri, warehouse=self.path, init_catalog_tables=init_catalog_tables
        )
        try:
            yield catalog
        finally:
            catalog.engine.dispose()

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any | None]:
        if not os.path.exists(self._absolute(_CATALOG_FILE)):
            yield None
            return
        with self._catalog(_CATALOG_FILE) as catalog:
            try:
                table = catalog.load_table(_IDENTIFIER)
            except NoSuchTableError:
                table = None
            yield table

    def _state_of(self, table: Any) -> TableState:
        schema = table.schema()
        return TableState(
            schema=table_schema(schema.as_arrow()),
            partition_by=tuple(schema.find_column_name(field.source_id) for field in table.spec().fields),
            merge_rules=decode_rules(table.properties.get(PROPERTY)),
        )

    def _contents(self, table: Any) -> Contents:
        state = self._state_of(table)
        return IcebergContents(table, self.path, state.schema, state.partition_by)

    def _deleted_keys_state(self, table: Any) -> int:
        return int(table.properties.get(_DELETED_KEYS, NO_STATE))

    def _last_batch(self, table: Any, query_id: str) -> int:
        return int(table.properties.get(_BATCH_PROPERTY + query_id, -1))


def _rules_of(commit: Commit) -> dict[str, str]:
    return {PROPERTY: commit.changes.rules.encode()} if commit.changes else {}


def _without_short_integers(schema: pa.Schema) -> pa.Schema:
    """Iceberg's integers begin at 32 bits."""
    short = (pa.int8(), pa.int16())
    return pa.schema([field.with_type(pa.int32()) if field.type in short else field for field in schema])


def _live_files(table: Any) -> list[Any]:
    return [task.file for task in table.scan().plan_files()]


def _replace_files(
    change: Any, table: Any, removed: list[Any], paths: list[str], summary: dict[str, str]
) -> None:
    """Stage a snapshot without the removed files and with those at the paths."""
    if change.table_metadata.name_mapping() is None:  # our files carry names, not Iceberg's field ids
        mapping = change.table_metadata.schema().name_mapping.model_dump_json()
        change.set_properties({"schema.name-mapping.default": mapping})
    if not (removed or paths):
        return
    update = change.update_snapshot(snapshot_properties=summary)
    with update.overwrite() if removed else update.merge_append() as snapshot:
        for file in removed:
            snapshot.delete_data_file(file)
        for path in paths:
            snapshot.append_data_file(parquet_file_to_data_file(table.io, change.table_metadata, path))


def _candidate(task: Any) -> Candidate:
    file = task.file
    partition = (file.spec_id, *(file.partition[at] for at in range(len(file.partition))))
    return Candidate(path=file.file_path, size_bytes=file.file_size_in_bytes, partition=partition)


def _version(snapshot: Any) -> Version:
    summary = snapshot.summary.additional_properties
    batch_id = summary.get(_BATCH)
    return Version(
        version=str(snapshot.snapshot_id),
        timestamp_ms=snapshot.timestamp_ms,
        operation=summary.get("penstock.operation", snapshot.summary.operation.value),
        rows_added=int(summary.get("added-records", 0)),
        files_added=int(summary.get("added-data-files", 0)),
        files_removed=int(summary.get("deleted-data-files", 0)),
        query_id=summary.get(_QUERY),
        batch_id=None if batch_id is None else int(batch_id),
    )
