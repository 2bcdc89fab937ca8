"""The catalogue of workloads, read from `catalogue.toml`. `--list`, `--help`, the runner and the page use it.

The package of a workload's function is its group: `machine` measures the broker against the machine it runs on,
`peers` against other products, `cluster` three brokers, `reference_commit` the broker of another commit.
"""

import functools
import importlib
import os
import re
import tomllib
from typing import Any, Final

import msgspec

from penstock_bench.figures import Figure, Findings, Goal, Ratio, Section

_PATH: Final = os.path.join(os.path.dirname(__file__), "catalogue.toml")
_SIDES: Final = {">=": "at least", "<=": "at most"}
_PLACEHOLDERS: Final = {"*": ".*", "{peer}": "(NATS|Redis|RabbitMQ).*", "{kafka}": "Kafka.*"}


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """A workload as `catalogue.toml` describes it.

    `function` is in `penstock_bench.workloads`; it takes a `Bench` and leaves its values on the board of it.
    `goals` has a bound for each label of a ratio or figure. In a label, `*` stands for any text, `{peer}` for a product
    that is not Kafka and `{kafka}` for Kafka with any setting; the first label that matches applies.
    `missed_because` explains why this design misses a goal. The page prints it only when a goal is missed.
    """

    letter: str
    function: str
    title: str
    method: str
    missed_because: str = ""
    goals: dict[str, str] = {}

    @property
    def group(self) -> str:
        return self.function.partition(".")[0]

    def run(self, bench: Any) -> None:
        """Import the module with its clients, and measure."""
        module, _, name = self.function.rpartition(".")
        getattr(importlib.import_module(f"penstock_bench.workloads.{module}"), name)(bench)

    def section(self, findings: Findings) -> Section:
        """Return the section of the page: the findings with this workload's description and goals."""
        content = msgspec.structs.asdict(findings)
        content["ratios"] = tuple(self._with_goal(each, each.label) for each in findings.ratios)
        content["figures"] = tuple(self._with_goal(each, each.series.label) for each in findings.figures)
        return Section(key=self.letter, title=self.title, method=self.method, **content)

    def _with_goal(self, measured: Ratio | Figure, label: str) -> Ratio | Figure:
        return msgspec.structs.replace(measured, goal=self.goal(label))

    def goal(self, label: str) -> Goal | None:
        for pattern, bound in self.goals.items():
            if _compile(pattern).fullmatch(label):
                side, _, number = bound.partition(" ")
                return msgspec.convert({"side": _SIDES[side], "bound": float(number)}, Goal)
        return None


@functools.cache
def _compile(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*|\{peer\}|\{kafka\})", pattern)
    return re.compile("".join(_PLACEHOLDERS.get(part, re.escape(part)) for part in parts))


def _read() -> dict[str, Workload]:
    with open(_PATH, "rb") as file:
        entries = tomllib.load(file)
    for letter, entry in entries.items():
        for field in ("method", "missed_because"):
            entry[field] = " ".join(entry.get(field, "").split())
        entry["letter"] = letter
    return msgspec.convert(entries, dict[str, Workload])


WORKLOADS: Final = _read()
"""By letter, in the order of the page."""


def letters(*groups: str) -> str:
    """Return the letters of the workloads in these groups, or of all workloads."""
    return "".join(each.letter for each in WORKLOADS.values() if not groups or each.group in groups)
