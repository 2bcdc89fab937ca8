"""Plain Parquet directories, with commits. `manifest` describes what is on disk.

The live files are those that any reader of the directory sees: `*.parquet` outside `_penstock`. Tasks write to
`_penstock/staging`; one link decides a commit, which is then applied by moving files. If a writer stops between the
two, the next one to open the table finishes its commit. All of it happens under the table's lock, so that readers of
this module never see half a commit; a reader that lists the directory may see the first files of a batch before the
last.
"""

import os
import uuid
from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import fs

from penstock.spark.lake.compaction import Candidate, merge_small_files
from penstock.spark.lake.conditions import Condition, arrow_expression
from penstock.spark.lake.disk import Disk
from penstock.spark.lake.errors import TableError
from penstock.spark.lake.files import DataFile, FileLayout, staged_path
from penstock.spark.lake.parquet.manifest import (
    COMMITS,
    LOCK,
    PENDING,
    STAGING,
    TABLE_FILE,
    Manifest,
    decode_manifest,
    decode_table,
    encode_table,
    query_directory,
)
from penstock.spark.lake.partitions import value_of, values_in
from penstock.spark.lake.splits import DatasetSplit, dataset_splits
from penstock.spark.lake.table import Batch, Commit, Compaction, Size, Split, Table, TableState, Version


class ParquetTable(Table):
    can_widen = True

    @property
    def _disk(self) -> Disk:
        """Moving, linking and locking need a filesystem."""
        store = self._store
        assert isinstance(store, Disk), self.path
        return store

    def _absolute(self, path: str) -> str:
        return os.path.join(self.path, path)

    def state(self) -> TableState | None:
        content = self._disk.read(TABLE_FILE)
        if content is None:
            return None
        schema, partition_by = decode_table(content)
        return TableState(schema=schema, partition_by=partition_by)

    def layout(self, schema: pa.Schema, partition_by: tuple[str, ...]) -> FileLayout:
        return FileLayout(location=self.location, schema=schema, partition_by=partition_by, staging=STAGING)

    def commit(self, commit: Commit) -> bool:
        with self._disk.locked(LOCK):
            self._finish_pending_commits()
            if commit.batch and self._last_batch(commit.batch.query_id) >= commit.batch.batch_id:
                return False
            self._change_schema(commit)
            if commit.files or commit.replaces_all:
                removed = sorted(self._list_data_files()) if commit.replaces_all else []
                operation = "overwrite" if commit.replaces_all else "append"
                self._decide(self._manifest(operation, list(commit.files), removed, commit.batch))
        return True

    def _change_schema(self, commit: Commit) -> None:
        state = self.state()
        plan = self.plan_write(state, commit)
        if state is None and any(self._list_data_files()):
            raise TableError(
                f"{self.path} holds Parquet files that Penstock did not write: choose another directory"
            )
        if state is None or plan.change:
            content = encode_table(plan.change.schema, plan.partition_by)
            self._disk.write(TABLE_FILE, content)

    def _manifest(
        self, operation: str, added: list[DataFile], removed: list[str], batch: Batch | None = None
    ) -> Manifest:
        return Manifest(
            attempt=str(uuid.uuid4()),
            operation=operation,
            timestamp_ms=self._now_ms(),
            query_id=batch.query_id if batch else None,
            batch_id=batch.batch_id if batch else None,
            added=added,
            removed=removed,
        )

    def _decide(self, manifest: Manifest) -> None:
        lost = [
            file.path for file in manifest.added if not self._disk.exists(staged_path(file.path, STAGING))
        ]
        if lost:
            raise TableError(
                f"{lost[0]} of table {self.path} was removed before it was committed: write again"
            )
        self._disk.write(manifest.pending_path, msgspec.json.encode(manifest))
        if not self._disk.link(manifest.pending_path, manifest.path):
            raise TableError(f"table {self.path} was changed without its lock by another machine: try again")
        self._apply(manifest)

    def _apply(self, manifest: Manifest) -> None:
        for file in manifest.added:
            self._disk.move(staged_path(file.path, STAGING), file.path)
        self._disk.remove(manifest.removed)
        self._disk.remove([manifest.pending_path])

    def _finish_pending_commits(self) -> None:
        """Apply the commits that were decided and drop those that were not: their writer no longer has the lock."""
        for name in self._disk.names(PENDING):
            content = self._disk.read(f"{PENDING}/{name}")
            if content is None:
                continue
            manifest = decode_manifest(content)
            decided = self._disk.read(manifest.path)
            if decided is not None and decode_manifest(decided).attempt == manifest.attempt:
                self._apply(manifest)
            else:
                self._disk.remove([manifest.pending_path])

    def _last_batch(self, query_id: str) -> int:
        names = self._disk.names(query_directory(query_id))
        return max((int(name.removesuffix(".json")) for name in names), default=-1)

    def live_paths(self) -> set[str]:
        with self._disk.locked(LOCK):
            self._finish_pending_commits()
            return set(self._list_data_files())

    def _list_data_files(self) -> Iterator[str]:
        """Yield the data files as Spark and DuckDB see them: names with a leading dot or underscore are not data."""
        for directory, inner, names in os.walk(self.path):
            inner[:] = sorted(name for name in inner if name[0] not in "._" or "=" in name)
            for name in sorted(names):
                if name.endswith(".parquet") and name[0] not in "._":
                    yield os.path.relpath(os.path.join(directory, name), self.path)

    def files(self) -> list[Candidate]:
        return self._candidates(self._existing_state())

    def size(self) -> Size:
        paths = [self._absolute(path) for path in self.live_paths()]
        return Size(
            rows=sum(pq.read_metadata(path).num_rows for path in paths),
            files=len(paths),
            size_bytes=sum(os.path.getsize(path) for path in paths),
        )

    def splits(self, conditions: Sequence[Condition] = ()) -> list[Split]:
        return list(self._plan_splits(sorted(self.live_paths()), conditions))

    def _plan_splits(self, paths: list[str], conditions: Sequence[Condition] = ()) -> list[DatasetSplit]:
        state = self._existing_state()
        format_, files = ds.ParquetFileFormat(), fs.LocalFileSystem()
        fragments = [
            format_.make_fragment(self._absolute(path), files, _partition_expression(path, state))
            for path in paths
        ]
        dataset = ds.FileSystemDataset(fragments, state.schema, format_, files)
        return dataset_splits(dataset, arrow_expression(conditions), state.schema)

    def history(self, limit: int) -> list[Version]:
        manifests = sorted(self._manifests(), key=lambda each: each.timestamp_ms, reverse=True)
        return [_version(each) for each in manifests[:limit]]

    def _manifests(self) -> Iterator[Manifest]:
        for query in self._disk.names(COMMITS):
            for name in self._disk.names(f"{COMMITS}/{query}"):
                content = self._disk.read(f"{COMMITS}/{query}/{name}")
                if content is not None:
                    yield decode_manifest(content)

    def compact(self, file_size_bytes: int) -> Compaction:
        """Merge small files. Rows are read and written without the lock; only the exchange needs it."""
        state = self._existing_state()
        layout = self.layout(state.schema, state.partition_by)
        merges = merge_small_files(self._candidates(state), file_size_bytes, layout, self._rows)
        with self._disk.locked(LOCK):
            self._finish_pending_commits()
            live = set(self._list_data_files())
            done = [merge for merge in merges if live.issuperset(merge.removed)]
            added = [file for merge in done for file in merge.added]
            removed = [path for merge in done for path in merge.removed]
            if removed:
                self._decide(self._manifest("compact", added, removed))
        return Compaction(files_before=len(removed), files_after=len(added))

    def _candidates(self, state: TableState) -> list[Candidate]:
        return [
            Candidate(
                path=path,
                size_bytes=os.path.getsize(self._absolute(path)),
                partition=values_in(path, state.partition_by),
            )
            for path in sorted(self.live_paths())
        ]

    def _rows(self, paths: list[str]) -> Iterator[pa.RecordBatch]:
        names = self._existing_state().schema.names
        for split in self._plan_splits(paths):
            yield from split.batches(names)

    def vacuum(self, age_ms: int, *, is_dry_run: bool) -> list[str]:
        """Remove task files that no commit took, and manifests that neither a replay nor a reader needs."""
        with self._disk.locked(LOCK):
            self._finish_pending_commits()
            staged = [f"{STAGING}/{name}" for name in self._disk.names(STAGING)]
            candidates = [*staged, *self._obsolete_manifests()]
            oldest_ms = self._now_ms() - age_ms
            found = [path for path in candidates if self._disk.modified_ms(path) <= oldest_ms]
            if not is_dry_run:
                self._disk.remove(found)
        return found

    def _obsolete_manifests(self) -> Iterator[str]:
        """Yield all but the newest of each query, which records its last batch."""
        for query in self._disk.names(COMMITS):
            names = self._disk.names(f"{COMMITS}/{query}")
            newest = max(names, key=lambda name: int(name.removesuffix(".json")), default=None)
            yield from (f"{COMMITS}/{query}/{name}" for name in names if name != newest)

    def _existing_state(self) -> TableState:
        state = self.state()
        if state is None:
            raise TableError(f"there is no Parquet table at {self.path}")
        return state


def _partition_expression(path: str, state: TableState) -> ds.Expression | None:
    expression: ds.Expression | None = None
    texts = values_in(path, state.partition_by)
    for name, text in zip(state.partition_by, texts, strict=True):
        field = ds.field(name)
        is_this = field.is_null() if text is None else field == value_of(text, state.schema.field(name).type)
        expression = is_this if expression is None else expression & is_this
    return expression


def _version(manifest: Manifest) -> Version:
    return Version(
        version=manifest.attempt.split("-", 1)[0],
        timestamp_ms=manifest.timestamp_ms,
        operation=manifest.operation,
        rows_added=sum(file.rows for file in manifest.added),
        files_added=len(manifest.added),
        files_removed=len(manifest.removed),
        query_id=manifest.query_id,
        batch_id=manifest.batch_id,
    )
