"""Iceberg tables, through `pyiceberg` and a catalog (`catalogs`).

A batch is recorded as the table property `penstock.batch.<query id>`, set by the commit that adds the files. The
catalog accepts a commit only on the metadata it was made from, and pyiceberg's own retries are off: each attempt here
first checks whether the batch has been committed meanwhile.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException, TableAlreadyExistsError
from pyiceberg.expressions import And, GreaterThanOrEqual, LessThan
from pyiceberg.io.pyarrow import parquet_file_to_data_file
from pyiceberg.transforms import IdentityTransform

from penstock.spark.lake.compaction import Candidate, merge_small_files
from penstock.spark.lake.conditions import Condition
from penstock.spark.lake.disk import Disk
from penstock.spark.lake.errors import CommitConflict, TableError
from penstock.spark.lake.files import FileLayout, remove_files
from penstock.spark.lake.iceberg.catalogs import NamedCatalog, PathCatalog, TableCatalog
from penstock.spark.lake.iceberg.cleanup import expired_snapshots, unreferenced_files
from penstock.spark.lake.iceberg.contents import IcebergContents
from penstock.spark.lake.iceberg.splits import iceberg_splits, row_filter
from penstock.spark.lake.location import Location
from penstock.spark.lake.merge.contents import Contents
from penstock.spark.lake.merge.deleted_keys import NO_STATE
from penstock.spark.lake.merge.rules import PROPERTY, decode_rules
from penstock.spark.lake.schema import table_schema
from penstock.spark.lake.store import open_store
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

SNAPSHOTS_MAX = 200
SNAPSHOTS_KEPT = 100
_BATCH_PROPERTY = "penstock.batch."
_DELETED_KEYS = "penstock.deleted-keys"
_QUERY, _BATCH = "penstock.query-id", "penstock.batch-id"
_PROPERTIES = {
    "commit.manifest-merge.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
}


class IcebergTable(OptimisticTable):
    can_widen = True
    can_merge = True
    conflict = CommitFailedException

    @property
    def _catalog(self) -> TableCatalog:
        if self.location.catalog is not None:
            return NamedCatalog(self.location)
        store = self._store
        assert isinstance(store, Disk), self.path
        return PathCatalog(self.location, store)

    def verify(self) -> None:
        """A catalog chooses the place of a new table, so it is checked when there is one."""
        if self.location.catalog is None:
            super().verify()
            return
        with self._open() as table:
            if table is not None:
                open_store(self._catalog.files_of(table)).verify()

    def layout(self, schema: pa.Schema, partition_by: tuple[str, ...]) -> FileLayout:
        return FileLayout(
            location=self._files_location(schema, partition_by),
            schema=_without_short_integers(schema),
            partition_by=partition_by,
            directory="data/",
            keeps_partition_columns=True,
        )

    def _files_location(self, schema: pa.Schema, partition_by: tuple[str, ...]) -> Location:
        """Return the root of the files. A catalog may choose it when the table is created, so it is created then."""
        if self.location.catalog is None:
            return self.location
        with self._open() as table:
            if table is not None:
                self._check_partitions(table)
                return self._catalog.files_of(table)
        self._create_empty(schema, partition_by)
        with self._existing() as table:
            return self._catalog.files_of(table)

    def _check_partitions(self, table: Any) -> None:
        computed = [
            field for field in table.spec().fields if not isinstance(field.transform, IdentityTransform)
        ]
        if computed:
            listed = ", ".join(f"{field.name} ({field.transform})" for field in computed)
            raise TableError(
                f"table {self.path} is partitioned by computed values, {listed}, which cannot be written: "
                "write to a table that is partitioned by columns"
            )

    def _create(self, commit: Commit, plan: WritePlan) -> bool:
        """Create an empty table, which stays if the commit fails; the files follow in the next attempt."""
        self._create_empty(plan.change.schema, plan.partition_by, _rules_of(commit))
        return False

    def _create_empty(
        self, schema: pa.Schema, partition_by: tuple[str, ...], rules: Mapping[str, str] | None = None
    ) -> None:
        self._catalog.prepare()
        lost_race = contextlib.suppress(TableAlreadyExistsError, CommitFailedException)
        with self._catalog.open() as catalog, lost_race:
            assert catalog is not None, self.path
            made = catalog.create_table_transaction(
                self._catalog.identifier,
                _without_short_integers(schema),
                self._catalog.new_table_path(),
                properties={**_PROPERTIES, **(rules or {})},
            )
            with made, made.update_spec() as spec:
                for name in partition_by:
                    spec.add_identity(name)

    def _change(self, table: Any, commit: Commit, plan: WritePlan) -> None:
        paths = _absolute(table, [file.path for file in commit.files])
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
        self._catalog.on_commit(table)
        self._expire_old_snapshots(table)

    def _replace_rows(self, table: Any, rows: pa.Table, column: str, bounds: tuple[str, str]) -> None:
        """The deletion and the new rows are two snapshots of one commit."""
        first, end = bounds
        with table.transaction() as change:
            change.overwrite(rows, And(GreaterThanOrEqual(column, first), LessThan(column, end)))
        self._catalog.on_commit(table)

    def _expire_old_snapshots(self, table: Any) -> None:
        """Drop old snapshots: every commit rewrites the metadata of all of them, so a stream must not collect them.

        In a catalog others may need them; there `maintain:` or the catalog's owner says how long they are kept.
        """
        if self.location.catalog is not None:
            return
        snapshots = sorted(table.snapshots(), key=lambda each: each.sequence_number)
        if len(snapshots) > SNAPSHOTS_MAX:
            old = [each.snapshot_id for each in snapshots[:-SNAPSHOTS_KEPT]]
            with contextlib.suppress(CommitConflict):  # the other writer will do it
                self._expire(table, old)

    def live_paths(self) -> set[str]:
        with self._existing() as table:
            root = f"{table.location().rstrip('/')}/"
            return {file.file_path.removeprefix(root) for file in _live_files(table)}

    def files(self) -> list[Candidate]:
        with self._existing() as table:
            return [_candidate(task) for task in table.scan().plan_files()]

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
                    paths = _absolute(table, added)
                    _replace_files(change, table, removed, paths, {"penstock.operation": "compact"})
                self._catalog.on_commit(table)
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
            store = open_store(self._catalog.files_of(table))
            found = unreferenced_files(table, set(expired), oldest_ms, store)
            found += self._unneeded_merge_files(table, store, oldest_ms)
        if not is_dry_run:
            store.remove(found)
        return found

    def _expire(self, table: Any, snapshots: list[int]) -> None:
        try:
            table.maintenance.expire_snapshots().by_ids(snapshots).commit()
        except CommitFailedException as error:
            raise self._conflict_error() from error
        self._catalog.on_commit(table)

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any | None]:
        with self._catalog.open() as catalog:
            yield self._catalog.load_table(catalog)

    def _state_of(self, table: Any) -> TableState:
        schema = table.schema()
        return TableState(
            schema=table_schema(schema.as_arrow()),
            partition_by=tuple(schema.find_column_name(field.source_id) for field in table.spec().fields),
            merge_rules=decode_rules(table.properties.get(PROPERTY)),
        )

    def _contents(self, table: Any) -> Contents:
        state = self._state_of(table)
        return IcebergContents(table, state.schema, state.partition_by)

    def _deleted_keys_state(self, table: Any) -> int:
        return int(table.properties.get(_DELETED_KEYS, NO_STATE))

    def _last_batch(self, table: Any, query_id: str) -> int:
        return int(table.properties.get(_BATCH_PROPERTY + query_id, -1))


def _rules_of(commit: Commit) -> dict[str, str]:
    return {PROPERTY: commit.merge_rules.encode()} if commit.merge_rules else {}


def _without_short_integers(schema: pa.Schema) -> pa.Schema:
    """Iceberg's integers begin at 32 bits."""
    short = (pa.int8(), pa.int16())
    return pa.schema([field.with_type(pa.int32()) if field.type in short else field for field in schema])


def _absolute(table: Any, paths: Sequence[str]) -> list[str]:
    """Return paths below the table's root as Iceberg records them."""
    return [f"{table.location().rstrip('/')}/{path}" for path in paths]


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
