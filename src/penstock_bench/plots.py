"""Draws comparisons: a bar for each target, one picture for each section. Needs matplotlib (the extra `plot`)."""

import os
from collections.abc import Sequence
from typing import Any

from penstock_bench.figures import Comparison, Section

_COLUMNS = 2
_CELL_INCHES = (6.0, 0.34)
_MARGIN_INCHES = 0.9
_TITLE_INCHES = 0.35
_OURS = "#1f6f8b"
_SYNCED = "#b0b7bd"
_CACHED = "#dfe3e6"


def draw(sections: Sequence[Section], directory: str) -> dict[str, list[str]]:
    """Draw each section that compares something into `directory`, and return the names of the files by section.

    Without matplotlib there are no pictures; the tables hold the same.
    """
    try:
        import matplotlib as mpl
    except ImportError:
        return {}
    mpl.use("Agg")
    drawn: dict[str, list[str]] = {}
    for section in sections:
        shown = [each for each in section.comparisons if len(each.rows) > 1]
        if shown:
            os.makedirs(directory, exist_ok=True)
            name = f"{section.key}.png"
            _draw_section(section.title, shown, os.path.join(directory, name))
            drawn[section.key] = [name]
    return drawn


def _draw_section(title: str, comparisons: Sequence[Comparison], path: str) -> None:
    from matplotlib import pyplot as plt

    lines = -(-len(comparisons) // _COLUMNS)
    columns = min(_COLUMNS, len(comparisons))
    width, bar = _CELL_INCHES
    height = max(len(each.rows) for each in comparisons) * bar + _MARGIN_INCHES
    figure, grid = plt.subplots(lines, columns, figsize=(width * columns, height * lines), squeeze=False)
    cells = [axes for line in grid for axes in line]
    for axes, comparison in zip(cells, comparisons, strict=False):
        _draw_comparison(axes, comparison)
    for axes in cells[len(comparisons) :]:
        axes.set_axis_off()
    figure.suptitle(title, fontsize=11)
    figure.tight_layout(rect=(0, 0, 1, 1 - _TITLE_INCHES / (height * lines)))
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_comparison(axes: Any, comparison: Comparison) -> None:
    """Draw the best target on top, with a whisker over all rounds, and a wide range on a logarithmic axis."""
    rows = sorted(comparison.rows, key=lambda row: row.series.median, reverse=not comparison.is_more_better)
    medians = [row.series.median for row in rows]
    whiskers = [
        [row.series.median - row.series.low for row in rows],
        [row.series.high - row.series.median for row in rows],
    ]
    colours = [
        _OURS if row.target.startswith("Penstock") else _SYNCED if "sync" in row.durability else _CACHED
        for row in rows
    ]
    axes.barh([row.target for row in rows], medians, xerr=whiskers, color=colours, ecolor="#555", capsize=2)
    if min(medians) > 0 and max(medians) / min(medians) > 30:
        axes.set_xscale("log")
    axes.set_title(f"{comparison.what} ({comparison.unit})", fontsize=9)
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
