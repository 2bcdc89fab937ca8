"""`penstock pipeline …`: check, run and look at pipelines on Spark."""

from typing import TYPE_CHECKING

import typer

from penstock.cli import pipeline_run
from penstock.cli.errors import CommandError
from penstock.spark.pipeline.problems import PipelineError, Problem

if TYPE_CHECKING:
    from penstock.spark.pipeline.check import Report
    from penstock.spark.pipeline.model import Pipeline

app = typer.Typer(help="Check, run and watch data pipelines on Spark.", no_args_is_help=True)
app.add_typer(pipeline_run.app)


@app.command()
def check(
    *,
    file: str = typer.Argument(metavar="FILE", help="The pipeline: a YAML file, or a Python file."),
    server: str | None = typer.Option(
        None,
        "--bootstrap-server",
        "-b",
        metavar="HOST:PORT",
        show_default="what the file says",
        help="The broker to ask for the topics.",
    ),
    offline: bool = typer.Option(False, "--offline", help="Ask no broker: topics are not checked."),
) -> None:
    """Check a pipeline file and explain it, without running it.

    Every problem is told as `file:line: what is wrong`; warnings do not make the command fail.

    For example:

      penstock pipeline check payments.yaml
      penstock pipeline check payments.yaml --offline
    """
    with pipeline_run.told_in_one_line():
        report = _checked(_loaded(file), server, offline=offline)
    _explain(report)
    for problem in report.problems:
        print(problem.text(file))
    wrong = sum(not problem.is_warning for problem in report.problems)
    if wrong:
        raise CommandError(_count(wrong))
    print("everything is in order" if not report.problems else "nothing stands in the way of a run")


def _loaded(file: str) -> "Pipeline":
    from penstock.spark.pipeline.load import load

    try:
        return load(file)
    except PipelineError as error:
        print(error)
        raise CommandError(_count(len(error.problems)) + "; columns and topics were not looked at") from None


def _count(problems: int) -> str:
    return f"{problems} problem{'' if problems == 1 else 's'} found"


def _checked(pipeline: "Pipeline", server: str | None, *, offline: bool) -> "Report":
    from msgspec.structs import replace

    from penstock.spark.pipeline.check import check_pipeline, session_for_check

    if server is not None:
        pipeline = replace(pipeline, bootstrap_servers=server)
    found = None if offline else _partitions(pipeline)
    with session_for_check(pipeline) as spark:
        report = check_pipeline(pipeline, spark, partitions=found if isinstance(found, dict) else None)
    return replace(report, problems=(found, *report.problems)) if isinstance(found, Problem) else report


def _partitions(pipeline: "Pipeline") -> "dict[str, int] | Problem":
    """The topics of the cluster, or why it cannot be asked: the rest can be checked without it."""
    from penstock.cli.connection import check_reachable
    from penstock.client.blocking.cluster import Cluster
    from penstock.client.connection import Disconnected
    from penstock.client.errors import ClientError
    from penstock.spark.pipeline.run_topics import client_settings

    try:
        check_reachable(pipeline.bootstrap_servers)  # soon, where the client would try for a minute
        cluster = Cluster(client_settings(pipeline))
        try:
            return {name: len(topic.partitions) for name, topic in cluster.topics().items()}
        finally:
            cluster.close()
    except (ClientError, Disconnected, CommandError) as error:
        return Problem(message=f"the topics were not checked: {error}; or leave them out with --offline")


def _explain(report: "Report") -> None:
    from penstock.cli.output import print_table
    from penstock.spark.pipeline.check import explain

    print(explain.summary(report.pipeline))
    print()
    print_table(explain.PART_COLUMNS, explain.part_rows(report))
    print()
    print_table(explain.QUERY_COLUMNS, explain.query_rows(report))
    print()
