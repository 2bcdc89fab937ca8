"""Sorts rows by their key and numbers the rows of each key. No I/O."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def sorted_by(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Sort ascending, nulls first: a row without an order is older than any other."""
    sortable: dict[str, Any] = {}
    for at, name in enumerate(columns):
        column = rows.column(name)
        if column.null_count:
            sortable[f"{at} is known"] = pc.is_valid(column)
        sortable[str(at)] = column
    keys: Any = [(name, "ascending") for name in sortable]
    return rows.take(pc.sort_indices(pa.table(sortable), sort_keys=keys))


def starts(rows: pa.Table, columns: Sequence[str]) -> Flags:
    """Flag each row that differs from the row before in one of the columns; nulls are equal to each other."""
    flags = np.zeros(rows.num_rows, dtype=np.bool_)
    if rows.num_rows:
        flags[0] = True
    for name in columns:
        column = rows.column(name).combine_chunks()
        flags[1:] |= _differs(column[:-1], column[1:])
    return flags


def _differs(one: Any, other: Any) -> Flags:
    unequal = np.asarray(pc.fill_null(pc.not_equal(one, other), False))
    one_null, other_null = np.asarray(pc.is_null(one)), np.asarray(pc.is_null(other))
    return np.asarray(unequal | (one_null != other_null))


def lasts(first: Flags) -> Numbers:
    """Return the index of the last row of each group, given the flags of the first rows."""
    begins = np.flatnonzero(first)
    return np.append(begins[1:] - 1, len(first) - 1) if len(begins) else begins


def numbers(rows: pa.Table, name: str) -> Numbers:
    return np.asarray(rows.column(name).to_numpy(), dtype=np.int64)


def flags(rows: pa.Table, name: str) -> Flags:
    return np.asarray(rows.column(name).to_numpy(zero_copy_only=False), dtype=np.bool_)
