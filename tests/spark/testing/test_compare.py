"""Rows compared without regard to their order."""

from penstock.spark.testing.compare import rows_differ


def test_order_does_not_matter_but_number_does() -> None:
    assert rows_differ([{"a": 1}, {"a": [2]}], [{"a": [2]}, {"a": 1}]) is None
    assert rows_differ([{"a": 1}, {"a": 1}], [{"a": 1}]) == '1 row(s) unexpected:\n  {"a": 1}'


def test_missing_and_unexpected_rows_are_listed() -> None:
    reported = rows_differ([{"a": "é"}], [{"a": None}])
    assert reported == '1 row(s) missing:\n  {"a": null}\n1 row(s) unexpected:\n  {"a": "é"}'


def test_only_chosen_columns_are_compared() -> None:
    assert rows_differ([{"a": 1, "time": 5}], [{"a": 1}], columns=["a"]) is None
    assert rows_differ([{"a": 1}], [{"a": 1, "b": None}]) is not None


def test_many_differences_are_cut_short() -> None:
    reported = rows_differ([{"a": number} for number in range(30)], [])
    assert reported is not None
    assert reported.endswith("… and 20 more")
