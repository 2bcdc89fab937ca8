"""The progress of a run for people."""

import io

import pytest

from penstock.spark.pipeline.progress.status import DONE, RUNNING, QueryStatus
from penstock.spark.pipeline.progress.terminal import (
    COLUMNS,
    LineDisplay,
    LiveDisplay,
    cells,
    duration,
    line,
    make_display,
    size,
)

QUERY = QueryStatus(
    name="shop.table",
    state=RUNNING,
    batch_id=7,
    rows=12_345,
    processed_rows_per_second=1500.4,
    lag_records=20,
    lag_seconds=2.5,
    batch_duration_ms=340,
    state_rows=10,
    state_bytes=2_500_000,
    dead_letters=3,
    broken={"orders": {"positive": 3, "known": 0}},
)


def test_a_query_is_a_row_with_a_cell_for_each_column() -> None:
    reported = dict(zip(COLUMNS, cells(QUERY), strict=True))
    assert reported["rows/s"] == "1,500"
    assert (reported["lag"], reported["behind"], reported["batch time"]) == ("20", "2.5 s", "340 ms")
    assert reported["state rows"] == "10 (2.5 MB)"


def test_an_unknown_lag_is_said_to_be_unknown() -> None:
    query = QueryStatus(name="shop.table", state=RUNNING, batch_id=7)
    reported = dict(zip(COLUMNS, cells(query), strict=True))
    assert (reported["lag"], reported["behind"]) == ("unknown", "unknown")
    assert "lag unknown" in line(query)


def test_a_log_line_names_only_broken_expectations() -> None:
    assert "orders: 3 rows broke `positive`" in line(QUERY)
    assert "known" not in line(QUERY)


def test_lines_come_when_something_was_read_but_not_all_the_time() -> None:
    stream, now_s = io.StringIO(), [0.0]
    display = LineDisplay(stream, lambda: now_s[0])
    display.show([QUERY])
    display.show([QueryStatus(name="shop.table", state=RUNNING, batch_id=8, rows=12_346)])
    assert stream.getvalue().count("\n") == 1
    now_s[0] = 11.0
    display.show([QueryStatus(name="shop.table", state=RUNNING, batch_id=8, rows=12_346)])
    assert stream.getvalue().count("\n") == 2
    now_s[0] = 30.0
    display.show([QueryStatus(name="shop.table", state=RUNNING, batch_id=9, rows=12_346)])
    assert stream.getvalue().count("\n") == 2  # nothing new was read
    display.show([QueryStatus(name="shop.table", state=DONE, batch_id=9, rows=12_346)])
    assert stream.getvalue().count("\n") == 3


def test_a_query_that_has_not_begun_is_not_worth_a_line() -> None:
    stream = io.StringIO()
    LineDisplay(stream, lambda: 0.0).show([QueryStatus(name="shop.table", state=RUNNING)])
    assert stream.getvalue() == ""


def test_quiet_prints_only_messages() -> None:
    stream = io.StringIO()
    display = make_display(stream, quiet=True)
    display.show([QUERY])
    display.print("shop.table failed: disk full")
    assert stream.getvalue() == "penstock: shop.table failed: disk full\n"


def test_on_a_terminal_the_table_is_renewed_in_place() -> None:
    stream = io.StringIO()
    display = LiveDisplay(stream)
    display.show([QUERY])
    display.print("shop.table failed: [disk] full")
    display.close()
    assert "shop.table" in stream.getvalue()
    assert "penstock: shop.table failed: [disk] full" in stream.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 ms"), (0.34, "340 ms"), (2.5, "2.5 s"), (300, "5 min"), (86_400, "24.0 h")],
)
def test_durations_are_as_exact_as_they_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_sizes_have_units() -> None:
    assert [size(count) for count in (12, 1_500, 2_500_000, 3 * 10**9)] == [
        "12 B",
        "1.5 kB",
        "2.5 MB",
        "3.0 GB",
    ]
