"""`penstock pipeline plan|reset|history`: what a changed file means for its checkpoints, and the ways out."""

import contextlib

import typer

from penstock.cli.errors import CommandError
from penstock.cli.output import AsJson, print_json, print_result, print_table
from penstock.cli.pipeline_file import PipelineFile, Server, connected, load_pipeline, pipeline_errors


def plan(
    *,
    file: str = PipelineFile,
    accept: str | None = typer.Option(
        None,
        "--accept",
        metavar="NAME",
        help="Record this query as it is now: its state fits in spite of the change.",
    ),
    server: str | None = Server,
    offline: bool = typer.Option(False, "--offline", help="Connect to no broker: topics are not compared."),
    as_json: bool = AsJson,
) -> None:
    """Compare a pipeline file with its checkpoints, state, tables and topics, without running it.

    For each query it says whether the next run goes on, and otherwise what to do. The command fails with status 1 if a
    query cannot go on or needs a change.

    For example:

      penstock pipeline plan payments.yaml
      penstock pipeline plan payments.yaml --offline --json
    """
    with pipeline_errors(), contextlib.ExitStack() as opened:
        import msgspec

        from penstock.spark.pipeline.check import session_for_check
        from penstock.spark.pipeline.core.secrets import redact
        from penstock.spark.pipeline.plan import plan as plans
        from penstock.spark.pipeline.plan.findings import Verdict

        pipeline = load_pipeline(file, server)
        cluster = None if offline else opened.enter_context(connected(pipeline))
        spark = opened.enter_context(session_for_check(pipeline))
        if accept is not None:
            plans.accept(pipeline, spark, accept)
        findings = plans.make_plan(pipeline, spark, cluster)
    if as_json:
        print_json(msgspec.to_builtins(findings))
    else:
        for finding in findings:
            print(redact(f"{finding.query}: {finding.verdict.value}: {finding.message}"))
            for way in finding.advice:
                print(redact(f"    - {way}"))
    stopped = {each.query for each in findings if each.verdict is not Verdict.GOES_ON}
    if stopped:
        raise CommandError(
            f"{len(stopped)} of the queries cannot go on as they are: {', '.join(sorted(stopped))}"
        )


def reset(
    *,
    file: str = PipelineFile,
    output: str = typer.Option(
        ..., "--output", metavar="NAME", help="Reset this output, or the query `dead-letters.NAME`."
    ),
    to: str = typer.Option(
        "earliest",
        "--to",
        metavar="earliest|latest|TIME|OFFSETS",
        help='Start there: a time in ISO 8601, or offsets such as {"orders": {"0": 42}}.',
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only show where the output would start."),
    yes: bool = typer.Option(False, "--yes", help="Do not ask for confirmation."),
    server: str | None = Server,
) -> None:
    r"""Let the next run of an output start anew: give up its checkpoint and its state.

    Rows and records that it has written stay, so those that it reads again are written again. The checkpoint is moved
    aside, not deleted. The pipeline must not be running.

    For example:

      penstock pipeline reset payments.yaml --output history --dry-run
      penstock pipeline reset payments.yaml --output history \
        --to 2026-01-31T08:00:00Z
    """
    with pipeline_errors():
        from penstock.spark.pipeline.core.queries import state_directory
        from penstock.spark.pipeline.plan import reset as resets
        from penstock.spark.pipeline.progress.status import run_lock

        pipeline = load_pipeline(file, server)
        query = resets.query_to_reset(pipeline, output)
        with connected(pipeline) as cluster:
            points = resets.starting_points(query, to, cluster)
        rows = [
            (each.source, each.partition.topic, each.partition.partition, each.offset, each.records)
            for each in points
        ]
        print_table(("source", "topic", "partition", "start", "records to read"), rows)
        if dry_run:
            return
        target = "its dead letters" if query.output is None else query.output.target.describe(None)
        question = f"Give up the checkpoint of {query.name}? What it has written to {target} stays."
        if not yes and not typer.confirm(question, err=True):
            raise CommandError("nothing was changed")
        with run_lock(state_directory(pipeline), pipeline.name):
            aside = resets.reset_query(pipeline, query, to)
    print(
        f"{query.name} starts at {to} with the next run"
        + (f"; its checkpoint is in {aside} now" if aside else "")
    )


def history(
    *,
    file: str = PipelineFile,
    limit: int = typer.Option(20, "--limit", min=1, metavar="N", help="Show the last N runs."),
    server: str | None = Server,
    as_json: bool = AsJson,
) -> None:
    """Show the runs of a pipeline, the latest first, from its history topic.

    For example:

      penstock pipeline history payments.yaml
      penstock pipeline history payments.yaml --limit 1 --json
    """
    with pipeline_errors():
        pipeline = load_pipeline(file, server)
        from penstock.spark.pipeline.history.read import read_runs
        from penstock.spark.pipeline.history.record import history_topic
        from penstock.spark.pipeline.history.table import COLUMNS, run_row

        topic = history_topic(pipeline)
        if topic is None:
            raise CommandError(
                f"pipeline {pipeline.name} keeps no history: {file} says `history_topic: none`"
            )
        with connected(pipeline) as cluster:
            runs = read_runs(cluster, topic, pipeline.name)
    if runs is None:
        raise CommandError(f"there is no topic {topic}: the first run of pipeline {pipeline.name} creates it")
    rows = [run_row(each) for each in runs[:limit]]
    print_result(runs[:limit], COLUMNS, rows, as_json=as_json, empty="no runs")
