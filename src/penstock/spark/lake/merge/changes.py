"""Reduces the changes of a batch to those that count. No I/O.

Of the changes of a key (with history: of a key and an order) one counts. It is the greatest by order; then one that
deletes; then the one that the source wrote last; then the greatest by its values, so that the choice never depends on
the order in which tasks deliver their rows.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.spark.lake.merge.groups import lasts, sorted_by, starts
from penstock.spark.lake.merge.rules import MergeRules
from penstock.spark.record_columns import DELETED, TIE_BREAK

_VALUES = "penstock values"


def newest_changes(changes: pa.Table, rules: MergeRules) -> pa.Table:
    """Return the changes that count, sorted by key, always with the column `_deleted`."""
    if DELETED not in changes.column_names:
        changes = changes.append_column(DELETED, pa.array(np.zeros(changes.num_rows, dtype=np.bool_)))
    ties = [TIE_BREAK] if TIE_BREAK in changes.column_names else []
    order = [*rules.key, *rules.order_by, DELETED, *ties]
    ordered = _sorted_to_the_last_value(changes, order)
    distinct = [*rules.key, *rules.order_by] if rules.has_history else rules.key
    newest = ordered.take(lasts(starts(ordered, distinct)))
    return newest.drop_columns(ties)


def _sorted_to_the_last_value(changes: pa.Table, order: Sequence[str]) -> pa.Table:
    ordered = sorted_by(changes, order)
    first = starts(ordered, order)
    tied = ~first
    tied[:-1] |= ~first[1:]
    if not tied.any():
        return ordered
    values = np.full(ordered.num_rows, None, dtype=object)
    values[tied] = [repr(tuple(row.values())) for row in ordered.filter(pa.array(tied)).to_pylist()]
    with_values = ordered.append_column(_VALUES, pa.array(values, pa.string()))
    return sorted_by(with_values, [*order, _VALUES]).drop_columns([_VALUES])
