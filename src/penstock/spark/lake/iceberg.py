"""Iceberg tables, through `pyiceberg` and a SQLite catalog that lies with the table's metadata.

A batch is recorded as the table property `penstock.batch.<query id>`, set by the commit that adds the files. The
catalog takes a commit only on the metadata it was made from, and pyiceberg's own retries are off: each try here looks
first whether the batch has been committed meanwhile. `metadata/version-hint.text` names the newest metadata for readers
without the catalog; it is written after the commit, and after a crash is behind until the next.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, TableAlreadyExistsError
from pyiceberg.io.pyarrow import parquet_file_to_data_file

from penstock.spark.lake.compaction import Candidate, groups_to_merge
from penstock.spark.lake.conditions import Condition
from penstock.spark.lake.disk import Disk
from penstock.spark.lake.errors import CommitConflict, TableError
from penstock.spark.lake.files import FileLayout, remove_files, write_files
from penstock.spark.lake.iceberg_cleanup import expired_snapshots, unreferenced_files
from penstock.spark.lake.iceberg_shares import iceberg_shares, row_filter
from penstock.spark.lake.schema import table_schema
from penstock.spark.lake.table import (
    COMMIT_ATTEMPTS_MAX,
    Batch,
    Commit,
    Compaction,
    Fit,
    Share,
    Size,
    TableState,
    Version,
    fit,
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
_QUERY, _BATCH = "penstock.query-id", "penstock.batch-id"
_PROPERTIES = {
    "commit.retry.num-retries": "0",
    "commit.manifest-merge.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
}


class IcebergTable:
    """The table at a path, whether it exists or not."""

    __slots__ = ("_disk", "_now_ms", "path")
    can_widen = True

    def __init__(
        self,
        path: str,
        disk: Disk | None = None,
        now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self.path = path
        self._disk = disk or Disk()
        self._now_ms = now_ms

    def state(self) -> TableState | None:
        with self._opened() as table:
            return _state(table) if table else None

    def layout(self, schema: pa.Schema, partition_by: tuple[str, ...]) -> FileLayout:
        return FileLayout(
            root=self.path,
            schema=_without_short_integers(schema),
            partition_by=partition_by,
            directory="data/",
            keeps_partition_columns=True,
        )

    def create(self, schema: pa.Schema, partition_by: tuple[str, ...]) -> None:
        self.commit(Commit(files=(), schema=schema, partition_by=partition_by))

    def commit(self, commit: Commit) -> bool:
        paths = [os.path.join(self.path, file.path) for file in commit.files]
        for _ in range(COMMIT_ATTEMPTS_MAX):
            with self._opened() as table:
                if table and _is_committed(table, commit.batch):
                    return False
                fitted = fit(
                    self,
                    _state(table) if table else None,
                    commit.schema,
                    commit.partition_by,
                    merge_schema=commit.merge_schema,
                )
                if table is None:
                    self._create(fitted)
                    continue
                with contextlib.suppress(CommitFailedException):
                    self._change(table, commit, fitted, paths)
                    return True
        raise CommitConflict(
            f"table {self.path} was changed by others {COMMIT_ATTEMPTS_MAX} times while committing: try again"
        )

    def _create(self, fitted: Fit) -> None:
        """An empty table: a commit that then fails leaves it behind, which harms nobody."""
        self._create_catalog()
        others_first = contextlib.suppress(TableAlreadyExistsError, CommitFailedException)
        with self._catalog(_CATALOG_FILE) as catalog, others_first:
            schema = _without_short_integers(fitted.change.schema)
            made = catalog.create_table_transaction(_IDENTIFIER, schema, self.path, properties=_PROPERTIES)
            with made, made.update_spec() as spec:
                for name in fitted.partition_by:
                    spec.add_identity(name)

    def _create_catalog(self) -> None:
        """Aside, so that a catalog that is there is complete."""
        with self._disk.locked(os.path.join(self.path, _LOCK_FILE)):
            if self._disk.exists(os.path.join(self.path, _CATALOG_FILE)):
                return
            with self._catalog(_NEW_CATALOG_FILE, init_catalog_tables="true") as catalog:
                catalog.create_namespace_if_not_exists(_NAMESPACE)
            self._disk.move(*(os.path.join(self.path, name) for name in (_NEW_CATALOG_FILE, _CATALOG_FILE)))

    def _change(self, table: Any, commit: Commit, fitted: Fit, paths: list[str]) -> None:
        if not (paths or commit.replaces_all or fitted.change):
            return
        with table.transaction() as change:
            if fitted.change:
                with change.update_schema() as update:
                    update.union_by_name(fitted.change.schema)
            if commit.batch:
                change.set_properties({_BATCH_PROPERTY + commit.batch.query_id: str(commit.batch.batch_id)})
            removed = _live(table) if commit.replaces_all else []
            _exchange(change, table, removed, paths, _summary(commit.batch))
        self._write_hint(table)
        self._forget_old_snapshots(table)

    def _forget_old_snapshots(self, table: Any) -> None:
        """Every commit reads and writes what is known of all snapshots, so a stream must not collect them for ever."""
        snapshots = sorted(table.snapshots(), key=lambda each: each.sequence_number)
        if len(snapshots) > SNAPSHOTS_MAX:
            old = [each.snapshot_id for each in snapshots[:-SNAPSHOTS_KEPT]]
            with contextlib.suppress(CommitConflict):  # whoever was faster will do it
                self._expire(table, old)

    def _write_hint(self, table: Any) -> None:
        name = os.path.basename(table.metadata_location).removesuffix(".metadata.json")
        self._disk.write(os.path.join(self.path, _HINT_FILE), name.encode())

    def live_paths(self) -> set[str]:
        with self._existing() as table:
            return {os.path.relpath(file.file_path, self.path) for file in _live(table)}

    def size(self) -> Size:
        with self._existing() as table:
            files = _live(table)
        return Size(
            rows=sum(file.record_count for file in files),
            files=len(files),
            size_bytes=sum(file.file_size_in_bytes for file in files),
        )

    def shares(self, conditions: Sequence[Condition] = ()) -> list[Share]:
        with self._existing() as table:
            tasks = list(table.scan(row_filter=row_filter(conditions)).plan_files())
            return list(iceberg_shares(table, tasks, _state(table).schema))

    def history(self, limit: int) -> list[Version]:
        with self._existing() as table:
            snapshots = sorted(table.snapshots(), key=lambda each: each.sequence_number, reverse=True)
        return [_version(each) for each in snapshots[:limit]]

    def compact(self, file_size_bytes: int) -> Compaction:
        """Merge small files; where others have changed one of them meanwhile, the files it was to make are dropped."""
        with self._existing() as table:
            state = _state(table)
            tasks = {task.file.file_path: task for task in table.scan().plan_files()}
            groups = groups_to_merge(map(_candidate, tasks.values()), file_size_bytes)
            layout = self.layout(state.schema, state.partition_by)
            merged = []
            for group in groups:
                shares = iceberg_shares(table, [tasks[file.path] for file in group], state.schema)
                rows = (batch for share in shares for batch in share.batches(state.schema.names))
                merged.append((group, write_files(layout, rows)))
        for _ in range(COMMIT_ATTEMPTS_MAX):
            with self._existing() as table:
                live = {file.file_path: file for file in _live(table)}
                kept = [pair for pair in merged if all(file.path in live for file in pair[0])]
                removed = [live[file.path] for group, _ in kept for file in group]
                added = [file for _, files in kept for file in files]
                if not removed:
                    break
                with contextlib.suppress(CommitFailedException):
                    with table.transaction() as change:
                        paths = [os.path.join(self.path, file.path) for file in added]
                        _exchange(change, table, removed, paths, {"penstock.operation": "compact"})
                    self._write_hint(table)
                    break
        else:
            raise CommitConflict(f"table {self.path} was changed by others all the time: compact it later")
        dropped = [file.path for pair in merged if pair not in kept for file in pair[1]]
        remove_files(layout, dropped)
        return Compaction(files_before=len(removed), files_after=len(added))

    def vacuum(self, age_ms: int, *, is_dry_run: bool) -> list[str]:
        """Snapshots of that age are forgotten, and files removed that no other snapshot needs."""
        oldest_ms = self._now_ms() - age_ms
        with self._existing() as table:
            expired = expired_snapshots(table, oldest_ms)
            if expired and not is_dry_run:
                self._expire(table, expired)
            found = unreferenced_files(table, set(expired), oldest_ms, self.path, self._disk)
        if not is_dry_run:
            for path in found:
                self._disk.remove(os.path.join(self.path, path))
        return found

    def _expire(self, table: Any, snapshots: list[int]) -> None:
        try:
            table.maintenance.expire_snapshots().by_ids(snapshots).commit()
        except CommitFailedException as error:
            raise CommitConflict(f"table {self.path} was changed by others meanwhile: try again") from error
        self._write_hint(table)

    @contextlib.contextmanager
    def _catalog(self, name: str, init_catalog_tables: str = "false") -> Iterator[Any]:
        uri = f"sqlite:///{os.path.join(self.path, name)}?timeout={_CATALOG_TIMEOUT_S}"
        catalog = SqlCatalog(
            _NAMESPACE, uri=uri, warehouse=self.path, init_catalog_tables=init_catalog_tables
        )
        try:
            yield catalog
        finally:
            catalog.engine.dispose()

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any | None]:
        if not os.path.exists(os.path.join(self.path, _CATALOG_FILE)):
            yield None
            return
        with self._catalog(_CATALOG_FILE) as catalog:
            try:
                table = catalog.load_table(_IDENTIFIER)
            except NoSuchTableError:
                table = None
            yield table

    @contextlib.contextmanager
    def _existing(self) -> Iterator[Any]:
        with self._opened() as table:
            if table is None:
                raise TableError(f"there is no Iceberg table of Penstock at {self.path}")
            yield table


def open_table(path: str) -> IcebergTable:
    return IcebergTable(path)


def _state(table: Any) -> TableState:
    schema = table.schema()
    return TableState(
        schema=table_schema(schema.as_arrow()),
        partition_by=tuple(schema.find_column_name(field.source_id) for field in table.spec().fields),
    )


def _without_short_integers(schema: pa.Schema) -> pa.Schema:
    """Iceberg's integers begin at 32 bits."""
    short = (pa.int8(), pa.int16())
    return pa.schema([field.with_type(pa.int32()) if field.type in short else field for field in schema])


def _is_committed(table: Any, batch: Batch | None) -> bool:
    if batch is None:
        return False
    return int(table.properties.get(_BATCH_PROPERTY + batch.query_id, -1)) >= batch.batch_id


def _summary(batch: Batch | None) -> dict[str, str]:
    return {_QUERY: batch.query_id, _BATCH: str(batch.batch_id)} if batch else {}


def _live(table: Any) -> list[Any]:
    return [task.file for task in table.scan().plan_files()]


def _exchange(change: Any, table: Any, removed: list[Any], paths: list[str], summary: dict[str, str]) -> None:
    """Stage a snapshot without the removed files and with those at the paths."""
    if (
        change.table_metadata.name_mapping() is None
    ):  # files written here carry names, not Iceberg's field ids
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
    told = snapshot.summary.additional_properties
    batch_id = told.get(_BATCH)
    return Version(
        version=str(snapshot.snapshot_id),
        timestamp_ms=snapshot.timestamp_ms,
        operation=told.get("penstock.operation", snapshot.summary.operation.value),
        rows_added=int(told.get("added-records", 0)),
        files_added=int(told.get("added-data-files", 0)),
        files_removed=int(told.get("deleted-data-files", 0)),
        query_id=told.get(_QUERY),
        batch_id=None if batch_id is None else int(batch_id),
    )
