"""Conditions by which files are skipped: the part of Spark's filters that every format can evaluate.

A reader skips only files that cannot match. Spark checks every row again, so other filters are left out.
"""

import datetime as dt
import math
import operator
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, Literal

import msgspec
import pyarrow.compute as pc

Operator = Literal["==", ">", ">=", "<", "<=", "in", "is null", "is not null", "starts with"]


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison of a column with a value: a tuple for `in`, None for the null checks."""

    column: str
    operator: Operator
    value: Any = None


_COMPARISONS: MappingProxyType[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "==": operator.eq,
        ">": operator.gt,
        ">=": operator.ge,
        "<": operator.lt,
        "<=": operator.le,
    }
)


def is_comparable(value: object) -> bool:
    """Say whether all formats compare such a value in the same way. Timestamps differ: some have no zone."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int | str | dt.date) and not isinstance(value, dt.datetime)


def arrow_expression(conditions: Sequence[Condition]) -> pc.Expression | None:
    """Return the conjunction of all conditions."""
    expression = None
    for condition in conditions:
        each = _arrow(condition)
        expression = each if expression is None else expression & each
    return expression


def _arrow(condition: Condition) -> Any:
    field: Any = pc.field(condition.column)
    match condition.operator:
        case "is null":
            return field.is_null()
        case "is not null":
            return field.is_valid()
        case "in":
            return field.isin(list(condition.value))
        case "starts with":
            return pc.starts_with(field, condition.value)
        case comparison:
            return _COMPARISONS[comparison](field, condition.value)
