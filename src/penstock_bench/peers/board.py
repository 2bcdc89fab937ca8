"""Collects the values of each target in all rounds, and forms comparisons and ratios of them. Pure."""

from collections.abc import Iterable

from penstock_bench.figures import Comparison, Findings, Ratio, Row, Series
from penstock_bench.peers.targets import Target


class Board:
    __slots__ = ("_failures", "_is_higher_better", "_targets", "_units", "_values", "is_warming")

    def __init__(self) -> None:
        self._values: dict[str, dict[str, list[float]]] = {}  # what: target: a value a round
        self._units: dict[str, str] = {}
        self._is_higher_better: dict[str, bool] = {}
        self._targets: dict[str, Target] = {}
        self._failures: dict[str, str] = {}
        self.is_warming = False  # values of warm-up rounds are dropped

    def add(
        self, target: Target, what: str, value: float, unit: str, *, higher_is_better: bool = False
    ) -> None:
        if self.is_warming:
            return
        self._values.setdefault(what, {}).setdefault(target.name, []).append(value)
        self._units[what] = unit
        self._is_higher_better[what] = higher_is_better
        self._targets[target.name] = target

    def fail(self, target: Target, reason: str) -> None:
        """Note why the target is not measured any more. Its values of earlier rounds stay."""
        self._failures[target.name] = reason

    def notes(self) -> tuple[str, ...]:
        return tuple(f"{name} was not measured to the end: {why}" for name, why in self._failures.items())

    def series(self, what: str, target: str) -> Series | None:
        values = self._values.get(what, {}).get(target)
        return Series(label=target, unit=self._units[what], values=tuple(values)) if values else None

    def comparisons(self) -> tuple[Comparison, ...]:
        return tuple(self._comparison(what) for what in self._values)

    def findings(self, ratios: Iterable[Ratio], *notes: str) -> Findings:
        """Return everything on the board, and these ratios."""
        return Findings(ratios=tuple(ratios), comparisons=self.comparisons(), notes=(*notes, *self.notes()))

    def _comparison(self, what: str) -> Comparison:
        rows = [
            Row(
                target=name,
                durability=self._targets[name].durability,
                series=Series(label=name, unit=self._units[what], values=tuple(values)),
            )
            for name, values in self._values[what].items()
        ]
        return Comparison(
            what=what, unit=self._units[what], is_more_better=self._is_higher_better[what], rows=tuple(rows)
        )

    def ratio(self, what: str, ours: str, theirs: str) -> Ratio | None:
        """Form the ratio over the rounds that have both targets; None when there is no such round."""
        measured, reference = self.series(what, ours), self.series(what, theirs)
        if measured is None or reference is None:
            return None
        rounds = min(len(measured.values), len(reference.values))
        return Ratio(
            label=f"{what}: {ours} / {theirs}",
            measured=Series(label=ours, unit=measured.unit, values=measured.values[:rounds]),
            reference=Series(label=theirs, unit=reference.unit, values=reference.values[:rounds]),
        )

    def growth(self, label: str, target: str, high: str, low: str) -> tuple[Ratio, ...]:
        """Form the ratio of one target under high load to the same under low load, if it has both."""
        measured, reference = self.series(high, target), self.series(low, target)
        if measured is None or reference is None or len(measured.values) != len(reference.values):
            return ()
        return (Ratio(label=label, measured=measured, reference=reference),)

    def best(self, what: str, names: Iterable[str]) -> str | None:
        """Return the target with the best median."""
        found = {name: series.median for name in names if (series := self.series(what, name)) is not None}
        if not found:
            return None
        pick = max if self._is_higher_better[what] else min
        return pick(found, key=lambda name: found[name])
