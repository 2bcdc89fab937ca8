"""What commands print: tables for people, JSON for programs."""

import sys
from collections.abc import Sequence

import typer

AsJson: bool = typer.Option(False, "--json", help="Print JSON instead of a table.")

_COLUMN_GAP = "  "


def print_json(value: object) -> None:
    """One JSON document, on one line."""
    import msgspec

    print(msgspec.json.encode(value).decode())


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """On a terminal a table as wide as it; elsewhere plain columns that are never cut, for grep and awk."""
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
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


def list_of(items: Sequence[object]) -> str:
    return ",".join(str(item) for item in items)
