"""Compares rows without regard to their order, and says what differs. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_SHOWN_MAX = 10

Row = Mapping[str, Any]


def rows_differ(
    actual: Iterable[Row], expected: Iterable[Row], *, columns: Sequence[str] | None = None
) -> str | None:
    """What is missing and what is unexpected, one row a line; None when nothing is.

    With `columns`, only these are compared. Rows count as often as they are there.
    """
    unexpected = [_chosen(row, columns) for row in actual]
    missing = []
    for row in (_chosen(each, columns) for each in expected):
        # Values need not be hashable nor comparable by size, so rows are looked for one by one.
        if row in unexpected:
            unexpected.remove(row)
        else:
            missing.append(row)
    if not missing and not unexpected:
        return None
    return "\n".join([*_told("missing", missing), *_told("unexpected", unexpected)])


def _chosen(row: Row, columns: Sequence[str] | None) -> dict[str, Any]:
    return dict(row) if columns is None else {name: row.get(name) for name in columns}


def _told(what: str, rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    lines = [f"{len(rows)} row(s) {what}:"]
    lines += [f"  {json.dumps(row, default=repr, ensure_ascii=False)}" for row in rows[:_SHOWN_MAX]]
    if len(rows) > _SHOWN_MAX:
        lines.append(f"  … and {len(rows) - _SHOWN_MAX} more")
    return lines
