"""The part of a partition that a filter can match."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.sql.pushdown import Filter, Wanted

FIELDS: Any = [
    pa.field("_partition", pa.int32()),
    pa.field("_offset", pa.int64()),
    pa.field("_timestamp", pa.timestamp("us", "UTC")),
    pa.field("_text", pa.string()),
]
SCHEMA = pa.schema(FIELDS)
PARTITION, OFFSET, TIMESTAMP, TEXT = (pc.field(name) for name in SCHEMA.names)


def at(ms: float) -> Any:
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=ms)
    return pa.scalar(moment, pa.timestamp("us", "UTC"))


def wanted(expression: Any, partition: int = 0, start: int = 10, end: int = 100) -> Wanted | None:
    return Filter(expression, SCHEMA).wanted(partition, start, end)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (None, (10, 99)),
        ((OFFSET >= 20) & (OFFSET < 30), (20, 29)),
        ((OFFSET == 40) | (OFFSET == 60), (40, 60)),
        (OFFSET.isin(pa.array([5, 50, 70])), (50, 70)),
        (OFFSET < 5, None),
        (OFFSET != 50, (10, 99)),
        ((PARTITION == 0) & (OFFSET > 90), (91, 99)),
        ((PARTITION == 1) & (OFFSET > 90), None),
        (((PARTITION == 0) & (OFFSET < 20)) | ((PARTITION == 1) & (OFFSET > 90)), (10, 19)),
        (TEXT == "x", (10, 99)),
        ((TEXT == "x") & (OFFSET < 12), (10, 11)),
        ((TEXT == "x") | (OFFSET < 12), (10, 99)),
    ],
)
def test_offsets_are_limited_to_those_that_can_match(
    expression: Any, expected: tuple[int, int] | None
) -> None:
    found = wanted(expression)
    assert (None if found is None else (found.first, found.last)) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (OFFSET > 20, (None, None)),
        (at(5000) <= TIMESTAMP, (5000, None)),
        (at(5000.5) < TIMESTAMP, (5001, None)),
        (at(9000) > TIMESTAMP, (None, 8999)),
        ((at(5000) <= TIMESTAMP) & (at(9000) >= TIMESTAMP) & (TEXT == "x"), (5000, 9000)),
        (((PARTITION == 0) & (at(7) <= TIMESTAMP)) | ((PARTITION == 1) & (at(3) <= TIMESTAMP)), (7, None)),
        ((at(5000) <= TIMESTAMP) | (TEXT == "x"), (None, None)),
    ],
)
def test_times_are_limited_to_those_that_can_match(
    expression: Any, expected: tuple[int | None, int | None]
) -> None:
    found = wanted(expression)
    assert found is not None
    assert (found.first_ms, found.last_ms) == expected


def test_records_without_a_time_are_not_excluded_by_an_upper_bound() -> None:
    found = wanted(at(0) > TIMESTAMP)
    assert found is not None
    assert (found.first_ms, found.last_ms) == (None, -1)


def test_the_columns_of_a_filter_are_found() -> None:
    assert Filter((OFFSET > 1) & (TEXT == "x"), SCHEMA).columns == {"_offset", "_text"}
    assert Filter(None, SCHEMA).columns == frozenset()
