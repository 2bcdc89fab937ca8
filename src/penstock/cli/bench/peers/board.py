"""Where the rounds write what each target did, and what is read off it: comparisons and ratios. Pure."""

from collections.abc import Iterable

from penstock.cli.bench.figures import Comparison, Goal, Ratio, Row, Section, Series
from penstock.cli.bench.peers.targets import Target


class Board:
    __slots__ = ("_failures", "_is_more_better", "_targets", "_units", "_values", "is_warming")

    def __init__(self) -> None:
        self._values: dict[str, dict[str, list[float]]] = {}  # what: target: a value a round
        self._units: dict[str, str] = {}
        self._is_more_better: dict[str, bool] = {}
        self._targets: dict[str, Target] = {}
        self._failures: dict[str, str] = {}
        self.is_warming = False  # what is measured meanwhile is not kept

    def add(
        self, target: Target, what: str, value: float, unit: str, *, more_is_better: bool = False
    ) -> None:
        if self.is_warming:
            return
        self._values.setdefault(what, {}).setdefault(target.name, []).append(value)
        self._units[what] = unit
        self._is_more_better[what] = more_is_better
        self._targets[target.name] = target

    def fail(self, target: Target, reason: str) -> None:
        """The target takes no further part; what it did in earlier rounds stays, and the reason is told."""
        self._failures[target.name] = reason

    def notes(self) -> tuple[str, ...]:
        return tuple(f"{name} was not measured to the end: {why}" for name, why in self._failures.items())

    def series(self, what: str, target: str) -> Series | None:
        values = self._values.get(what, {}).get(target)
        return Series(label=target, unit=self._units[what], values=tuple(values)) if values else None

    def comparisons(self) -> tuple[Comparison, ...]:
        return tuple(self._comparison(what) for what in self._values)

    def section(self, key: str, title: str, method: str, ratios: Iterable[Ratio], *notes: str) -> Section:
        """All that is on it, as a section of the page."""
        return Section(
            key=key,
            title=title,
            method=method,
            ratios=tuple(ratios),
            comparisons=self.comparisons(),
            notes=(*notes, *self.notes()),
        )

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
            what=what, unit=self._units[what], is_more_better=self._is_more_better[what], rows=tuple(rows)
        )

    def ratio(self, what: str, ours: str, theirs: str, goal: Goal | None = None) -> Ratio | None:
        """Ours over theirs, over the rounds that both took part in; None when one took part in none."""
        measured, reference = self.series(what, ours), self.series(what, theirs)
        if measured is None or reference is None:
            return None
        rounds = min(len(measured.values), len(reference.values))
        return Ratio(
            label=f"{what}: {ours} / {theirs}",
            measured=Series(label=ours, unit=measured.unit, values=measured.values[:rounds]),
            reference=Series(label=theirs, unit=reference.unit, values=reference.values[:rounds]),
            goal=goal,
        )

    def growth(
        self, label: str, target: str, much: str, little: str, goal: Goal | None = None
    ) -> tuple[Ratio, ...]:
        """What one target did under much over what it did under little; nothing when it did not do both."""
        measured, reference = self.series(much, target), self.series(little, target)
        if measured is None or reference is None or len(measured.values) != len(reference.values):
            return ()
        return (Ratio(label=label, measured=measured, reference=reference, goal=goal),)

    def best(self, what: str, names: Iterable[str]) -> str | None:
        """Which of these did best, by the median."""
        found = {name: series.median for name in names if (series := self.series(what, name)) is not None}
        if not found:
            return None
        pick = max if self._is_more_better[what] else min
        return pick(found, key=lambda name: found[name])
