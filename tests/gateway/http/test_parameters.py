import pytest

from penstock.gateway.http.parameters import time_ms
from penstock.gateway.http.problems import Problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1700000000000", 1_700_000_000_000),
        ("1970-01-01T00:00:01", 1000),
        ("1970-01-01T01+01:00", 0),
    ],
)
def test_a_time_is_milliseconds_or_a_date(text: str, expected: int) -> None:
    assert time_ms(text, "time") == expected


@pytest.mark.parametrize("text", ["-1", "1969-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "yesterday"])
def test_a_time_before_1970_is_refused(text: str) -> None:
    with pytest.raises(Problem, match="time is"):
        time_ms(text, "time")
