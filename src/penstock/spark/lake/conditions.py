"""Conditions by which files are skipped: what is left of Spark's filters when it is said so that every format knows it.

A reader skips only what could not match. Spark checks every row again, so a filter that cannot be said is left out.
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
    """A column compared with a value; a tuple of them for `in`, and none for the two about null."""

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
    """Whether all formats compare such a value alike. Timestamps are not, as some of them carry no zone."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int | str | dt.date) and not isinstance(value, dt.datetime)


def arrow_expression(conditions: Sequence[Condition]) -> pc.Expression | None:
    """True for every row that meets all conditions."""
    expression = None
    for condition in conditions:
        said = _arrow(condition)
        expression = said if expression is None else expression & said
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
