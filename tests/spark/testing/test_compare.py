"""Rows compared, and the differences described."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from penstock.spark.testing.compare import (
    ActualRow,
    Containing,
    ExpectedRows,
    Row,
    find_differences,
    rows_differ,
    value_matches,
)


def differences(actual: list[Row], *expected: Row, **options: Any) -> list[str]:
    return find_differences([ActualRow(row) for row in actual], ExpectedRows(rows=expected, **options))


def test_order_does_not_matter_but_number_does() -> None:
    assert rows_differ([{"a": 1}, {"a": [2]}], [{"a": [2]}, {"a": 1}]) is None
    assert rows_differ([{"a": 1}, {"a": 1}], [{"a": 1}]) == 'unexpected row: {"a": 1}'


def test_a_wrong_value_is_reported_with_its_row_and_column() -> None:
    actual: list[Row] = [{"id": 1, "amount": 5.0}, {"id": 2, "amount": 6.0}]
    assert differences(actual, {"id": 2, "amount": 7}, {"id": 1, "amount": 5}, lines=(31, 32)) == [
        'row 1 (line 31): `amount` is 6.0, expected 7\n    in {"id": 2, "amount": 6.0}'
    ]


def test_rows_without_a_similar_one_are_missing_or_unexpected() -> None:
    assert differences([{"a": "é", "c": 1}], {"b": 2, "a": "x"}) == [
        'row 1 is missing: {"b": 2, "a": "x"}',
        'unexpected row: {"a": "é", "c": 1}',
    ]


def test_only_chosen_columns_are_compared() -> None:
    assert rows_differ([{"a": 1, "time": 5}], [{"a": 1}], columns=["a"]) is None
    assert rows_differ([{"a": 1, "time": 5}], [{"a": 1}]) is not None


def test_a_missing_column_is_null() -> None:
    assert rows_differ([{"a": 1}], [{"a": 1, "b": None}]) is None
    assert rows_differ([{"a": {"b": None}}], [{"a": {}}]) is None


def test_rows_in_the_wrong_order_differ_only_where_order_counts() -> None:
    actual: list[Row] = [{"a": 1}, {"a": 2}]
    assert differences(actual, {"a": 2}, {"a": 1}) == []
    assert len(differences(actual, {"a": 2}, {"a": 1}, is_ordered=True)) == 2
    assert differences(actual, {"a": 1}, is_ordered=True) == ['unexpected row: {"a": 2}']
    assert differences(actual[:1], {"a": 1}, {"a": 2}, is_ordered=True) == ['row 2 is missing: {"a": 2}']


def test_contained_rows_are_compared_by_the_columns_that_they_name() -> None:
    actual: list[Row] = [{"a": 1, "b": 1}, {"a": 2, "b": 2}]
    contains = {"is_partial": True, "allows_others": True}
    assert differences(actual, {"a": 2}, **contains) == []
    assert differences(actual, {"a": 3}, **contains) == ['row 1 is missing: {"a": 3}']


def test_a_row_that_matches_several_leaves_the_one_that_another_needs() -> None:
    actual: list[Row] = [{"a": 1, "b": 1}, {"a": 1, "b": 2}]
    assert differences(actual, {"a": 1}, {"b": 1}, is_partial=True) == []
    assert differences(actual, {"b": 1}, {"a": 1}, is_partial=True) == []


def test_metadata_is_compared_and_shown_only_if_a_row_names_it() -> None:
    actual = [ActualRow({"a": 1}, {"_key": "k"})]
    assert find_differences(actual, ExpectedRows(rows=({"a": 1},))) == []
    assert find_differences(actual, ExpectedRows(rows=({"a": 1, "_key": "other"},))) == [
        'row 1: `_key` is "k", expected "other"\n    in {"_key": "k", "a": 1}'
    ]


def test_many_differences_are_cut_short() -> None:
    reported = rows_differ([{"a": number} for number in range(30)], [])
    assert reported is not None
    assert reported.endswith("… and 20 more like this")


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (5, 5.0),
        (5.1, Decimal("5.10")),
        ("5.1", Decimal("5.10")),
        (0.1 + 0.2, 0.3),
        ("2026-03-01T12:00:00Z", dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)),
        ("2026-03-01T13:00:00+01:00", dt.datetime(2026, 3, 1, 12)),
        ("2026-03-01", dt.date(2026, 3, 1)),
        ("é", "é".encode()),
        (b"\xff", b"\xff"),
        ([1, {"a": "x"}], [1.0, {"a": "x", "b": None}]),
        (Containing("JSON"), "not JSON: …"),
        (None, None),
    ],
)
def test_a_value_as_it_is_written_matches_the_value_of_a_row(expected: object, actual: object) -> None:
    assert value_matches(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1, True),
        (True, 1),
        ("5", 5),
        (None, 0),
        ("2026-03-01T12:00:01Z", dt.datetime(2026, 3, 1, 12)),
        ("no time", dt.datetime(2026, 3, 1, 12)),
        ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00.000Z"),
        ([1], [1, 2]),
        ({"a": 1}, [1]),
        (Containing("x"), None),
    ],
)
def test_different_values_do_not_match(expected: object, actual: object) -> None:
    assert not value_matches(expected, actual)
