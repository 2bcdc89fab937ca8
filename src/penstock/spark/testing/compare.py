"""Compares rows in any order and describes the differences. No I/O."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_SHOWN_MAX = 10

Row = Mapping[str, Any]


def rows_differ(
    actual: Iterable[Row], expected: Iterable[Row], *, columns: Sequence[str] | None = None
) -> str | None:
    """Describe missing and unexpected rows, one per line; None if the rows are the same.

    With `columns`, only these are compared. Duplicates count.
    """
    unexpected = [_select_columns(row, columns) for row in actual]
    missing = []
    for row in (_select_columns(each, columns) for each in expected):
        # Values need not be hashable or sortable, so rows are searched one by one.
        if row in unexpected:
            unexpected.remove(row)
        else:
            missing.append(row)
    if not missing and not unexpected:
        return None
    return "\n".join([*_list_rows("missing", missing), *_list_rows("unexpected", unexpected)])


def _select_columns(row: Row, columns: Sequence[str] | None) -> dict[str, Any]:
    return dict(row) if columns is None else {name: row.get(name) for name in columns}


def _list_rows(what: str, rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    lines = [f"{len(rows)} row(s) {what}:"]
    lines += [f"  {json.dumps(row, default=repr, ensure_ascii=False)}" for row in rows[:_SHOWN_MAX]]
    if len(rows) > _SHOWN_MAX:
        lines.append(f"  … and {len(rows) - _SHOWN_MAX} more")
    return lines
