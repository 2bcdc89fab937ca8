"""Checks a pipeline without running it: streams and watermarks, columns and SQL with Spark, topics with the broker.

It checks the graph that would run, over frames with the right columns and no rows. `load` has refused other errors
before.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec
from pyspark.sql import SparkSession

from penstock.spark.pipeline.check.analysis import Analysis, analyse
from penstock.spark.pipeline.core.graph import unused_warnings
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.core.problems import Problem, in_order
from penstock.spark.pipeline.rules.streams import stream_problems
from penstock.spark.pipeline.run.topics import topic_problems
from penstock.spark.session import start_session


class Report(msgspec.Struct, frozen=True, kw_only=True):
    pipeline: Pipeline
    problems: tuple[Problem, ...]
    analysis: Analysis
    partitions: Mapping[str, int] | None = None  # by topic; None: offline

    @property
    def is_good(self) -> bool:
        return all(problem.is_warning for problem in self.problems)


@contextmanager
def session_for_check(pipeline: Pipeline) -> Iterator[SparkSession]:
    """Start a small local session with the settings of the file, and stop it at the end."""
    settings = {name: value for name, value in pipeline.spark.items() if name != "spark.master"}
    spark = start_session(f"check {pipeline.name}", master="local[1]", settings=settings, is_short_run=True)
    try:
        yield spark
    finally:
        spark.stop()


def check_pipeline(
    pipeline: Pipeline, spark: SparkSession, *, partitions: Mapping[str, int] | None = None
) -> Report:
    """Check the pipeline. `partitions` has the topics of the cluster with their partition counts."""
    analysis = analyse(spark, pipeline)
    found = [*unused_warnings(pipeline), *stream_problems(pipeline), *analysis.problems]
    if partitions is not None:
        found += topic_problems(pipeline, partitions)
    return Report(pipeline=pipeline, problems=in_order(found), analysis=analysis, partitions=partitions)
