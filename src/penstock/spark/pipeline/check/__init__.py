"""Checks a pipeline without running it: streams and watermarks, columns and SQL with Spark, topics with the broker.

It checks the graph that would run, over frames with the right columns and no rows. `load` has refused other errors
before.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager

import msgspec
from pyspark.sql import SparkSession

from penstock.client.blocking.client import BlockingClient
from penstock.spark.encode.schemas import Registration
from penstock.spark.pipeline.check.analysis import Analysis, analyse
from penstock.spark.pipeline.compile.columns import with_columns
from penstock.spark.pipeline.core.graph import unused_warnings
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.core.problems import Problem, sorted_problems
from penstock.spark.pipeline.plan.findings import Verdict
from penstock.spark.pipeline.plan.plan import has_checkpoints, make_plan
from penstock.spark.pipeline.rules.streams import stream_problems
from penstock.spark.pipeline.run.runner import session_for
from penstock.spark.pipeline.run.sample import no_samples, read_samples
from penstock.spark.pipeline.run.tables import store_problems
from penstock.spark.pipeline.run.topics import topic_problems


class Report(msgspec.Struct, frozen=True, kw_only=True):
    pipeline: Pipeline
    problems: tuple[Problem, ...]
    analysis: Analysis
    partitions: Mapping[str, int] | None = None  # by topic; None: offline


def session_for_check(pipeline: Pipeline) -> AbstractContextManager[SparkSession]:
    """Start a small local session with the settings of the file, and stop it at the end."""
    return session_for(pipeline, master="local[1]", remote=None, is_short_run=True, show_logs=False)


def check_pipeline(
    pipeline: Pipeline,
    spark: SparkSession,
    *,
    partitions: Mapping[str, int] | None = None,
    compares: bool = False,
    cluster: BlockingClient | None = None,
) -> Report:
    """Check the pipeline. `partitions` has the topics of the cluster with their partition counts.

    With `compares`, what does not go on since the last run is a warning, as in `penstock pipeline plan`; of topics only
    with a `cluster`.
    """
    registration = Registration.OFFLINE if partitions is None else Registration.CHECK
    sampled = no_samples if partitions is None else read_samples(spark, pipeline)
    pipeline = with_columns(pipeline, sampled)
    analysis = analyse(spark, pipeline, registration)
    found = [*unused_warnings(pipeline), *stream_problems(pipeline), *analysis.problems]
    if compares and has_checkpoints(pipeline) and not any(not each.is_warning for each in found):
        changes = make_plan(pipeline, spark, cluster)
        found += [each.problem for each in changes if each.verdict is not Verdict.GOES_ON]
    if partitions is not None:
        found += [*topic_problems(pipeline, partitions), *store_problems(pipeline)]
    return Report(
        pipeline=pipeline, problems=sorted_problems(found), analysis=analysis, partitions=partitions
    )
