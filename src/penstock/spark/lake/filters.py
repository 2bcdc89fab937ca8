"""Spark's filters as an Arrow expression. What cannot be said is left out: Spark checks every row again."""

import operator
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import datasource as spark

_COMPARISONS: MappingProxyType[type[spark.Filter], Callable[[Any, Any], Any]] = MappingProxyType(
    {
        spark.EqualTo: operator.eq,
        spark.GreaterThan: operator.gt,
        spark.GreaterThanOrEqual: operator.ge,
        spark.LessThan: operator.lt,
        spark.LessThanOrEqual: operator.le,
    }
)
_TEXTS: MappingProxyType[type[spark.Filter], Callable[..., Any]] = MappingProxyType(
    {
        spark.StringStartsWith: pc.starts_with,
        spark.StringEndsWith: pc.ends_with,
        spark.StringContains: pc.match_substring,
    }
)


def expression_of(filters: Sequence[spark.Filter]) -> pc.Expression | None:
    """True for every row that all the filters let through."""
    known = [said for each in filters if (said := _said(each)) is not None]
    expression = None
    for each in known:
        expression = each if expression is None else expression & each
    return expression


def _said(each: spark.Filter) -> Any | None:
    if isinstance(each, spark.Not):
        inner = _said(each.child)
        return None if inner is None else ~inner
    attribute: tuple[str, ...] | None = getattr(each, "attribute", None)
    if attribute is None or len(attribute) != 1:  # a nested field is not one that every format's files have
        return None
    field = pc.field(attribute[0])
    if isinstance(each, spark.IsNull):
        return field.is_null()
    if isinstance(each, spark.IsNotNull):
        return field.is_valid()
    value = getattr(each, "value", None)
    if isinstance(each, spark.In):
        return field.isin(list(each.value))
    if isinstance(each, spark.EqualNullSafe):
        return None  # never null, which a `not` around it would have to know
    if type(each) in _COMPARISONS and isinstance(value, bool | int | float | str):
        return _COMPARISONS[type(each)](field, value)
    if type(each) in _TEXTS and isinstance(value, str):
        return _TEXTS[type(each)](field, value)
    return None
