import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.durations import format_duration, parse_duration_ms


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("500 ms", 500),
        ("5s", 5_000),
        ("1.5 seconds", 1_500),
        ("10 minutes", 600_000),
        ("10 Min", 600_000),
        ("1 hour 30 minutes", 5_400_000),
        ("1h30m", 5_400_000),
        ("2 days", 172_800_000),
        ("1 week", 604_800_000),
        (" 0 s ", 0),
    ],
)
def test_durations_are_read_as_people_write_them(text: str, duration_ms: int) -> None:
    assert parse_duration_ms(text) == duration_ms


@pytest.mark.parametrize(
    "text", ["", "10", "soon", "10 parsecs", "5 s and", "-5 s", "1 month", "0.5 ms", "1e3 s", "s"]
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration: write .* such as `10 minutes`"):
        parse_duration_ms(text)


@given(st.integers(min_value=0, max_value=10**12))
def test_what_is_shown_reads_as_the_same_duration(duration_ms: int) -> None:
    assert parse_duration_ms(format_duration(duration_ms)) == duration_ms
