"""`penstock pipeline run|status|backfill`: what needs Spark, or looks at what Spark did."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from penstock.cli.errors import EXIT_FAILED, EXIT_USAGE, CommandError, one_line
from penstock.cli.output import AsJson, print_json, print_table
from penstock.cli.stop_signals import Impatience
from penstock.distribution import pip_install

if TYPE_CHECKING:
    from penstock.spark.pipeline.model import Pipeline
    from penstock.spark.pipeline.status import QueryStatus, RunStatus

app = typer.Typer()

PipelineFile: str = typer.Argument(metavar="FILE", help="The pipeline: a YAML file, or a Python file.")
Server: str | None = typer.Option(
    None,
    "--bootstrap-server",
    "-b",
    metavar="HOST:PORT",
    show_default="what the file says",
    help="A broker of the cluster.",
)
Master: str | None = typer.Option(
    None,
    "--master",
    metavar="URL",
    show_default="spark.master in the file, or local[*]",
    help="The Spark cluster to run on.",
)
Remote: str | None = typer.Option(
    None, "--remote", metavar="sc://HOST:PORT", help="A Spark Connect server to run on, instead of --master."
)
SparkLogs: bool = typer.Option(False, "--spark-logs", help="Show Spark's own log lines on the terminal.")


@app.command()
def run(
    *,
    file: str = PipelineFile,
    once: bool = typer.Option(False, "--once", help="Read everything that is there, then end."),
    server: str | None = Server,
    master: str | None = Master,
    remote: str | None = Remote,
    spark_logs: bool = SparkLogs,
    metrics_port: int | None = typer.Option(
        None, "--metrics-port", min=0, max=65535, metavar="N", help="Serve Prometheus metrics on this port."
    ),
    quiet: bool = typer.Option(False, "--quiet", help="Show no progress, only what goes wrong."),
) -> None:
    """Run a pipeline until Ctrl-C or SIGTERM, or with --once until everything is read.

    A stop lets each query finish its batch; a second signal does not wait. The next run goes on where this one ended.

    For example:

      penstock pipeline run payments.yaml
      penstock pipeline run payments.yaml --once
      penstock pipeline run payments.yaml --master spark://10.0.0.1:7077 --metrics-port 9400
    """
    pipeline = _loaded(file, server)
    with told_in_one_line(), _stopping_on_signals() as stopping:
        from penstock.spark.pipeline.run import run as run_pipeline

        result = run_pipeline(
            pipeline,
            once=once,
            master=master,
            remote=remote,
            show_spark_logs=spark_logs,
            metrics_port=metrics_port,
            quiet=quiet,
            stopping=stopping,
        )
    if result.given_up:
        told = "; ".join(f"{query} failed: {reason}" for query, reason in result.given_up.items())
        raise CommandError(told)


@app.command()
def status(
    *,
    file: str = PipelineFile,
    as_json: bool = AsJson,
) -> None:
    """Show how a pipeline is doing, or how its last run ended.

    For example:

      penstock pipeline status payments.yaml
      penstock pipeline status payments.yaml --json
    """
    pipeline = _loaded(file, None)
    from penstock.spark.pipeline.queries import state_directory
    from penstock.spark.pipeline.status import is_running, read_status

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
    _print_queries(last.queries)
    for query in last.queries:
        for owner, counts in query.broken.items():
            for rule, count in counts.items():
                if count:
                    print(f"{query.name}: {count:,} rows of {owner} broke `{rule}`")
        if query.last_error is not None:
            print(f"{query.name}: last error: {query.last_error}")


@app.command()
def backfill(
    *,
    file: str = PipelineFile,
    from_: str = typer.Option(..., "--from", metavar="TIME", help="Records from then on: ISO 8601, UTC."),
    to: str = typer.Option(..., "--to", metavar="TIME", help="Up to but without this time."),
    output: str | None = typer.Option(
        None, "--output", metavar="NAME", show_default="all, and dead letters", help="Only this output."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only tell how many records there are."),
    again: bool = typer.Option(
        False, "--again", help="Write a range again that was backfilled before; nothing is removed."
    ),
    server: str | None = Server,
    master: str | None = Master,
    remote: str | None = Remote,
    spark_logs: bool = SparkLogs,
) -> None:
    """Run a pipeline over the records of a time range, as a batch.

    The same range is written to an output only once, unless --again says otherwise.

    For example:

      penstock pipeline backfill payments.yaml --from 2026-01-01 --to 2026-02-01 --dry-run
      penstock pipeline backfill payments.yaml --from 2026-01-01 --to 2026-02-01 --output history
    """
    pipeline = _loaded(file, server)
    with told_in_one_line():
        from penstock.client.blocking.cluster import Cluster
        from penstock.spark.pipeline import backfill as batch
        from penstock.spark.pipeline.positions import time_ms
        from penstock.spark.pipeline.run import session_for
        from penstock.spark.pipeline.run_topics import client_settings

        times = batch.TimeRange(from_ms=time_ms(from_), to_ms=time_ms(to))
        queries = batch.select_queries(pipeline, output)
        cluster = Cluster(client_settings(pipeline))
        ranges = batch.source_ranges(queries, times, cluster)
        cluster.close()
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
            results = batch.backfill(session, pipeline, queries, times, ranges, again=again)
    for result in results:
        print(f"{result.query}: " + ("was done before, nothing written" if result.was_done else "written"))


# -- shared by the commands


def _loaded(file: str, server: str | None) -> "Pipeline":
    with told_in_one_line():
        import msgspec

        from penstock.spark.pipeline.load import load

        pipeline = load(file)
        return msgspec.structs.replace(pipeline, bootstrap_servers=server) if server else pipeline


@contextlib.contextmanager
def told_in_one_line() -> Iterator[None]:
    """What is wrong with a pipeline, its broker or Spark ends the command in words."""
    try:
        from penstock.client.connection import Disconnected
        from penstock.client.errors import ClientError
        from penstock.spark.pipeline.problems import PipelineError
    except ModuleNotFoundError as error:
        raise _missing_extra(error) from None
    try:
        yield
    except ModuleNotFoundError as error:
        raise _missing_extra(error) from None
    except PipelineError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(EXIT_FAILED) from None
    except ValueError as error:
        raise CommandError(one_line(str(error)), EXIT_USAGE) from None
    except (ClientError, Disconnected) as error:
        raise CommandError(one_line(str(error))) from None
    except Exception as error:
        if type(error).__name__ in (
            "AlreadyRunning",
            "OtherPipelinesState",
            "SparkDidNotStart",
            "JavaNotFound",
        ):
            raise CommandError(one_line(str(error))) from None
        raise


def _missing_extra(error: ModuleNotFoundError) -> CommandError:
    if (error.name or "").startswith("penstock"):
        raise error
    return CommandError(f"pipelines need {error.name}: install it with `{pip_install('spark', 'jre')}`")


@contextlib.contextmanager
def _stopping_on_signals() -> Iterator[threading.Event]:
    """An event that the first signal sets; a later one interrupts whatever is going on."""
    stopping = threading.Event()
    impatience = Impatience()

    def stop(number: int, _frame: Any) -> None:
        if impatience.is_shown():
            raise KeyboardInterrupt
        if stopping.is_set():
            return
        stopping.set()
        print(f"penstock: stopping after {signal.Signals(number).name}: batches end first", file=sys.stderr)

    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopping
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _headline(status: "RunStatus", *, running: bool) -> str:
    from datetime import UTC, datetime

    def spelled(at_ms: int) -> str:
        return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")

    if running:
        told = f"runs as process {status.pid} since {spelled(status.started_ms)}"
    elif status.ended_ms is None:
        told = f"does not run: process {status.pid} died, last heard of {spelled(status.updated_ms)}"
    else:
        told = f"does not run: it ended {spelled(status.ended_ms)} with exit code {status.exit_code}"
    return f"pipeline {status.pipeline} {told}"


def _print_queries(queries: "tuple[QueryStatus, ...]") -> None:
    from penstock.spark.pipeline.progress_terminal import COLUMNS, cells

    print_table(COLUMNS, [cells(query) for query in queries])
