import pytest

from penstock.spark.pipeline.core.positions import starting_problem, time_ms


@pytest.mark.parametrize(
    "text", ["earliest", "latest", "2024-05-01", "2024-05-01T12:00:00+02:00", '{"a": {"0": 42, "1": -2}}']
)
def test_a_source_may_begin_at_an_end_a_time_or_offsets(text: str) -> None:
    assert starting_problem(text) is None


@pytest.mark.parametrize("text", ["", "first", "12:00", '{"a": 1}', '{"a": {"0": "x"}}', "{"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    assert "write" in (starting_problem(text) or "")


def test_a_time_without_a_zone_is_utc() -> None:
    assert time_ms("1970-01-01T00:00:01") == 1_000
    assert time_ms("1970-01-01T01:00:01+01:00") == 1_000
    with pytest.raises(ValueError, match="is not a time"):
        time_ms("soon")
