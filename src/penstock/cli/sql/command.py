"""`penstock sql`: query topics and lake tables."""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, Literal

import typer

from penstock.cli.connect.settings import read_settings
from penstock.cli.connect.target import Target, check_reachable, connects
from penstock.cli.errors import CommandError, UsageError, one_line
from penstock.distribution import pip_install

if TYPE_CHECKING:
    from penstock.sql import Result, Session

Form = Literal["table", "csv", "json", "parquet", "arrow"]
_DEADLINE_MS = "15000"


@connects
def sql(
    target: Target,
    *,
    query: str | None = typer.Argument(None, metavar="QUERY", help="One query (a prompt opens if omitted)."),
    form: Form | None = typer.Option(
        None, "--format", show_default="table, or by the name of the file", help="Print rows in this format."
    ),
    output: str | None = typer.Option(
        None, "--output", "-o", metavar="FILE", help="Write rows to this file."
    ),
    follow: bool = typer.Option(
        False, "--follow", help="Wait for new records; for filters and projections of one topic."
    ),
    schemas: list[str] = typer.Option(
        [],
        "--schema",
        metavar="TOPIC=SCHEMA|FILE",
        help="Set a topic's columns, such as 'orders=json(id BIGINT, amount DOUBLE)', or read a YAML file of them "
        "(repeatable).",
    ),
    registry: str | None = typer.Option(
        None, "--registry", metavar="URL", help="Decode Confluent-framed Avro with this schema registry."
    ),
    tables: list[str] = typer.Option(
        [], "--table", metavar="NAME=PATH", help="Name a lake table (repeatable)."
    ),
    memory_limit: str = typer.Option(
        "1GB", "--memory-limit", metavar="SIZE", help="Spill to disk beyond this much memory."
    ),
    fail: bool = typer.Option(
        False, "--fail-on-error", help="Fail at a record that does not decode, instead of nulls and _error."
    ),
    time_order: bool = typer.Option(
        False,
        "--assume-time-order",
        help="Stop reading a partition at the first record after an upper bound of _timestamp.",
    ),
    stats: bool | None = typer.Option(
        None, "--stats/--no-stats", show_default="in a terminal", help="Print what was fetched to stderr."
    ),
) -> None:
    """Query topics and lake tables with SQL. Topics are tables; nothing is written.

    For example:

      penstock sql "SELECT customer, sum(amount) FROM orders GROUP BY 1"
      penstock sql "SELECT * FROM orders WHERE _timestamp > now() - INTERVAL 1 HOUR" -o orders.parquet
      penstock sql "SELECT * FROM orders WHERE amount > 100" --follow
      penstock sql "SHOW TABLES"
      penstock sql "DESCRIBE orders"
    """
    _check_installed()
    from penstock.cli.sql.formats import check_form, form_of_file

    chosen: Form = form or (form_of_file(output) if output else None) or ("json" if follow else "table")
    check_form(chosen, output, follows=follow)
    if query is None and (follow or output):
        raise UsageError("--follow and -o need a query")
    settings = {
        "registry_url": registry,
        "tables": _named(tables),
        "memory_limit": memory_limit,
        "fails_on_error": fail,
        "is_time_ordered": time_order,
    }
    with _session(target, schemas, settings) as session:
        if query is None:
            from penstock.cli.sql.prompt import run_prompt

            run_prompt(session, chosen, shows_stats=stats is not False)
            return
        shows_stats = sys.stderr.isatty() if stats is None else stats
        with _open_output(output) as out:
            if follow:
                with contextlib.suppress(KeyboardInterrupt):
                    _follow(session, query, chosen, out)
            else:
                print_result(session.sql(query), chosen, out, shows_stats=shows_stats)


def print_result(result: "Result", form: Form, out: IO[bytes], *, shows_stats: bool) -> None:
    from penstock.cli.sql.formats import make_writer

    with contextlib.closing(result):
        if result.columns == ["explain"] and form == "table":
            for (line,) in result.fetchall():
                print(line)
            return
        writer = make_writer(form, out, result.schema)
        for batch in result.batches():
            writer.write(batch)
        writer.close()
        if shows_stats:
            print(stats_text(result), file=sys.stderr)


def stats_text(result: "Result") -> str:
    """Describe what the scans of a query have read."""
    parts = [
        f"{each.topic}: {each.records_scanned:,} record(s) scanned, {each.bytes_fetched:,} bytes fetched"
        for each in result.stats
    ]
    return "; ".join(parts) or "nothing fetched from topics"


def _follow(session: "Session", query: str, form: Form, out: IO[bytes]) -> None:
    from penstock.cli.sql.formats import make_writer

    writer: Any = None
    for result in session.follow(query):
        if writer is None:
            writer = make_writer(form, out, result.schema)
        for batch in result.batches():
            writer.write(batch)
        out.flush()


@contextlib.contextmanager
def _open_output(path: str | None) -> Iterator[IO[bytes]]:
    """Give standard output, or a file that gets its name when it is complete."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    is_special = os.path.exists(path) and not os.path.isfile(path)
    written = path if is_special else f"{path}.part"
    try:
        with open(written, "wb") as file:
            yield file
        if not is_special:
            os.replace(written, path)
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or one_line(str(error))}") from None
    finally:
        if not is_special:
            with contextlib.suppress(OSError):
                os.remove(written)


@contextlib.contextmanager
def _session(target: Target, schemas: list[str], settings: Mapping[str, Any]) -> Iterator["Session"]:
    from penstock import sql as package
    from penstock.cli.sql.schemas import read_schemas
    from penstock.client.errors import ClientError, SettingsError

    check_reachable(target.server)
    properties = {"default.api.timeout.ms": _DEADLINE_MS, **read_settings(target.settings)}
    try:
        with package.connect(
            target.server, properties=properties, schemas=read_schemas(schemas), **settings
        ) as session:
            yield session
    except SettingsError as error:
        raise UsageError(one_line(str(error))) from None
    except (package.SqlError, ClientError) as error:
        raise CommandError(one_line(str(error))) from None


def _check_installed() -> None:
    try:
        import_module("penstock.sql")
    except ModuleNotFoundError as missing:
        install = pip_install("sql")
        raise CommandError(f"SQL needs the package {missing.name}: install it with `{install}`") from None


def _named(tables: list[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in tables]
    for name, separator, path in pairs:
        if not (name and separator and path):
            raise UsageError(f"--table {name!r}: write NAME=PATH")
    return {name: path for name, _, path in pairs}
