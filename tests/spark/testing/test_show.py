"""Values as they are shown."""

import datetime as dt
from decimal import Decimal

from penstock.spark.testing.compare import Containing
from penstock.spark.testing.show import show_row, show_value


def test_values_are_shown_as_a_case_has_them() -> None:
    row = {
        "at": dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC),
        "day": dt.date(2026, 3, 1),
        "amount": Decimal("5.10"),
        "text": b"abc",
        "bytes": b"\xff",
        "error": Containing("not JSON"),
    }
    assert show_row(row) == (
        '{"at": "2026-03-01T12:00:00Z", "day": "2026-03-01", "amount": 5.1, "text": "abc", '
        '"bytes": "!!binary /w==", "error": "text with \'not JSON\'"}'
    )


def test_long_values_are_cut() -> None:
    assert show_value("x" * 1000).endswith("x…")
