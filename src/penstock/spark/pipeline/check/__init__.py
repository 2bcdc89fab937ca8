"""Checks a pipeline without running it: streams and watermarks, columns and SQL with Spark, topics with the broker.

It checks the graph that would run, over frames with the right columns and no rows. `load` has refused other errors
before.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager

import msgspec
from pyspark.sql import SparkSession

from penstock.spark.pipeline.check.analysis import Analysis, analyse
from penstock.spark.pipeline.core.graph import unused_warnings
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.core.problems import Problem, sorted_problems
from penstock.spark.pipeline.rules.streams import stream_problems
from penstock.spark.pipeline.run.runner import session_for
from penstock.spark.pipeline.run.tables import table_problems
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
    pipeline: Pipeline, spark: SparkSession, *, partitions: Mapping[str, int] | None = None
) -> Report:
    """Check the pipeline. `partitions` has the topics of the cluster with their partition counts."""
    analysis = analyse(spark, pipeline)
    found = [*unused_warnings(pipeline), *stream_problems(pipeline), *analysis.problems]
    if partitions is not None:
        found += [*topic_problems(pipeline, partitions), *table_problems(pipeline)]
    return Report(
        pipeline=pipeline, problems=sorted_problems(found), analysis=analysis, partitions=partitions
    )
