"""Formats results: rows for the terminal, JSON with every value, and a page for the documentation. Pure."""

from collections.abc import Mapping, Sequence

import msgspec

from penstock_bench.catalogue import WORKLOADS
from penstock_bench.figures import MEASURED, Comparison, Goal, Measured, Section, number

_HEAD = """# Benchmarks

Made by `make bench`; do not edit. Every ratio was measured within one run, round by round, its two sides one after
the other on the same machine and the same filesystem; the median of the rounds comes first, then the lowest and
the highest. A goal is met or missed only when all rounds agree; a missed goal shows how far off the median is. Goals
are reported, never asserted.

```
python -m tools.setup_peers                # the other brokers: Kafka's jars, nats-server, Redis, RabbitMQ
penstock bench --list                      # all workloads with their goals
penstock bench --peers                     # beside them, workloads l to u and A
penstock bench --cluster                   # three brokers against one, v to y; clusters side by side, B and C
penstock bench --only ln --targets penstock,redis --rounds 5 --seconds 2
penstock bench --against DIR               # the source tree of another commit, D
```
"""
_PENSTOCK = "Penstock"


class TargetState(msgspec.Struct, frozen=True, kw_only=True):
    """A target of the comparison: its server, its durability, and whether it was measured."""

    name: str
    server: str
    durability: str
    state: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one run."""

    machine: dict[str, str]
    scale: str
    sections: tuple[Section, ...]
    targets: tuple[TargetState, ...] = ()


def summary_rows(sections: Sequence[Section]) -> list[tuple[str, str, str, str, str]]:
    """Return a row for each ratio, and then for each figure that has a goal: workload, label, median, spread, goal."""
    ratios = [(each.key, ratio.label, "", ratio, ratio.goal) for each in sections for ratio in each.ratios]
    figures = [
        (each.key, figure.series.label, f" {figure.series.unit}", figure.series, figure.goal)
        for each in sections
        for figure in each.figures
        if figure.goal is not None
    ]
    return [
        (key, label, number(measured.median) + unit, spread(measured), verdict(goal, measured))
        for key, label, unit, measured, goal in (*ratios, *figures)
    ]


def spread(measured: Measured) -> str:
    return f"{number(measured.low)} … {number(measured.high)}" if len(measured.values) > 1 else "one round"


def verdict(goal: Goal | None, measured: Measured) -> str:
    """Return whether the goal is met or missed in every round. It is undecided when rounds disagree."""
    if goal is None:
        return ""
    outcomes = {goal.is_met_by(value) for value in measured.values}
    if len(outcomes) > 1:
        return f"{goal} undecided: the rounds disagree"
    off_by = abs(measured.median - goal.bound) / goal.bound
    return f"{goal} met" if outcomes.pop() else f"{goal} missed by {off_by:.0%}"


def comparison_rows(comparison: Comparison) -> list[tuple[str, str, str, str, str]]:
    """Return a row for each target, the best first: name, durability, median, spread, ratio to Penstock."""
    ours = next((row.series.median for row in comparison.rows if row.target == _PENSTOCK), None)
    ordered = sorted(comparison.rows, key=lambda row: row.series.median, reverse=comparison.is_more_better)
    return [
        (
            row.target,
            row.durability,
            f"{number(row.series.median)} {row.series.unit}",
            spread(row.series),
            number(row.series.median / ours) if ours else "",
        )
        for row in ordered
    ]


def to_json(report: Report) -> bytes:
    content = msgspec.to_builtins(report)
    for encoded, section in zip(content["sections"], report.sections, strict=True):
        for encoded_ratio, ratio in zip(encoded["ratios"], section.ratios, strict=True):
            encoded_ratio |= {"values": ratio.values, "median": ratio.median}
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def from_json(content: bytes) -> Report:
    """Decode the output of `to_json`."""
    return msgspec.json.decode(content, type=Report)


def merged(newest: Report, earlier: Sequence[Report]) -> Report:
    """Return the newest report with the sections that only earlier reports have, each marked with its date."""
    sections = {section.key: section for section in newest.sections}
    for report in earlier:
        note = f"From an earlier run, {report.machine.get(MEASURED, 'of unknown date')}; {report.scale}."
        for section in report.sections:
            if section.key not in sections and section.failure is None:
                sections[section.key] = msgspec.structs.replace(section, notes=(*section.notes, note))
    targets = newest.targets or next((report.targets for report in earlier if report.targets), ())
    ordered = tuple(sections[key] for key in sorted(sections, key=str.swapcase))  # capitals follow z
    return msgspec.structs.replace(newest, sections=ordered, targets=targets)


def to_markdown(report: Report, pictures: Mapping[str, Sequence[str]] | None = None) -> str:
    """Write the page. `pictures` has the paths of the pictures of each section, relative to the page."""
    parts = [_HEAD, "## Machine\n", _table(("", ""), list(report.machine.items()))]
    parts.append(f"Sizes: {report.scale}.\n")
    if report.targets:
        targets = [(t.name, t.server, t.durability, t.state) for t in report.targets]
        parts += [
            "## Targets\n",
            _table(("target", "server", "an acknowledged message is", "state"), targets),
        ]
    rows = summary_rows(report.sections)
    head = ("", "what", "median", "lowest … highest", "goal")
    missed = [row for row in rows if "missed" in row[-1]]
    parts += ["## Goals missed\n", _table(head, missed)]
    letters = sorted({row[0] for row in missed})
    parts += [f"- ({key}) {why}" for key in letters if (why := WORKLOADS[key].missed_because)]
    parts.append("")
    parts += ["## Ratios and goals\n", _table(head, rows)]
    for section in report.sections:
        parts += _section_parts(section, (pictures or {}).get(section.key, ()))
    return "\n".join(parts).rstrip() + "\n"


def _section_parts(section: Section, pictures: Sequence[str]) -> list[str]:
    parts = [f"## ({section.key}) {section.title}\n", section.method + "\n"]
    if section.failure is not None:
        parts.append(f"**Not measured:** {section.failure}\n")
    parts += [f"![{section.title}]({picture})\n" for picture in pictures]
    for comparison in section.comparisons:
        parts.append(f"### {comparison.what}\n")
        head = ("target", "an acknowledged message is", "median", "lowest … highest", "÷ Penstock")
        parts.append(_table(head, comparison_rows(comparison)))
    if section.figures:
        rows = [
            (f.series.label, f"{number(f.series.median)} {f.series.unit}", spread(f.series))
            for f in section.figures
        ]
        parts.append(_table(("measured", "median", "lowest … highest"), rows))
    parts += [f"- {note}" for note in section.notes]
    if section.notes:
        parts.append("")
    return parts


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "(none)\n"
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
