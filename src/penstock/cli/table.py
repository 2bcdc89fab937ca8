"""`penstock table …`: show tables that pipelines write, merge their small files, remove unused ones."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from penstock.cli.connect.table import Place, at_table
from penstock.cli.errors import CommandError, UsageError, one_line
from penstock.cli.output import AsJson, print_json, print_result, print_table
from penstock.cli.record_format import format_time
from penstock.distribution import pip_install

if TYPE_CHECKING:
    from penstock.spark.lake.table import Table, Version

app = typer.Typer(
    help="Show tables (Delta, Iceberg, Parquet), merge their small files, remove unused ones. Needs no broker.",
    no_args_is_help=True,
)

_UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_MEBIBYTE = 1 << 20


@app.command()
@at_table
def show(
    place: Place,
    *,
    as_json: bool = AsJson,
) -> None:
    """Show a table's columns, and the number of its rows and files."""
    with _open(place) as table:
        from penstock.spark.lake.formats import format_at

        state, size, kind = table.state(), table.size(), format_at(table.location)
        assert state is not None, place.path
    columns = [
        {"column": field.name, "type": str(field.type), "partition": field.name in state.partition_by}
        for field in state.schema
    ]
    if as_json:
        print_json(
            {
                "path": table.path,
                "format": kind,
                "rows": size.rows,
                "files": size.files,
                "bytes": size.size_bytes,
                "columns": columns,
            }
        )
        return
    print(f"{kind} table {table.path}: {size.rows} row(s) in {size.files} file(s), {size.size_bytes} bytes")
    print_table(
        ("column", "type", "partition"),
        [(each["column"], each["type"], "yes" if each["partition"] else None) for each in columns],
    )


@app.command()
@at_table
def history(
    place: Place,
    *,
    limit: int = typer.Option(20, min=1, metavar="N", help="Show this many versions, the newest first."),
    as_json: bool = AsJson,
) -> None:
    """Show a table's versions, and the query and batch that wrote each."""
    with _open(place) as table:
        versions = table.history(limit)
    print_result(
        versions,
        ("version", "time", "operation", "rows", "added", "removed", "query", "batch"),
        [_version_row(each) for each in versions],
        as_json=as_json,
        empty="nothing has been written to it yet",
    )


def _version_row(version: "Version") -> tuple[object, ...]:
    return (
        version.version,
        format_time(version.timestamp_ms),
        version.operation,
        version.rows_added,
        version.files_added,
        version.files_removed,
        version.query_id,
        version.batch_id,
    )


@app.command()
@at_table
def compact(
    place: Place,
    *,
    file_size_mb: int = typer.Option(128, min=1, metavar="MB", help="Merge into files of this size."),
    as_json: bool = AsJson,
) -> None:
    """Merge small files into larger ones. Streams may write to the table at the same time.

    The small files stay on disk for readers of older versions, until `penstock table vacuum` removes them; those of a
    Parquet table, which has no versions, are removed immediately.
    """
    with _open(place) as table:
        done = table.compact(file_size_mb * _MEBIBYTE)
    if as_json:
        print_json({"path": table.path, "merged": done.files_before, "made": done.files_after})
    elif done.files_before:
        print(f"merged {done.files_before} files into {done.files_after}")
    else:
        print("there is nothing to merge")


@app.command()
@at_table
def vacuum(
    place: Place,
    *,
    older_than: str = typer.Option(
        "7d",
        metavar="AGE",
        help="Select files older than this: 90s, 30m, 12h, 7d. Delta rounds to whole hours.",
    ),
    remove: bool = typer.Option(False, "--remove", help="Delete the files instead of listing them."),
    as_json: bool = AsJson,
) -> None:
    """List unused files of a table, left by failed writes and older versions. Delete them with --remove.

    Files of a batch that is being written are unused until its commit: choose an age longer than a batch takes.
    """
    age_ms = _age_ms(older_than)
    with _open(place) as table:
        files = table.vacuum(age_ms, is_dry_run=not remove)
    if as_json:
        print_json({"path": table.path, "removed": remove, "files": files})
        return
    for file in files:
        print(file)
    if remove:
        print(f"removed {len(files)} file(s)")
    elif files:
        print(f"{len(files)} file(s) can be removed: run it with --remove")
    else:
        print("there is nothing to remove")


def _age_ms(text: str) -> int:
    match = re.fullmatch(r"(\d{1,9})([smhd])", text)
    if match is None:
        raise UsageError(f"--older-than {text!r} is not an age: write it like 90s, 30m, 12h or 7d")
    return int(match[1]) * _UNITS_MS[match[2]]


@contextmanager
def _open(place: Place) -> Iterator["Table"]:
    """Open the table; its errors become one line."""
    try:
        from penstock.spark.lake.errors import TableError
        from penstock.spark.lake.formats import existing_table
    except ModuleNotFoundError as missing:
        raise CommandError(
            f"tables need the package {missing.name}: install it with `{pip_install('spark')}`"
        ) from missing
    try:
        yield existing_table(place.location())
    except TableError as error:
        raise CommandError(one_line(str(error))) from error
    except OSError as error:
        raise CommandError(f"cannot use the table at {place.path}: {one_line(str(error))}") from error
