"""Collects the values of a workload in all rounds, of a broker alone or of several targets, and forms comparisons and
ratios of them. Pure.
"""

from collections.abc import Iterable, Sequence

from penstock_bench.figures import Comparison, Figure, Findings, Ratio, Row, Series, quantile
from penstock_bench.peers.targets import Target

_NO_TARGET = Target("", "")
_FACTORS = {"µs": 1e6, "ms": 1e3, "s": 1.0}


class Board:
    def __init__(self) -> None:
        self._values: dict[str, dict[str, list[float]]] = {}  # what: target: a value a round
        self._units: dict[str, str] = {}
        self._targets: dict[str, Target] = {}
        self._failures: dict[str, str] = {}
        self._ratios: list[Ratio] = []
        self._notes: list[str] = []
        self.is_warming = False  # values of warm-up rounds are dropped

    def add(self, what: str, value: float, unit: str, target: Target = _NO_TARGET) -> None:
        if self.is_warming:
            return
        self._values.setdefault(what, {}).setdefault(target.name, []).append(value)
        self._units[what] = unit
        self._targets[target.name] = target

    def add_latencies(
        self, what: str, latencies_s: list[float], unit: str, target: Target = _NO_TARGET
    ) -> None:
        for name, fraction in (("p50", 0.5), ("p99", 0.99)):
            self.add(f"{what}, {name}", quantile(latencies_s, fraction) * _FACTORS[unit], unit, target)

    def note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def fail(self, target: Target, reason: str) -> None:
        """Note why the target is not measured any more. Its values of earlier rounds stay."""
        self._failures[target.name] = reason

    def ratio(self, label: str, measured: str, reference: str, target: str = "") -> None:
        """Form the ratio of two figures of a broker or target, if it has both."""
        over, under = self._series(measured, target), self._series(reference, target)
        if over is not None and under is not None and (not target or len(over.values) == len(under.values)):
            self._ratios.append(Ratio(label=label, measured=over, reference=under))

    def compare(self, what: str, *pairs: tuple[str, str]) -> None:
        """Form the ratio of each pair of targets over the rounds that have both."""
        for ours, theirs in pairs:
            values = [self._values.get(what, {}).get(name, []) for name in (ours, theirs)]
            rounds = min(map(len, values))
            if rounds:
                unit = self._units[what]
                measured, reference = (
                    Series(label=name, unit=unit, values=tuple(each[:rounds]))
                    for name, each in zip((ours, theirs), values, strict=True)
                )
                self._ratios.append(
                    Ratio(label=f"{what}: {ours} / {theirs}", measured=measured, reference=reference)
                )

    def best(self, what: str, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the pair whose second target has the best median, if one has values."""
        found = {pair: series.median for pair in pairs if (series := self._series(what, pair[1])) is not None}
        pick = max if self._is_more_better(what) else min
        return [pick(found, key=found.__getitem__)] if found else []

    def findings(self, failure: str | None = None) -> Findings:
        failed = [f"{name} was not measured to the end: {why}" for name, why in self._failures.items()]
        alone = [what for what, values in self._values.items() if "" in values]
        return Findings(
            ratios=tuple(self._ratios),
            figures=tuple(Figure(series=self._labelled(what)) for what in alone),
            comparisons=tuple(self._comparison(what) for what in self._values if what not in alone),
            notes=(*self._notes, *failed),
            failure=failure,
        )

    def _is_more_better(self, what: str) -> bool:
        return self._units.get(what, "").endswith("/s")

    def _labelled(self, what: str) -> Series:
        return Series(label=what, unit=self._units[what], values=tuple(self._values[what][""]))

    def _series(self, what: str, target: str) -> Series | None:
        values = self._values.get(what, {}).get(target)
        return Series(label=target or what, unit=self._units[what], values=tuple(values)) if values else None

    def _comparison(self, what: str) -> Comparison:
        unit = self._units[what]
        rows: Iterable[Row] = (
            Row(
                target=name,
                durability=self._targets[name].durability,
                series=Series(label=name, unit=unit, values=tuple(values)),
            )
            for name, values in self._values[what].items()
        )
        return Comparison(what=what, unit=unit, is_more_better=self._is_more_better(what), rows=tuple(rows))
