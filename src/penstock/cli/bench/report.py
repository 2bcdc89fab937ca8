"""How results are told: a table for the terminal, JSON with every value, and a page for the documentation. Pure."""

from collections.abc import Sequence
from typing import Any

import msgspec

from penstock.cli.bench.figures import Goal, Ratio, Section, Series, number

_HEAD = """# Benchmarks

Made by `make bench`; do not edit. Every ratio was measured within one run, round by round, its two sides one after
the other on the same machine and the same filesystem; the median of the rounds stands first, then the lowest and
the highest. A goal is met or missed only when all rounds agree. Goals are reported, never asserted.
"""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All that one run found out."""

    machine: dict[str, str]
    scale: str
    sections: tuple[Section, ...]


def ratio_rows(sections: Sequence[Section]) -> list[tuple[str, str, str, str, str]]:
    """One row a ratio: workload, what against what, median, spread, goal."""
    return [
        (section.key, ratio.label, number(ratio.median), spread(ratio), verdict(ratio.goal, ratio))
        for section in sections
        for ratio in section.ratios
    ]


def figure_rows(sections: Sequence[Section]) -> list[tuple[str, str, str, str, str]]:
    """One row a figure that has a goal of its own."""
    return [
        (
            section.key,
            figure.series.label,
            f"{number(figure.series.median)} {figure.series.unit}",
            spread(figure.series),
            verdict(figure.goal, figure.series),
        )
        for section in sections
        for figure in section.figures
        if figure.goal is not None
    ]


def spread(measured: Series | Ratio) -> str:
    return f"{number(measured.low)} … {number(measured.high)}" if len(measured.values) > 1 else "one round"


def verdict(goal: Goal | None, measured: Series | Ratio) -> str:
    """Met or missed when every round says so; rounds that disagree decide nothing, whatever their median."""
    if goal is None:
        return ""
    outcomes = {goal.is_met_by(value) for value in measured.values}
    if len(outcomes) == 1:
        return f"{goal} {'met' if outcomes.pop() else 'missed'}"
    return f"{goal} undecided: the rounds disagree"


def to_json(report: Report) -> bytes:
    sections: list[dict[str, Any]] = []
    for section in report.sections:
        built = msgspec.to_builtins(section)
        for told, ratio in zip(built["ratios"], section.ratios, strict=True):
            told["values"] = ratio.values
            told["median"] = ratio.median
        sections.append(built)
    content = {"machine": report.machine, "scale": report.scale, "sections": sections}
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def to_markdown(report: Report) -> str:
    parts = [_HEAD, "## Machine\n", _table(("", ""), list(report.machine.items()))]
    parts.append(f"Sizes: {report.scale}.\n")
    parts.append("## Ratios and goals\n")
    rows = [*ratio_rows(report.sections), *figure_rows(report.sections)]
    parts.append(_table(("", "what", "median", "lowest … highest", "goal"), rows))
    for section in report.sections:
        parts.append(f"## ({section.key}) {section.title}\n")
        parts.append(section.method + "\n")
        if section.failure is not None:
            parts.append(f"**Not measured:** {section.failure}\n")
        if section.figures:
            parts.append(
                _table(
                    ("measured", "median", "lowest … highest"),
                    [
                        (f.series.label, f"{number(f.series.median)} {f.series.unit}", spread(f.series))
                        for f in section.figures
                    ],
                )
            )
        parts.extend(f"- {note}" for note in section.notes)
        if section.notes:
            parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "(none)\n"
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
