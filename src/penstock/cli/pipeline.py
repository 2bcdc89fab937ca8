"""`penstock pipeline …`: check, test, run and backfill pipelines on Spark, and show their status."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from penstock.cli.errors import EXIT_FAILED, EXIT_USAGE, CommandError, UsageError
from penstock.cli.options import listen_address
from penstock.cli.output import AsJson, print_json, print_table
from penstock.cli.pipeline_changes import history, plan, reset
from penstock.cli.pipeline_file import (
    Master,
    PipelineFile,
    Remote,
    Server,
    SparkLogs,
    connected,
    pipeline_errors,
)
from penstock.cli.pipeline_file import load_pipeline as _load
from penstock.cli.stop_signals import stop_on_signals

if TYPE_CHECKING:
    from penstock.spark.pipeline.check import Report
    from penstock.spark.pipeline.core.model import Pipeline
    from penstock.spark.pipeline.core.problems import Problem
    from penstock.spark.pipeline.progress.metrics import MetricsAddress
    from penstock.spark.pipeline.progress.status import RunStatus

app = typer.Typer(help="Check, test, run and watch data pipelines on Spark.", no_args_is_help=True)


@app.command()
def check(
    *,
    file: str = PipelineFile,
    server: str | None = Server,
    offline: bool = typer.Option(False, "--offline", help="Connect to no broker: topics are not checked."),
) -> None:
    """Check a pipeline file and explain it, without running it.

    Every problem is printed as `file:line: what is wrong`; warnings do not make the command fail.

    For example:

      penstock pipeline check payments.yaml
      penstock pipeline check payments.yaml --offline
    """
    with pipeline_errors():
        report = _check(file, server, offline=offline)
    _explain(report)
    for problem in report.problems:
        print(problem.text(file))
    errors = sum(not problem.is_warning for problem in report.problems)
    if errors:
        raise CommandError(_count(errors))
    print("no errors, only warnings" if report.problems else "everything is in order")


def _count(problems: int) -> str:
    return f"{problems} problem{'' if problems == 1 else 's'} found"


def _check(file: str, server: str | None, *, offline: bool) -> "Report":
    from msgspec.structs import replace

    from penstock.spark.pipeline.check import check_pipeline, session_for_check
    from penstock.spark.pipeline.core.problems import PipelineError, Problem, sorted_problems

    known: tuple[Problem, ...] = ()
    try:
        pipeline = _load(file, server)
    except PipelineError as error:
        if error.healthy is None:
            print(error)
            raise CommandError(
                _count(len(error.problems)) + "; columns and topics were not checked"
            ) from None
        pipeline, known = error.healthy, error.problems
    found = None if offline else _fetch_partitions(pipeline)
    with session_for_check(pipeline) as spark, contextlib.ExitStack() as opened:
        partitions = found if isinstance(found, dict) else None
        cluster = None if partitions is None else opened.enter_context(connected(pipeline))
        report = check_pipeline(pipeline, spark, partitions=partitions, compares=not known, cluster=cluster)
    if isinstance(found, Problem):
        known = (found, *known)
    return replace(report, problems=sorted_problems([*known, *report.problems]))


def _fetch_partitions(pipeline: "Pipeline") -> "dict[str, int] | Problem":
    """Count the partitions of every topic, or say why that failed: the rest can be checked without."""
    from penstock.client.connection import Disconnected
    from penstock.client.errors import ClientError
    from penstock.spark.pipeline.core.problems import Problem

    try:
        with connected(pipeline) as cluster:
            return {name: len(topic.partitions) for name, topic in cluster.topics().items()}
    except (ClientError, Disconnected, CommandError) as error:
        return Problem(message=f"the topics were not checked: {error}; or leave them out with --offline")


def _explain(report: "Report") -> None:
    from penstock.spark.pipeline.check import explain
    from penstock.spark.pipeline.core.secrets import redact

    print(redact(explain.summary(report.pipeline)))
    print()
    print_table(explain.PART_COLUMNS, _redacted(explain.part_rows(report)))
    print()
    print_table(explain.QUERY_COLUMNS, _redacted(explain.query_rows(report)))
    print()


def _redacted(rows: "list[tuple[object, ...]]") -> list[list[object]]:
    from penstock.spark.pipeline.core.secrets import redact

    return [[redact(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]


@app.command()
def run(
    *,
    file: str = PipelineFile,
    once: bool = typer.Option(False, "--once", help="Read all records up to the current end, then stop."),
    server: str | None = Server,
    master: str | None = Master,
    remote: str | None = Remote,
    spark_logs: bool = SparkLogs,
    metrics_port: int | None = typer.Option(
        None,
        "--metrics-port",
        min=0,
        max=65535,
        metavar="N",
        help="Serve Prometheus metrics on this port of 127.0.0.1.",
    ),
    metrics: str | None = typer.Option(
        None, "--metrics", metavar="HOST:PORT", help="Serve Prometheus metrics at this address."
    ),
    quiet: bool = typer.Option(False, "--quiet", help="Print no progress, only errors."),
) -> None:
    r"""Run a pipeline until Ctrl-C or SIGTERM, or with --once until everything is read.

    On a signal each query finishes its batch; a second signal stops immediately. The next run continues from there.

    For example:

      penstock pipeline run payments.yaml
      penstock pipeline run payments.yaml --once
      penstock pipeline run payments.yaml --master spark://10.0.0.1:7077 \
        --metrics 0.0.0.0:9400
    """
    metrics_at = _metrics_address(metrics, metrics_port)
    with pipeline_errors():
        pipeline = _load(file, server)
        with _stop_on_signals() as stopping:
            from penstock.spark.pipeline.run.runner import run as run_pipeline

            result = run_pipeline(
                pipeline,
                once=once,
                master=master,
                remote=remote,
                show_spark_logs=spark_logs,
                metrics_address=metrics_at,
                quiet=quiet,
                stopping=stopping,
            )
    if result.given_up:
        failures = [f"{query} failed: {reason}" for query, reason in result.given_up.items()]
        raise CommandError("; ".join(failures))


def _metrics_address(metrics: str | None, port: int | None) -> "MetricsAddress | None":
    if metrics is not None and port is not None:
        raise UsageError("--metrics and --metrics-port say the same: keep one of them")
    if metrics is None and port is None:
        return None
    with pipeline_errors():
        from penstock.spark.pipeline.progress.metrics import MetricsAddress

        if metrics is None:
            return MetricsAddress("127.0.0.1", port or 0)
        return MetricsAddress(*listen_address("--metrics", metrics, "0.0.0.0:9400"))
    raise AssertionError


@contextlib.contextmanager
def _stop_on_signals() -> Iterator[threading.Event]:
    """Give an event that the first signal sets; a later one interrupts the command."""

    def on_first(number: int) -> None:
        name = signal.Signals(number).name
        print(f"penstock: stopping after {name}: waiting for the running batches", file=sys.stderr)

    def on_later(_number: int) -> None:
        raise KeyboardInterrupt

    with stop_on_signals(on_first, on_later) as stopping:
        yield stopping


@app.command("test")
def run_cases(
    *,
    paths: list[str] = typer.Argument(
        metavar="PATH...", help="Pipeline files, their cases files, or directories with such files."
    ),
    pattern: str | None = typer.Option(
        None, "-k", metavar="PATTERN", help="Run only the cases whose file or name contains this text."
    ),
    junit: str | None = typer.Option(
        None, "--junit", metavar="FILE", help="Write the results to this file in JUnit's XML format."
    ),
) -> None:
    """Run the cases of pipelines: payments.tests.yaml has those of payments.yaml.

    Each case has a broker and tables of its own; all run in one Spark session. The command fails with status 1 if a
    case fails, and with status 2 if a cases file is wrong.

    For example:

      penstock pipeline test payments.yaml
      penstock pipeline test pipelines/ -k refund --junit results.xml
    """
    with pipeline_errors():
        from penstock.spark.testing.cases import command
        from penstock.spark.testing.cases.find import CasesNotFound

        try:
            files = command.read_files(paths, pattern)
        except command.BadCases as error:
            print(error, file=sys.stderr)
            raise typer.Exit(EXIT_USAGE) from None
        except CasesNotFound as error:
            raise UsageError(str(error)) from None
        if not command.run_files(files, junit):
            raise typer.Exit(EXIT_FAILED)


@app.command()
def status(*, file: str = PipelineFile, as_json: bool = AsJson) -> None:
    """Show the state of a running pipeline, or of its last run.

    For example:

      penstock pipeline status payments.yaml
      penstock pipeline status payments.yaml --json
    """
    with pipeline_errors():
        pipeline = _load(file)
    from penstock.spark.pipeline.core.queries import state_directory
    from penstock.spark.pipeline.progress.status import is_running, read_status
    from penstock.spark.pipeline.progress.terminal import COLUMNS, cells, describe_maintenance

    directory = state_directory(pipeline)
    last = read_status(directory)
    if last is None:
        raise CommandError(
            f"pipeline {pipeline.name} has not run yet: start it with `penstock pipeline run {file}`"
        )
    running = is_running(directory)
    if as_json:
        import msgspec

        print_json({"running": running, **msgspec.to_builtins(last)})
        return
    print(_headline(last, running=running))
    print_table(COLUMNS, [cells(query) for query in last.queries])
    for query in last.queries:
        for owner, counts in query.broken.items():
            for rule, count in counts.items():
                if count:
                    print(f"{query.name}: {count:,} rows of {owner} broke `{rule}`")
        if query.last_error is not None:
            print(f"{query.name}: last error: {query.last_error}")
    for table in last.maintenance:
        print(describe_maintenance(table))


def _headline(status: "RunStatus", *, running: bool) -> str:
    from datetime import UTC, datetime

    def format_time(at_ms: int) -> str:
        return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")

    if running:
        state = f"runs as process {status.pid} since {format_time(status.started_ms)}"
    elif status.ended_ms is None:
        state = f"does not run: process {status.pid} died, last update {format_time(status.updated_ms)}"
    else:
        state = f"does not run: it ended {format_time(status.ended_ms)} with exit code {status.exit_code}"
    return f"pipeline {status.pipeline} {state}"


@app.command()
def backfill(
    *,
    file: str = PipelineFile,
    from_: str = typer.Option(..., "--from", metavar="TIME", help="Begin at this time: ISO 8601, UTC."),
    to: str = typer.Option(..., "--to", metavar="TIME", help="End before this time."),
    output: str | None = typer.Option(
        None,
        "--output",
        metavar="NAME",
        show_default="all, and the dead-letter topic",
        help="Write only this output.",
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only count the records."),
    force: bool = typer.Option(
        False, "--force", help="Write the range even if it was backfilled before; earlier rows are kept."
    ),
    replace: str | None = typer.Option(
        None,
        "--replace",
        metavar="COLUMN",
        help="Replace the rows of a table whose COLUMN is in the range, in one commit; needs --output.",
    ),
    server: str | None = Server,
    master: str | None = Master,
    remote: str | None = Remote,
    spark_logs: bool = SparkLogs,
) -> None:
    r"""Run a pipeline over the records of a time range, as a batch.

    The same range is written to an output only once, unless --force is given. With --replace the rows of the range are
    made anew from all records since its begin, no matter which run wrote them.

    For example:

      penstock pipeline backfill payments.yaml --dry-run \
        --from 2026-01-01 --to 2026-02-01
      penstock pipeline backfill payments.yaml --output history \
        --from 2026-01-01 --to 2026-02-01
      penstock pipeline backfill payments.yaml --output history \
        --from 2026-01-01 --to 2026-02-01 --replace day
    """
    if replace is not None and (output is None or force or dry_run):
        raise UsageError("--replace needs --output, and goes neither with --force nor with --dry-run")
    with pipeline_errors():
        pipeline = _load(file, server)
        from penstock.client.blocking.client import BlockingClient
        from penstock.spark.pipeline import backfill as batch
        from penstock.spark.pipeline.core.positions import time_ms
        from penstock.spark.pipeline.run.runner import session_for
        from penstock.spark.pipeline.run.topics import client_settings

        times = batch.TimeRange(from_ms=time_ms(from_), to_ms=time_ms(to))
        queries = batch.select_queries(pipeline, output)
        if replace is not None:
            batch.check_replaceable(queries[0])
            with (
                contextlib.closing(BlockingClient(client_settings(pipeline))) as cluster,
                session_for(
                    pipeline, master=master, remote=remote, is_short_run=True, show_logs=spark_logs
                ) as session,
            ):
                count = batch.replace(session, pipeline, queries[0], batch.row_range(replace, times), cluster)
            print(f"{queries[0].name}: {count:,} rows in the range now")
            return
        with contextlib.closing(BlockingClient(client_settings(pipeline))) as cluster:
            ranges = batch.source_ranges(queries, times, cluster)
        records = [
            (each.source, topic, partition, end - each.start[topic][partition])
            for each in ranges.values()
            for topic, partitions in each.end.items()
            for partition, end in partitions.items()
        ]
        print_table(("source", "topic", "partition", "records"), records)
        if dry_run:
            return
        with session_for(
            pipeline, master=master, remote=remote, is_short_run=True, show_logs=spark_logs
        ) as session:
            results = batch.backfill(session, pipeline, queries, times, ranges, again=force)
    for result in results:
        print(f"{result.query}: " + ("was done before, nothing written" if result.was_done else "written"))


for command in (plan, reset, history):
    app.command()(command)
