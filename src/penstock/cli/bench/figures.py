"""What a benchmark measured, and what follows from it: medians, spreads, ratios, goals. Pure values.

A ratio is formed round by round, between two things measured one after the other, and the median of those is
reported: whatever else the machine was doing in that round slowed both.
"""

import statistics
from typing import Literal

import msgspec

MEASURED = "measured"  # in the description of a machine: when


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """One thing measured once in every round."""

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
    """The bound that a figure should keep. Reported, never asserted: a noisy machine is not a failed test."""

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
    """A figure that stands for itself, such as a start time."""

    series: Series
    goal: Goal | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What one target did."""

    target: str
    durability: str
    series: Series


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was measured on several targets."""

    what: str
    unit: str
    is_more_better: bool
    rows: tuple[Row, ...]


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one workload. `failure` says why there is none."""

    key: str
    title: str
    method: str
    ratios: tuple[Ratio, ...] = ()
    figures: tuple[Figure, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    notes: tuple[str, ...] = ()
    failure: str | None = None


class Cells:
    """Collects what the rounds measure, by label, and turns it into series."""

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

    def ratio(self, label: str, measured: str, reference: str, goal: Goal | None = None) -> Ratio:
        return Ratio(label=label, measured=self.series(measured), reference=self.series(reference), goal=goal)

    def figures(self, goals: dict[str, Goal] | None = None) -> tuple[Figure, ...]:
        return tuple(Figure(series=s, goal=(goals or {}).get(s.label)) for s in self.all())


def quantile(values: list[float], fraction: float) -> float:
    """The value below which `fraction` of `values` lie: the nearest one that was measured."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]


def number(value: float) -> str:
    """Three digits that count, with thousands marked: 0.0123, 1.23, 12.3, 123, 12,345."""
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return f"{value:.3g}"
