from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.positions import (
    End,
    InvalidPosition,
    Last,
    Offset,
    Position,
    Start,
    Time,
    first_offsets,
    parse_position,
)

NOW_MS = 1_750_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("start", Start()),
        ("end", End()),
        ("0", Offset(0)),
        ("1200", Offset(1200)),
        ("offset:1750000000000", Offset(1_750_000_000_000)),
        ("1750000000000", Time(1_750_000_000_000)),
        ("-10", Last(10)),
        ("-15m", Time(NOW_MS - 15 * 60_000)),
        ("-2d", Time(NOW_MS - 2 * 86_400_000)),
        ("2026-05-04T12:00:00Z", Time(int(datetime(2026, 5, 4, 12, tzinfo=UTC).timestamp()) * 1000)),
        (
            "2026-05-04T12:00:00.250+02:00",
            Time(int(datetime(2026, 5, 4, 12, tzinfo=timezone(timedelta(hours=2))).timestamp()) * 1000 + 250),
        ),
    ],
)
def test_each_form_of_a_start_position_is_parsed(text: str, expected: Position) -> None:
    assert parse_position(text, NOW_MS) == expected


def test_a_time_without_a_zone_is_in_the_given_zone() -> None:
    noon_ms = int(datetime(2026, 5, 4, 12, tzinfo=UTC).timestamp()) * 1000
    assert parse_position("2026-05-04T12:00:00", NOW_MS, UTC) == Time(noon_ms)


@pytest.mark.parametrize(
    "text", ["", "begin", "-", "-1w", "offset:", "2026-13-01", "1.5", "offset:-1", "9" * 30, "²"]
)
def test_an_invalid_position_is_refused_with_all_valid_forms(text: str) -> None:
    with pytest.raises(InvalidPosition, match="start, end, an offset, -N"):
        parse_position(text, NOW_MS)


def test_a_time_after_the_last_record_means_the_end() -> None:
    assert first_offsets(Time(1), {0: 5, 1: 0}, {0: 9, 1: 3}, {0: -1, 1: 2}) == {0: 9, 1: 2}


def test_the_last_n_are_counted_from_the_end_of_each_partition() -> None:
    assert first_offsets(Last(4), {0: 0, 1: 98}, {0: 10, 1: 100}, {}) == {0: 6, 1: 98}


@given(
    st.one_of(
        st.just(Start()),
        st.just(End()),
        st.builds(Offset, st.integers(0, 200)),
        st.builds(Last, st.integers(0, 200)),
    ),
    st.integers(0, 100),
    st.integers(0, 100),
)
def test_a_start_position_is_clamped_to_the_log(position: Position, start: int, length: int) -> None:
    (offset,) = first_offsets(position, {0: start}, {0: start + length}, {}).values()
    assert start <= offset <= start + length
