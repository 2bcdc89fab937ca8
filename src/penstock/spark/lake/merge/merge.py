"""Merges the changes of a batch into the files of a table; the caller commits the result.

The cost follows the touched files, not the table. A file is looked at only if its bounds of the key admit one of the
changed keys, then only its key and order are read, and it is rewritten only if one of its rows changes. New rows go
into a file that is rewritten anyway and covers their key. The others go to a new file, together with the rows of
small files, so that files grow and their number does not.

Memory holds the keys of one file and one part of the changes (`staging`). Changes of more than one part are not put
in the place of the rows that they replace, but written as sorted files, part by part.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.spark.lake.files import Compression, DataFile, FileLayout
from penstock.spark.lake.merge.changes import newest_changes
from penstock.spark.lake.merge.contents import Contents, LiveFile
from penstock.spark.lake.merge.deleted_keys import DeletedKeys
from penstock.spark.lake.merge.groups import Numbers
from penstock.spark.lake.merge.history import decide_history
from penstock.spark.lake.merge.key_set import KeySet
from penstock.spark.lake.merge.latest import FILE, ROW, decide_latest
from penstock.spark.lake.merge.placement import assign, files_to_fold, parts_of
from penstock.spark.lake.merge.rewrite import Edits, NewFiles, edited
from penstock.spark.lake.merge.rules import IS_CURRENT, VALID_FROM, VALID_TO, MergeRules
from penstock.spark.lake.merge.settings import MERGED_FILE_SIZE_BYTES
from penstock.spark.lake.partitions import Values, split
from penstock.spark.lake.schema import conform


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Changes in files, and how to write the result."""

    layout: FileLayout  # of the files with the changes
    compression: Compression = "zstd"
    file_size_bytes: int = MERGED_FILE_SIZE_BYTES

    def output_layout(self, table: FileLayout) -> FileLayout:
        """Return the layout of the table's files, with the settings of this write."""
        return msgspec.structs.replace(
            table, compression=self.compression, file_size_bytes=self.file_size_bytes
        )


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    added: list[DataFile]
    removed: list[LiveFile]
    deletions: pa.Table  # to remember


class Merge:
    """One merge into the table as it is now. `schema` is the table's, with the columns that this commit adds."""

    def __init__(
        self, contents: Contents, layout: FileLayout, rules: MergeRules, deleted_keys: DeletedKeys
    ) -> None:
        self._contents = contents
        self._layout = layout
        self._rules = rules
        self._deleted_keys = deleted_keys
        bounded = [*rules.key, *([VALID_TO] if rules.has_history else [])]
        self._files = contents.live_files(bounded)
        self._edits: dict[int, Edits] = {}  # by the index of the file
        self._inserted: list[pa.Table] = []
        self._deletions: list[pa.Table] = []
        self._new = NewFiles(layout, rules)

    def run(self, parts: Iterable[pa.Table], *, in_place: bool) -> Merged:
        try:
            for part in parts:
                changes = newest_changes(self._with_table_types(part), self._rules)
                self._decide(changes, in_place=in_place)
                if not in_place:
                    self._write_inserted()
            return self._write()
        except BaseException:
            self._new.abandon()
            raise

    def _decide(self, changes: pa.Table, *, in_place: bool) -> None:
        keys = KeySet(changes, self._rules.key)
        existing = self._existing(changes, keys)
        deletions = self._deleted_keys.of(keys)
        files, rows = existing.column(FILE).to_numpy(), existing.column(ROW).to_numpy()
        if self._rules.has_history:
            found = decide_history(changes, existing, deletions, self._rules)
            self._drop(files[found.removed], rows[found.removed])
            self._alter(files[found.altered], rows[found.altered], found.altered_values)
            inserted = changes.take(found.inserted)
            inserted = inserted.append_column(VALID_FROM, inserted.column(self._rules.order_by[0]))
            for name in (VALID_TO, IS_CURRENT):
                inserted = inserted.append_column(name, found.inserted_values.column(name))
            self._insert(inserted)
            deleted = found.deleted
        else:
            latest = decide_latest(changes, existing, deletions, self._rules)
            stays = latest.replaced_by >= 0
            if in_place:
                replaced = latest.existing[stays]
                values = self._as_rows(changes.take(latest.replaced_by[stays]))
                self._alter(files[replaced], rows[replaced], values)
                self._drop(files[latest.existing[~stays]], rows[latest.existing[~stays]])
            else:
                self._drop(files[latest.existing], rows[latest.existing])
                self._insert(changes.take(latest.replaced_by[stays]))
            self._insert(changes.take(latest.inserted))
            deleted = latest.deleted
        self._deletions.append(changes.take(deleted).select(list(self._rules.columns)))

    def _with_table_types(self, changes: pa.Table) -> pa.Table:
        table = self._layout.schema
        fields = [table.field(each.name) if each.name in table.names else each for each in changes.schema]
        return changes.cast(pa.schema(fields))

    # -- the rows that the table has

    def _existing(self, changes: pa.Table, keys: KeySet) -> pa.Table:
        """Return key, order and place of the table's rows that may have one of the keys."""
        names = [*self._rules.columns, *([VALID_TO, IS_CURRENT] if self._rules.has_history else [])]
        fields = [self._layout.schema.field(name) for name in names]
        schema = pa.schema([*fields, pa.field(FILE, pa.int64()), pa.field(ROW, pa.int64())])
        found = [schema.empty_table()]
        for at, file in self._candidates(changes, keys):
            rows = pa.Table.from_batches(list(self._contents.read(file, [field.name for field in fields])))
            chosen = np.flatnonzero(np.asarray(keys.rows(rows)))
            if len(chosen):
                places = {FILE: np.full(len(chosen), at, dtype=np.int64), ROW: chosen.astype(np.int64)}
                matching = rows.take(chosen)
                for name, values in places.items():
                    matching = matching.append_column(name, pa.array(values))
                found.append(matching.select(schema.names).cast(schema))
        return pa.concat_tables(found)

    def _candidates(self, changes: pa.Table, keys: KeySet) -> list[tuple[int, LiveFile]]:
        oldest = pc.min(changes.column(self._rules.order_by[0])).as_py() if self._rules.has_history else None
        return [
            (at, file)
            for at, file in enumerate(self._files)
            if keys.may_be_in(file.bounds) and not _ended_before(file, oldest)
        ]

    # -- edits

    def _drop(self, files: Numbers, rows: Numbers) -> None:
        for file in np.unique(files):
            self._edits_of(int(file)).dropped.append(rows[files == file])

    def _alter(self, files: Numbers, rows: Numbers, values: pa.Table) -> None:
        for file in np.unique(files):
            edits, chosen = self._edits_of(int(file)), np.flatnonzero(files == file)
            edits.altered.append(rows[chosen])
            edits.values.append(values.take(chosen))

    def _insert(self, rows: pa.Table) -> None:
        if rows.num_rows:
            self._inserted.append(rows)

    def _edits_of(self, file: int) -> Edits:
        return self._edits.setdefault(file, Edits())

    # -- writing

    def _write_inserted(self) -> None:
        """Write the new rows to sorted files of their own."""
        if self._inserted:
            self._new.write_sorted(self._as_rows(pa.concat_tables(self._inserted)))
            self._inserted = []

    def _write(self) -> Merged:
        rest = self._place_inserted()
        folded = self._fold(rest)
        for at, edits in self._edits.items():
            if at not in folded:
                self._rewrite(at, edits)
        self._write_rest(rest, folded)
        removed = [self._files[at] for at in (self._edits.keys() | folded)]
        return Merged(added=self._new.close(), removed=removed, deletions=pa.concat_tables(self._deletions))

    def _place_inserted(self) -> dict[Values, pa.Table]:
        """Give new rows to touched files that cover their key; return the others by partition."""
        rest: dict[Values, pa.Table] = {}
        if not self._inserted:
            return rest
        every = self._as_rows(pa.concat_tables(self._inserted)).combine_chunks()
        for batch in every.to_batches():
            for values, rows in split(batch, self._layout.partition_by):
                touched = [(at, self._files[at]) for at in self._edits if self._is_open(at, values)]
                by_file, others = assign(pa.table(rows), self._rules.key[0], touched)
                for at, chosen in by_file.items():
                    self._edits_of(at).added.append(chosen)
                rest[values] = pa.concat_tables([rest[values], others]) if values in rest else others
        return {values: rows for values, rows in rest.items() if rows.num_rows}

    def _fold(self, rest: Mapping[Values, pa.Table]) -> set[int]:
        """Choose the small files that are merged with the rows that have no file yet."""
        size_bytes = self._layout.file_size_bytes
        folded: set[int] = set()
        for values, rows in rest.items():
            files = [(at, file) for at, file in enumerate(self._files) if self._is_open(at, values)]
            folded.update(files_to_fold(files, rows.num_rows, size_bytes))
        ended = sum(self._count_ended(edits) for edits in self._edits.values())
        if ended and not self._layout.partition_by:
            files = [(at, file) for at, file in enumerate(self._files) if _is_ended(file)]
            folded.update(files_to_fold(files, ended, size_bytes))
        return folded

    def _is_open(self, at: int, values: Values) -> bool:
        """Say whether the file has rows of a partition that may still change."""
        file = self._files[at]
        return tuple(file.partition.values()) == values and not (self._rules.has_history and _is_ended(file))

    def _count_ended(self, edits: Edits) -> int:
        if not self._rules.has_history:
            return 0
        tables = [*edits.values, *edits.added]
        return sum(len(table) - table.column(VALID_TO).null_count for table in tables)

    def _rewrite(self, at: int, edits: Edits) -> None:
        file = self._files[at]
        rows = self._edited(at, edits)
        parts = parts_of(file, edits.row_change(), self._layout.file_size_bytes)
        if parts > 1:
            self._new.write_sorted(pa.Table.from_batches(list(rows), self._layout.schema), parts)
            return
        with self._new.group():
            for batch in rows:
                self._new.write(batch)

    def _write_rest(self, rest: Mapping[Values, pa.Table], folded: set[int]) -> None:
        batches = [batch for at in folded for batch in self._edited(at, self._edits.get(at, Edits()))]
        tables = [*rest.values(), pa.Table.from_batches(batches, self._layout.schema)]
        self._new.write_sorted(pa.concat_tables(tables))

    def _edited(self, at: int, edits: Edits) -> Iterator[pa.RecordBatch]:
        batches = self._contents.read(self._files[at], self._contents.columns)
        return edited(batches, edits, self._layout.schema)

    def _as_rows(self, changes: pa.Table) -> pa.Table:
        batches = [conform(batch, self._layout.schema) for batch in changes.to_batches()]
        return pa.Table.from_batches(batches, self._layout.schema)


def _is_ended(file: LiveFile) -> bool:
    """Say whether all versions in the file have ended."""
    return file.nulls.get(VALID_TO) == 0


def _ended_before(file: LiveFile, oldest: Any) -> bool:
    """Say whether all versions in the file ended before a time, so that no later change can affect them."""
    if oldest is None or not _is_ended(file) or VALID_TO not in file.bounds:
        return False
    try:
        return bool(file.bounds[VALID_TO][1] < oldest)
    except TypeError:
        return False
