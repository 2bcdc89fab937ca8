"""Measured values and what is derived from them: medians, spreads, ratios, goals. Pure.

A ratio is formed round by round, between two values measured one after the other, and the median of those is reported:
other work on the machine in that round slowed down both.
"""

import statistics
from typing import Literal

import msgspec

MEASURED = "measured"  # the key of the date in the description of a machine


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A value for every round."""

    @property
    def values(self) -> tuple[float, ...]:
        raise NotImplementedError

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)


class Series(Measured, frozen=True, kw_only=True):
    label: str
    unit: str
    values: tuple[float, ...]


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """The bound for a figure. Reported, never asserted: a busy machine is not a failed test."""

    side: Literal["at least", "at most"]
    bound: float

    def is_met_by(self, value: float) -> bool:
        return value >= self.bound if self.side == "at least" else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.side == 'at least' else '≤'} {number(self.bound)}"


class Ratio(Measured, frozen=True, kw_only=True):
    """`measured` over `reference`, round by round."""

    label: str
    measured: Series
    reference: Series
    goal: Goal | None = None

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(m / r for m, r in zip(self.measured.values, self.reference.values, strict=True))


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure without a reference, such as a start time."""

    series: Series
    goal: Goal | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one target."""

    target: str
    durability: str
    series: Series


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A value measured on several targets."""

    what: str
    unit: str
    is_more_better: bool
    rows: tuple[Row, ...]


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one workload. `failure` says why some or all of them are missing."""

    ratios: tuple[Ratio, ...] = ()
    figures: tuple[Figure, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    notes: tuple[str, ...] = ()
    failure: str | None = None


class Section(Findings, frozen=True, kw_only=True):
    """Findings with the description of their workload: a section of the page."""

    key: str
    title: str
    method: str


def quantile(values: list[float], fraction: float) -> float:
    """Return the measured value nearest to the quantile `fraction`."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]


def number(value: float) -> str:
    """Format with three significant digits and thousands separators: 0.0123, 1.23, 12.3, 123, 12,345."""
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return f"{value:.3g}"
