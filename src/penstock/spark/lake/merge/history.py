"""Decides how the changes of a batch alter the history of their keys (slowly changing dimension, type 2). No I/O.

The history of a key is its versions and its deletions, in their order. A version is valid from its own time to that of
the next version or deletion, and current if none follows. So a late change falls between two versions and shortens the
one before it. Of a version, a deletion and a change with equal order the deletion wins, then the change.

A deletion that ends a version shows in the table as a version that ends before the next begins. Others are remembered
beside the table, since a late version before them would end there.
"""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.spark.lake.merge.groups import Flags, Numbers, flags, lasts, numbers, sorted_by, starts
from penstock.spark.lake.merge.latest import CHANGE, DELETION, INDEX, SOURCE, TABLE, labelled
from penstock.spark.lake.merge.rules import IS_CURRENT, VALID_TO, MergeRules
from penstock.spark.record_columns import DELETED

_IMPLIED_DELETION = 3


class HistoryDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What the changes do. The numbers are indices into the table's rows and into the changes.

    `altered_values` and `inserted_values` have the columns `valid_to` and `is_current`.
    """

    removed: Numbers  # versions that a change with the same order replaces
    altered: Numbers
    altered_values: pa.Table
    inserted: Numbers
    inserted_values: pa.Table
    deleted: Numbers


def decide_history(
    changes: pa.Table, existing: pa.Table, deletions: pa.Table, rules: MergeRules
) -> HistoryDecision:
    """`existing` and `deletions` have all that can follow or precede a change of the same key, and may have more."""
    columns = list(rules.columns)
    known = pa.concat_tables(
        [
            labelled(existing.select(columns), TABLE, np.zeros(existing.num_rows, dtype=np.bool_)),
            labelled(deletions.select(columns), DELETION, np.ones(deletions.num_rows, dtype=np.bool_)),
            _implied_deletions(existing, deletions, rules),
        ]
    )
    changed = labelled(changes.select(columns), CHANGE, flags(changes, DELETED))
    every = sorted_by(pa.concat_tables([known, changed]), [*columns, DELETED, SOURCE])
    kept = np.zeros(every.num_rows, dtype=np.bool_)
    kept[lasts(starts(every, columns))] = True
    lost = every.filter(pa.array(~kept))
    events = every.filter(pa.array(kept))

    ends, is_last = _ends(events, rules)
    is_deleted = flags(events, DELETED)
    source, index = numbers(events, SOURCE), numbers(events, INDEX)
    values = pa.table({VALID_TO: ends, IS_CURRENT: pa.array(is_last & ~is_deleted)})
    is_row = (source == TABLE) & _differs(existing, values, source == TABLE, index)
    is_new = (source == CHANGE) & ~is_deleted
    return HistoryDecision(
        removed=numbers(lost, INDEX)[numbers(lost, SOURCE) == TABLE],
        altered=index[is_row],
        altered_values=values.filter(pa.array(is_row)),
        inserted=index[is_new],
        inserted_values=values.filter(pa.array(is_new)),
        deleted=index[(source == CHANGE) & is_deleted],
    )


def _ends(events: pa.Table, rules: MergeRules) -> tuple[Any, Flags]:
    """Return the time of the next event of the same key, or null, and whether there is none."""
    count = events.num_rows
    is_last = np.zeros(count, dtype=np.bool_)
    is_last[lasts(starts(events, rules.key))] = True
    following = np.minimum(np.arange(count) + 1, max(count - 1, 0))
    times = events.column(rules.order_by[0]).combine_chunks()
    next_events: Any = pa.array(following, mask=is_last)  # null: there is none
    return times.take(next_events), is_last


def _differs(existing: pa.Table, values: pa.Table, of_table: Flags, index: Numbers) -> Flags:
    """Flag the events that are rows of the table whose end or state is another now."""
    differs = np.zeros(len(index), dtype=np.bool_)
    before = existing.select([VALID_TO, IS_CURRENT]).take(index[of_table])
    after = values.filter(pa.array(of_table))
    for name in (VALID_TO, IS_CURRENT):
        one: Any = before.column(name)
        other: Any = after.column(name)
        unequal = np.asarray(pc.fill_null(pc.not_equal(one, other), False))
        null = np.asarray(pc.is_null(one)) != np.asarray(pc.is_null(other))
        differs[of_table] |= unequal | null
    return differs


def _implied_deletions(existing: pa.Table, deletions: pa.Table, rules: MergeRules) -> pa.Table:
    """Return the deletions that versions show: their ends at which no known version or deletion is."""
    time = rules.order_by[0]
    columns = [*rules.key, time]
    ended = (
        existing.select([*rules.key, VALID_TO])
        .rename_columns(columns)
        .filter(pc.is_valid(existing[VALID_TO]))
    )
    known = pa.concat_tables([existing.select(columns), deletions.select(columns)])
    every = pa.concat_tables(
        [
            labelled(ended, _IMPLIED_DELETION, np.ones(ended.num_rows, dtype=np.bool_)),
            labelled(known, TABLE, np.zeros(known.num_rows, dtype=np.bool_)),
        ]
    )
    ordered = sorted_by(every, [*columns, SOURCE])
    # The known events of a time come first, so an end that is the first of its time is implied.
    first = starts(ordered, columns) & (numbers(ordered, SOURCE) == _IMPLIED_DELETION)
    implied = ordered.filter(pa.array(first))
    for name in rules.order_by[1:]:
        nothing = pa.nulls(implied.num_rows, existing.schema.field(name).type)
        implied = implied.append_column(name, nothing)
    return implied.select([*rules.key, *rules.order_by, DELETED, SOURCE, INDEX])
