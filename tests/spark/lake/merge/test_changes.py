"""Which of several changes of a key counts."""

import itertools

import pyarrow as pa

from penstock.spark.lake.merge.changes import newest_changes
from penstock.spark.lake.merge.rules import MergeRules
from tests.spark.lake.merge.model import Row
from tests.spark.lake.merge.support import CHANGES, HISTORY, LATEST, change_of


def newest(rows: list[Row], rules: MergeRules = LATEST, schema: pa.Schema = CHANGES) -> list[Row]:
    return newest_changes(pa.Table.from_pylist(rows, schema=schema), rules).to_pylist()


def test_the_change_with_the_greatest_order_counts() -> None:
    assert newest([change_of(1, 5, "b"), change_of(1, 3), change_of(2, 1)]) == [
        change_of(1, 5, "b"),
        change_of(2, 1),
    ]


def test_a_tie_is_decided_by_deletion_then_by_values_whatever_the_order_of_the_rows() -> None:
    tied = [change_of(1, 5, "a"), change_of(1, 5, "b"), change_of(1, 5, "c")]
    for rows in itertools.permutations(tied):
        assert newest(list(rows)) == [change_of(1, 5, "c")]
        deletion = change_of(1, 5, "a", is_deleted=True)
        assert newest([*rows, deletion]) == [deletion]


def test_the_row_that_the_source_wrote_last_wins_a_tie() -> None:
    schema = CHANGES.append(pa.field("_tie_break", pa.int64()))
    rows = [{**change_of(1, 5, value), "_tie_break": at} for value, at in (("z", 1), ("a", 2))]
    assert newest(rows, schema=schema) == [change_of(1, 5, "a")]


def test_a_change_without_an_order_is_older_than_any_other() -> None:
    unordered = {**change_of(1, 0, "z"), "order": None}
    assert newest([unordered, change_of(1, -7)]) == [change_of(1, -7)]


def test_with_history_each_order_of_a_key_counts() -> None:
    rows = [change_of(1, 2), change_of(1, 1), change_of(1, 2, "b")]
    assert newest(rows, HISTORY) == [change_of(1, 1), change_of(1, 2, "b")]


def test_keys_may_have_several_columns() -> None:
    rules = MergeRules(key=("id", "value"), order_by=("order",))
    rows = [change_of(1, 1, "a"), change_of(1, 2, "b"), change_of(1, 3, "a")]
    assert newest(rows, rules) == [change_of(1, 3, "a"), change_of(1, 2, "b")]
