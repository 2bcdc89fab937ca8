"""Compiles a pipeline to DataFrames: one for each source and step, and one for the rejected rows of each.

The caller's `read_source` returns the frame of a topic (key, value, topic, partition, offset, timestamp, headers) or of
a table: `run` reads streams, `backfill` a range of records, `check` empty frames. All three compile the same graph.

A rejected row (it did not decode, or it broke a `dead-letter` expectation) is in exactly one frame of `rejected`, under
the source or step that rejected it, with the reason in `_error`. One query writes each of these frames, so a reject is
one dead letter, however many outputs read the source.
"""

from collections.abc import Callable, Mapping

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from penstock.spark.decode.frames import decode
from penstock.spark.pipeline.compile import expectations
from penstock.spark.pipeline.compile.errors import CompileError, part
from penstock.spark.pipeline.compile.steps import Views, run_step, watermarked
from penstock.spark.pipeline.core.graph import in_reading_order
from penstock.spark.pipeline.core.model import Output, Pipeline, Source, SqlStep, Step, TopicSource
from penstock.spark.pipeline.core.problems import Problem
from penstock.spark.record_columns import ERROR

ReadSource = Callable[[Source], DataFrame]


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    frames: dict[str, DataFrame]  # by source or step: the accepted rows
    rejected: dict[str, DataFrame]  # by source or step, if it can reject rows
    problems: tuple[Problem, ...] = ()  # with `collect_problems`


def compile_frames(
    spark: SparkSession, pipeline: Pipeline, read_source: ReadSource, *, collect_problems: bool = False
) -> Compiled:
    """Compile a pipeline. Raises CompileError for the first problem; with `collect_problems` it returns all.

    It skips steps that read a part with a problem, so that only causes are reported.
    """
    building = _Building(spark, pipeline, read_source)
    problems: list[Problem] = []
    try:
        for each in (*pipeline.sources, *in_reading_order(pipeline.steps)):
            if any(name in building.failed for name in getattr(each, "inputs", ())):
                building.failed.add(each.name)
                continue
            try:
                building.add(each)
            except CompileError as error:
                if not collect_problems:
                    raise
                building.failed.add(each.name)
                problems.append(error.problem)
    finally:
        building.views.drop()
    return Compiled(frames=building.frames, rejected=building.rejected, problems=tuple(problems))


def output_frame(output: Output, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return the frame that an output writes."""
    with part("output", output.name, output.target.line or output.line):
        written = output.target.select(frames[output.input])
        written.schema  # noqa: B018 - makes Spark analyse it
        return written


class _Building:
    """The graph being compiled: frames so far, and failed parts."""

    __slots__ = ("_pipeline", "_read_source", "failed", "frames", "rejected", "views")

    def __init__(self, spark: SparkSession, pipeline: Pipeline, read_source: ReadSource) -> None:
        self._pipeline = pipeline
        self._read_source = read_source
        self.views = Views(spark)
        self.frames: dict[str, DataFrame] = {}
        self.rejected: dict[str, DataFrame] = {}
        self.failed: set[str] = set()

    def add(self, each: Source | Step) -> None:
        if isinstance(each, Step):
            operation = each.operation
            # Spark gets the SQL after one added line.
            sql_line = operation.line - 1 if isinstance(operation, SqlStep) and operation.line else 0
            line = operation.line or each.line
            with part("step", each.name, line, sql_line=sql_line):
                self._add_step(each)
                self.frames[each.name].schema  # noqa: B018 - makes Spark Connect analyse it
            return
        with part("source", each.name, each.line):
            if isinstance(each, TopicSource):
                self._add_topic(each)
            else:
                self.frames[each.name] = self._read_source(each)
            self.frames[each.name].schema  # noqa: B018

    def _add_topic(self, source: TopicSource) -> None:
        records = self._read_source(source)
        with part("source", source.name, source.decoder.line or source.line):
            decoded = decode(records, source.decoder, self._pipeline.directory)
        good = decoded.filter(F.col(ERROR).isNull()).drop(ERROR)
        expectations.check_rules(good, source.name, source.expectations)
        reason = F.when(F.col(ERROR).isNull(), expectations.rejection(source.expectations)).otherwise(
            F.col(ERROR)
        )
        self.rejected[source.name] = decoded.withColumn(ERROR, reason).filter(F.col(ERROR).isNotNull())
        frame = expectations.kept(good, source.name, source.expectations)
        self.frames[source.name] = watermarked(frame, source.watermark) if source.watermark else frame

    def _add_step(self, step: Step) -> None:
        missing = [name for name in step.inputs if name not in self.frames]
        if missing:
            raise ValueError(f"there is no source or earlier step `{missing[0]}`")
        inputs = {name: self.frames[name] for name in step.inputs}
        made = run_step(self.views, step, inputs, self._pipeline.directory)
        expectations.check_rules(made, step.name, step.expectations)
        if expectations.rejects(step.expectations):
            marked = made.withColumn(ERROR, expectations.rejection(step.expectations))
            self.rejected[step.name] = marked.filter(F.col(ERROR).isNotNull())
        self.frames[step.name] = expectations.kept(made, step.name, step.expectations)
