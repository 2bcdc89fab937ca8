"""The pure decisions against a dictionary: batches of changes in any order, with repeated and deleted keys."""

import os
from typing import Any

import pyarrow as pa
from hypothesis import given, settings

from penstock.spark.lake.merge.changes import newest_changes
from penstock.spark.lake.merge.history import decide_history
from penstock.spark.lake.merge.latest import decide_latest
from penstock.spark.lake.merge.rules import MergeRules
from tests.spark.lake.merge.model import Model, Row
from tests.spark.lake.merge.support import CHANGES, HISTORY, LATEST, batches, change_of, tuples
from tests.spark.lake.support import schema_of

EXAMPLES = settings(max_examples=int(os.environ.get("EXAMPLES", "25")))
ROWS = schema_of(id=pa.int64(), order=pa.int64(), value=pa.string())
VERSIONS = HISTORY.table_rows(CHANGES)
DELETIONS = schema_of(id=pa.int64(), order=pa.int64())


class Applied:
    """A table without files: rows, and the remembered deletions."""

    def __init__(self, rules: MergeRules = LATEST) -> None:
        self.rules = rules
        self.rows: list[Row] = []
        self.deletions: list[Row] = []

    def apply(self, changes: list[Row]) -> None:
        newest = newest_changes(pa.Table.from_pylist(changes, schema=CHANGES), self.rules)
        deletions = pa.Table.from_pylist(self.deletions, schema=DELETIONS)
        if self.rules.has_history:
            deleted = self._apply_to_history(newest, deletions)
        else:
            deleted = self._apply_to_latest(newest, deletions)
        self.deletions += newest.take(deleted).select(["id", "order"]).to_pylist()

    def _apply_to_latest(self, changes: pa.Table, deletions: pa.Table) -> Any:
        found = decide_latest(changes, pa.Table.from_pylist(self.rows, schema=ROWS), deletions, self.rules)
        after: list[Row | None] = list(self.rows)
        values = changes.select(ROWS.names).to_pylist()
        for at, by in zip(found.existing, found.replaced_by, strict=True):
            after[at] = values[by] if by >= 0 else None
        self.rows = [row for row in after if row is not None] + [values[at] for at in found.inserted]
        return found.deleted

    def _apply_to_history(self, changes: pa.Table, deletions: pa.Table) -> Any:
        found = decide_history(
            changes, pa.Table.from_pylist(self.rows, schema=VERSIONS), deletions, self.rules
        )
        for at, new in zip(found.altered, found.altered_values.to_pylist(), strict=True):
            self.rows[at] |= new
        removed = set(found.removed.tolist())
        self.rows = [row for at, row in enumerate(self.rows) if at not in removed]
        inserted = changes.select(ROWS.names).take(found.inserted).to_pylist()
        for row, new in zip(inserted, found.inserted_values.to_pylist(), strict=True):
            self.rows.append({**row, "valid_from": row["order"], **new})
        return found.deleted


@EXAMPLES
@given(batches)
def test_the_newest_row_of_each_key_is_that_of_the_model(changes: list[list[Row]]) -> None:
    table, model = Applied(), Model()
    for number, batch in enumerate(changes):
        table.apply(batch)
        model.apply(number, batch)
        assert tuples(table.rows) == model.latest()


@EXAMPLES
@given(batches)
def test_the_history_of_each_key_is_that_of_the_model(changes: list[list[Row]]) -> None:
    table, model = Applied(HISTORY), Model()
    for number, batch in enumerate(changes):
        table.apply(batch)
        model.apply(number, batch)
        assert tuples(table.rows) == model.history()


@EXAMPLES
@given(batches)
def test_changes_that_come_again_alter_nothing(changes: list[list[Row]]) -> None:
    for rules in (LATEST, HISTORY):
        table = Applied(rules)
        every = [change for batch in changes for change in batch]
        table.apply(every)
        before = tuples(table.rows)
        table.apply(every)
        assert tuples(table.rows) == before


def test_a_late_row_does_not_bring_a_deleted_key_back() -> None:
    table = Applied()
    table.apply([change_of(1, 1)])
    table.apply([change_of(1, 5, is_deleted=True), change_of(2, 5, is_deleted=True)])
    table.apply([change_of(1, 4), change_of(2, 4)])
    assert table.rows == []
    table.apply([change_of(1, 6)])
    assert tuples(table.rows) == [(1, 6, "a")]


def test_a_history_without_remembered_deletions_still_ends_where_it_ended() -> None:
    table = Applied(HISTORY)
    table.apply([change_of(1, 1), change_of(1, 5, is_deleted=True)])
    table.deletions = []  # expired
    table.apply([change_of(1, 3, "b"), change_of(1, 9, "c")])
    assert tuples(table.rows) == [
        (1, 1, "a", 1, 3, False),
        (1, 3, "b", 3, 5, False),
        (1, 9, "c", 9, None, True),
    ]


def test_without_an_order_each_batch_is_newer() -> None:
    table = Applied(MergeRules(key=("id",)))
    table.apply([change_of(1, 9, "old"), change_of(2, 9, "old")])
    table.apply([change_of(1, 1, "new"), change_of(2, 1, is_deleted=True)])
    table.apply([change_of(2, 0, "again")])
    assert tuples(table.rows) == [(1, 1, "new"), (2, 0, "again")]
