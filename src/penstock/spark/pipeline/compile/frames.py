"""Compiles a pipeline to DataFrames: one for each source and step, and one for the rejected rows of each.

The caller's `read_source` returns the frame of a topic (key, value, topic, partition, offset, timestamp, headers) or of
a table: `run` reads streams, `backfill` a range of records, `check` empty frames. All three compile the same graph.

A rejected row (it did not decode, or it broke a `dead-letter` expectation) is in exactly one frame of `rejected`, under
the source or step that rejected it, with the reason in `_error`. One query writes each of these frames, so a reject is
one dead letter, however many outputs read the source.
"""

from collections.abc import Callable

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from penstock.spark.decode.frames import decode
from penstock.spark.pipeline.compile import expectations
from penstock.spark.pipeline.compile.errors import CompileError, report_as
from penstock.spark.pipeline.compile.steps import Views, run_step, watermarked
from penstock.spark.pipeline.core.graph import topological_order
from penstock.spark.pipeline.core.model import Output, Pipeline, Source, SqlStep, Step, TopicSource, rejects
from penstock.spark.pipeline.core.problems import PipelineError, Problem
from penstock.spark.record_columns import ERROR

ReadSource = Callable[[Source], DataFrame]


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    frames: dict[str, DataFrame] = {}  # by source or step: the accepted rows
    rejected: dict[str, DataFrame] = {}  # by source or step, if it can reject rows
    outputs: dict[str, DataFrame] = {}  # by output: what it writes
    problems: list[Problem] = []

    def raise_problems(self, pipeline: Pipeline) -> None:
        if self.problems:
            raise PipelineError(pipeline.file, self.problems)


def compile_frames(spark: SparkSession, pipeline: Pipeline, read_source: ReadSource) -> Compiled:
    """Compile a pipeline. It skips parts that read a part with a problem, so that only causes are reported."""
    compiler = _Compiler(spark, pipeline, read_source)
    try:
        for each in (*pipeline.sources, *topological_order(pipeline.steps), *pipeline.outputs):
            compiler.add(each)
    finally:
        compiler.views.drop()
    return compiler.compiled


class _Compiler:
    def __init__(self, spark: SparkSession, pipeline: Pipeline, read_source: ReadSource) -> None:
        self._pipeline = pipeline
        self._read_source = read_source
        self._failed: set[str] = set()
        self.views = Views(spark)
        self.compiled = Compiled()
        self.frames, self.rejected = self.compiled.frames, self.compiled.rejected

    def add(self, each: Source | Step | Output) -> None:
        try:
            if isinstance(each, Output):
                self._add_output(each)
            elif isinstance(each, Step) and self._failed.intersection(each.inputs):
                self._failed.add(each.name)
            elif isinstance(each, Step):
                operation = each.operation
                # Spark gets the SQL after one added line.
                sql_line = operation.line - 1 if isinstance(operation, SqlStep) and operation.line else 0
                with report_as("step", each.name, operation.line or each.line, sql_line=sql_line):
                    self._add_step(each)
                    self.frames[each.name].schema  # noqa: B018 - makes Spark Connect analyse it
            else:
                with report_as("source", each.name, each.line):
                    if isinstance(each, TopicSource):
                        self._add_topic(each)
                    else:
                        self.frames[each.name] = self._read_source(each)
                    self.frames[each.name].schema  # noqa: B018
        except CompileError as error:
            self.compiled.problems.append(error.problem)
            if not isinstance(each, Output):
                self._failed.add(each.name)
                self.frames.pop(each.name, None)

    def _add_output(self, output: Output) -> None:
        if output.input in self.frames:
            with report_as("output", output.name, output.target.line or output.line):
                frame = self.frames[output.input]
                output.target.check_rows(frame.columns, output.mode)
                written = output.target.select(frame)
                written.schema  # noqa: B018 - makes Spark analyse it
                self.compiled.outputs[output.name] = written

    def _add_topic(self, source: TopicSource) -> None:
        records = self._read_source(source)
        with report_as("source", source.name, source.decoder.line or source.line):
            decoded = decode(records, source.decoder, self._pipeline.directory)
        good = decoded.filter(F.col(ERROR).isNull()).drop(ERROR)
        expectations.check_rules(good, source.name, source.expectations)
        reason = F.when(F.col(ERROR).isNull(), expectations.rejection_reason(source.expectations)).otherwise(
            F.col(ERROR)
        )
        self.rejected[source.name] = decoded.withColumn(ERROR, reason).filter(F.col(ERROR).isNotNull())
        frame = expectations.accepted_rows(good, source.name, source.expectations)
        self.frames[source.name] = watermarked(frame, source.watermark) if source.watermark else frame

    def _add_step(self, step: Step) -> None:
        missing = [name for name in step.inputs if name not in self.frames]
        if missing:
            raise ValueError(f"there is no source or earlier step `{missing[0]}`")
        inputs = {name: self.frames[name] for name in step.inputs}
        result = run_step(self.views, step, inputs, self._pipeline.directory)
        expectations.check_rules(result, step.name, step.expectations)
        if rejects(step.expectations):
            marked = result.withColumn(ERROR, expectations.rejection_reason(step.expectations))
            self.rejected[step.name] = marked.filter(F.col(ERROR).isNotNull())
        self.frames[step.name] = expectations.accepted_rows(result, step.name, step.expectations)
