"""Conditions by which files are skipped: the part of Spark's filters that every format can evaluate.

A reader skips only files that cannot match. Spark checks every row again, so other filters are left out.
"""

import datetime as dt
import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
import pyarrow.compute as pc

Operator = Literal["==", ">", ">=", "<", "<=", "in", "is null", "is not null", "starts with"]


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison of a column with a value: a tuple for `in`, None for the null checks."""

    column: str
    operator: Operator
    value: Any = None


_ARROW: Mapping[Operator, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "in": lambda field, values: field.isin(list(values)),
    "is null": lambda field, _: field.is_null(),
    "is not null": lambda field, _: field.is_valid(),
    "starts with": pc.starts_with,
}


def is_comparable(value: object) -> bool:
    """Say whether all formats compare such a value in the same way. Timestamps differ: some have no zone."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int | str | dt.date) and not isinstance(value, dt.datetime)


def arrow_expression(conditions: Sequence[Condition]) -> pc.Expression | None:
    found = [_ARROW[each.operator](pc.field(each.column), each.value) for each in conditions]
    return functools.reduce(operator.and_, found) if found else None
