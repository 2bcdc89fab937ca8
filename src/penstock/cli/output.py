"""Output of commands: tables for people, JSON for programs."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import typer

AsJson: bool = typer.Option(False, "--json", help="Print JSON instead of a table.")

_COLUMN_GAP = "  "


def print_json(value: object) -> None:
    """Print one JSON document on one line."""
    print(msgspec.json.encode(value).decode())


def print_result(
    value: object,
    columns: Sequence[str],
    rows: Sequence[Any],
    *,
    as_json: bool,
    empty: str | None = None,
) -> None:
    """Print a value as JSON, or its rows as a table; `empty` replaces a table without rows."""
    if as_json:
        print_json(value)
    elif rows or empty is None:
        print_table(columns, rows)
    else:
        print(empty)


def print_table(columns: Sequence[str], rows: Iterable[Any]) -> None:
    """Print a table that fits the terminal; elsewhere plain columns that are never cut, for grep and awk.

    A row is a sequence of cells, or a Struct with a field for each column. None is printed as a dash, so that columns
    can be counted.
    """
    lines = (msgspec.structs.astuple(row) if isinstance(row, msgspec.Struct) else row for row in rows)
    cells = [["-" if cell is None else str(cell) for cell in line] for line in lines]
    if sys.stdout.isatty():
        _print_rich(columns, cells)
        return
    widths = [max(len(line[at]) for line in [list(columns), *cells]) for at in range(len(columns))]
    for line in [[column.upper() for column in columns], *cells]:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print(_COLUMN_GAP.join(padded).rstrip())


def _print_rich(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for line in cells:
        table.add_row(*(Text(cell) for cell in line))  # Text: a name in brackets is not markup
    Console().print(table)


def join_values(items: Iterable[object]) -> str:
    return ",".join(str(item) for item in items)
