"""Measured values and what is derived from them: medians, spreads, ratios, goals. Pure.

A ratio is formed round by round, between two values measured one after the other, and the median of those is reported:
other work on the machine in that round slowed down both.
"""

import statistics
from typing import Literal

import msgspec

MEASURED = "measured"  # the key of the date in the description of a machine


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """A value measured once in every round."""

    label: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """The bound for a figure. Reported, never asserted: a busy machine is not a failed test."""

    side: Literal["at least", "at most"]
    bound: float

    def is_met_by(self, value: float) -> bool:
        return value >= self.bound if self.side == "at least" else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.side == 'at least' else '≤'} {number(self.bound)}"


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """`measured` over `reference`, round by round."""

    label: str
    measured: Series
    reference: Series
    goal: Goal | None = None

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(m / r for m, r in zip(self.measured.values, self.reference.values, strict=True))

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)


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


class Cells:
    """Collects the values of all rounds by label, and turns them into series."""

    __slots__ = ("_units", "_values")

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {}
        self._units: dict[str, str] = {}

    def add(self, label: str, value: float, unit: str) -> None:
        self._values.setdefault(label, []).append(value)
        self._units[label] = unit

    def series(self, label: str) -> Series:
        return Series(label=label, unit=self._units[label], values=tuple(self._values[label]))

    def all(self) -> tuple[Series, ...]:
        return tuple(self.series(label) for label in self._values)

    def ratio(self, label: str, measured: str, reference: str) -> Ratio:
        return Ratio(label=label, measured=self.series(measured), reference=self.series(reference))

    def figures(self) -> tuple[Figure, ...]:
        return tuple(Figure(series=each) for each in self.all())


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
