"""Decides which rows changes replace in a table that keeps the newest row of each key. No I/O.

For each key the newest of the table's row, the remembered deletion and the change wins. With equal order a deletion
wins over a row, and a change over the table's row. Without an order the change always wins.
"""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from penstock.spark.lake.merge.groups import Numbers, flags, lasts, numbers, sorted_by, starts
from penstock.spark.lake.merge.rules import MergeRules
from penstock.spark.record_columns import DELETED

FILE, ROW = "penstock file", "penstock row"  # where a row of the table is
SOURCE, INDEX = "penstock source", "penstock index"
TABLE, CHANGE, DELETION = 0, 1, 2
_NO_CHANGE = -1


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What the changes do. All are indices: `existing` into the table's rows, the others into the changes."""

    existing: Numbers  # rows that leave their file
    replaced_by: Numbers  # for each of these, the change that takes its place, or -1
    inserted: Numbers
    deleted: Numbers  # deletions to remember


def decide_latest(changes: pa.Table, existing: pa.Table, deletions: pa.Table, rules: MergeRules) -> Decision:
    """`changes` are the newest of each key; the other two are of the same keys, and may have more."""
    columns = list(rules.columns)
    every = pa.concat_tables(
        [
            labelled(existing.select(columns), TABLE, np.zeros(existing.num_rows, dtype=np.bool_)),
            labelled(changes.select(columns), CHANGE, flags(changes, DELETED)),
            labelled(deletions.select(columns), DELETION, np.ones(deletions.num_rows, dtype=np.bool_)),
        ],
        promote_options="permissive",
    )
    by = [*columns, DELETED, SOURCE] if rules.order_by else [*rules.key, SOURCE]
    ordered = sorted_by(every, by)
    first = starts(ordered, rules.key)
    group = np.cumsum(first) - 1
    last = lasts(first)
    source, index = numbers(ordered, SOURCE), numbers(ordered, INDEX)
    is_deleted = flags(ordered, DELETED)

    change_wins = source[last] == CHANGE
    leaves = (source == TABLE) & change_wins[group] if len(last) else np.zeros(0, dtype=np.bool_)
    winner = np.where(is_deleted[last], _NO_CHANGE, index[last])
    replaced_by = winner[group[leaves]]
    replaced_by[_repeats(group[leaves])] = _NO_CHANGE  # a key that the table has twice keeps one row
    has_row = np.zeros(len(last), dtype=np.bool_)
    has_row[group[leaves]] = True
    return Decision(
        existing=index[leaves],
        replaced_by=replaced_by,
        inserted=index[last][change_wins & ~is_deleted[last] & ~has_row],
        deleted=index[last][change_wins & is_deleted[last]] if rules.order_by else np.zeros(0, np.int64),
    )


def labelled(rows: pa.Table, source: int, is_deleted: Any) -> pa.Table:
    count = rows.num_rows
    labelled = rows.append_column(DELETED, pa.array(is_deleted, pa.bool_()))
    labelled = labelled.append_column(SOURCE, pa.array(np.full(count, source, dtype=np.int8)))
    return labelled.append_column(INDEX, pa.array(np.arange(count, dtype=np.int64)))


def _repeats(groups: Numbers) -> Any:
    return np.flatnonzero(np.diff(groups, prepend=-1) == 0)
