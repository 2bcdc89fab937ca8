"""The keys of some changes, to find rows and files that may have them. No I/O."""

import bisect
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Bounds = Mapping[str, tuple[Any, Any]]  # by column: the smallest and the largest value


class KeySet:
    def __init__(self, changes: pa.Table, key: Sequence[str]) -> None:
        self._values = {name: pc.unique(changes.column(name)) for name in key}
        self._sorted: dict[str, list[Any]] = {name: _sorted(values) for name, values in self._values.items()}

    def rows(self, table: pa.Table) -> Any:
        """Return a mask of the rows that may have one of the keys: each of their columns is in some key."""
        mask: Any = None
        for name, values in self._values.items():
            column = table.column(name)
            found = pc.is_in(column, value_set=values.cast(column.type))
            mask = found if mask is None else pc.and_(mask, found)
        return mask

    def may_be_in(self, bounds: Bounds) -> bool:
        return all(_any_between(self._sorted[name], *bounds[name]) for name in self._values if name in bounds)


def _sorted(values: Any) -> list[Any]:
    found: list[Any] = values.to_pylist()
    return sorted(found)


def _any_between(ordered: Sequence[Any], low: Any, high: Any) -> bool:
    """Say whether a value lies between the bounds; a bound of another type proves nothing."""
    try:
        at = bisect.bisect_left(ordered, low)
        return at < len(ordered) and bool(ordered[at] <= high)
    except TypeError:
        return True
