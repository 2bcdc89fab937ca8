"""Formats of `penstock sql`: a table for people, and those of files."""

import os
import sys
from collections.abc import Mapping
from typing import IO, Any, Final

from penstock.cli.errors import UsageError
from penstock.cli.output import print_table
from penstock.cli.sql.command import Form
from penstock.sql.writers import Writer, cell_text, open_writer, rows_of

TABLE_ROWS_MAX: Final = 10_000
_BINARY: Final = ("parquet", "arrow")


class TableWriter:
    """A table shows its widest cells, so it is printed at the end; it keeps a limited number of rows."""

    def __init__(self, columns: list[str]) -> None:
        self._columns = columns
        self._rows: list[list[str | None]] = []
        self._left_out = 0

    def write(self, batch: Any) -> None:
        room = TABLE_ROWS_MAX - len(self._rows)
        self._left_out += max(batch.num_rows - room, 0)
        self._rows += [[cell_text(value) for value in row] for row in rows_of(batch.slice(0, max(room, 0)))]

    def close(self) -> None:
        print_table(self._columns, self._rows)
        if self._left_out:
            print(f"and {self._left_out} more rows: print all with --format csv or json", file=sys.stderr)


def make_writer(form: Form, out: IO[bytes], schema: Any) -> Writer:
    return TableWriter(schema.names) if form == "table" else open_writer(form, out, schema)


def check_form(form: Form, output: str | None, *, follows: bool) -> None:
    if form in _BINARY and output is None and sys.stdout.isatty():
        raise UsageError(f"{form} is not for a terminal: write it to a file with -o FILE")
    if follows and form in ("table", *_BINARY):
        raise UsageError(f"--format {form} needs all rows, and --follow has no end: use csv or json")
    if form == "table" and output is not None:
        raise UsageError("a table is printed: choose --format csv, json, parquet or arrow for -o FILE")


def form_of_file(path: str) -> Form | None:
    """Guess the format from the name of a file."""
    endings: Mapping[str, Form] = {
        ".csv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet", ".arrow": "arrow",
    }  # fmt: skip
    return endings.get(os.path.splitext(path)[1].lower())
