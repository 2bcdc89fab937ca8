import datetime as dt
import math

import pytest
from pyspark.sql import datasource as spark

from penstock.spark.lake.conditions import Condition, arrow_expression, is_comparable
from penstock.spark.lake.reader import condition_of


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (spark.EqualTo(("a",), 1), Condition(column="a", operator="==", value=1)),
        (spark.LessThan(("a",), "x"), Condition(column="a", operator="<", value="x")),
        (spark.In(("a",), (1, 2)), Condition(column="a", operator="in", value=(1, 2))),
        (spark.IsNull(("a",)), Condition(column="a", operator="is null")),
        (spark.StringStartsWith(("a",), "x"), Condition(column="a", operator="starts with", value="x")),
    ],
)
def test_spark_s_filters_are_conditions(given: spark.Filter, expected: Condition) -> None:
    assert condition_of(given) == expected


@pytest.mark.parametrize(
    "given",
    [
        spark.EqualTo(("a", "b"), 1),
        spark.Not(spark.EqualTo(("a",), 1)),
        spark.EqualNullSafe(("a",), None),
        spark.StringContains(("a",), "x"),
        spark.EqualTo(("a",), dt.datetime(2024, 1, 1)),
        spark.EqualTo(("a",), [1, dt.datetime(2024, 1, 1)]),
        spark.GreaterThan(("a",), math.nan),
    ],
)
def test_a_filter_that_not_every_format_knows_is_left_to_spark(given: spark.Filter) -> None:
    assert condition_of(given) is None


def test_dates_are_comparable_and_timestamps_are_not() -> None:
    assert is_comparable(dt.date(2024, 1, 1))
    assert not is_comparable(dt.datetime(2024, 1, 1))


def test_no_condition_is_no_expression() -> None:
    assert arrow_expression([]) is None
