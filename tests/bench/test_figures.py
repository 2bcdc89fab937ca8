import pytest

from penstock_bench.figures import Goal, Ratio, Series, number, quantile


def series(*values: float) -> Series:
    return Series(label="x", unit="/s", values=values)


def test_a_series_has_its_median_and_its_extremes() -> None:
    measured = series(5.0, 1.0, 9.0)
    assert (measured.median, measured.low, measured.high) == (5.0, 1.0, 9.0)


def test_a_ratio_is_formed_round_by_round_before_the_median_is_taken() -> None:
    # Both sides were twice as slow in the second round: the ratio does not see it.
    ratio = Ratio(label="r", measured=series(80.0, 40.0, 90.0), reference=series(100.0, 50.0, 100.0))
    assert ratio.values == (0.8, 0.8, 0.9)
    assert (ratio.median, ratio.low, ratio.high) == (0.8, 0.8, 0.9)


def test_a_ratio_of_series_with_different_rounds_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        _ = Ratio(label="r", measured=series(1.0, 2.0), reference=series(1.0)).values


@pytest.mark.parametrize(
    ("goal", "value", "is_met"),
    [
        (Goal(side="at least", bound=10), 10.0, True),
        (Goal(side="at least", bound=10), 9.99, False),
        (Goal(side="at most", bound=0.5), 0.5, True),
        (Goal(side="at most", bound=0.5), 0.51, False),
    ],
)
def test_a_goal_is_met_on_its_own_side_of_the_bound(goal: Goal, value: float, is_met: bool) -> None:
    assert goal.is_met_by(value) is is_met


def test_a_quantile_is_a_value_that_was_measured() -> None:
    values = [float(v) for v in range(100, 0, -1)]
    assert quantile(values, 0.5) == 51.0
    assert quantile(values, 0.99) == 100.0
    assert quantile([7.0], 0.99) == 7.0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.01234, "0.0123"),
        (1.236, "1.24"),
        (12.34, "12.3"),
        (123.4, "123"),
        (1234567.0, "1,234,567"),
        (10.0, "10"),
    ],
)
def test_a_number_is_formatted_with_three_significant_digits(value: float, text: str) -> None:
    assert number(value) == text
