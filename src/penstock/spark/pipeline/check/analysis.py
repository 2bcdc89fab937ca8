"""Lets Spark analyse a pipeline over topics without records; no query is started.

It uses the same `compile_frames` as a run, so both agree. Spark checks operations on streams only when a query starts;
here its checker is called directly.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.pipeline.compile.errors import CompileError, short_message
from penstock.spark.pipeline.compile.frames import ReadSource, compile_frames, output_frame
from penstock.spark.pipeline.compile.sources import read_table
from penstock.spark.pipeline.core.model import Output, Pipeline, Source, TableSource
from penstock.spark.pipeline.core.problems import Problem, error
from penstock.spark.pipeline.core.queries import plan_queries
from penstock.spark.pipeline.run.failures import reason_of
from penstock.spark.record_columns import RECORD
from penstock.spark.source.readers import RECORD_SCHEMA


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    problems: tuple[Problem, ...]
    columns: dict[str, tuple[tuple[str, str], ...]]  # by source or step: (column, type)


def analyse(spark: SparkSession, pipeline: Pipeline) -> Analysis:
    """Return all problems that Spark finds, and the columns of the parts that compile."""
    with _silent_logger():
        compiled = compile_frames(spark, pipeline, _empty_frames(spark, pipeline), collect_problems=True)
        problems = list(compiled.problems)
        for output in pipeline.outputs:
            if output.input in compiled.frames:
                problems += _output_problems(output, compiled.frames)
        lines = {part.name: part.line for part in (*pipeline.sources, *pipeline.steps)}
        for name in _rejecting(pipeline):
            if name in compiled.rejected:
                what, line = f"dead letters of {name}", lines[name]
                problems += _streaming_problems(what, compiled.rejected[name], "append", line)
    columns = {name: _columns_of(frame) for name, frame in compiled.frames.items()}
    return Analysis(problems=tuple(dict.fromkeys(problems)), columns=columns)


def _empty_frames(spark: SparkSession, pipeline: Pipeline) -> ReadSource:
    """Read topics as streams without records; tables with their columns."""

    def read(source: Source) -> DataFrame:
        if isinstance(source, TableSource):
            try:
                return read_table(spark, pipeline, source)
            except PySparkException as wrong:
                raise ValueError(reason_of(str(wrong))) from wrong
        nothing = [F.lit(None).cast(field.dataType).alias(field.name) for field in RECORD_SCHEMA]
        return spark.readStream.format("rate").load().select(*nothing)

    return read


def _output_problems(output: Output, frames: dict[str, DataFrame]) -> list[Problem]:
    try:
        written = output_frame(output, frames)
    except CompileError as wrong:
        return [wrong.problem]
    return _streaming_problems(f"output {output.name}", written, output.mode, output.line)


def _rejecting(pipeline: Pipeline) -> list[str]:
    return [query.rejecting for query in plan_queries(pipeline) if query.output is None]


def _streaming_problems(what: str, frame: DataFrame, mode: str, line: int) -> list[Problem]:
    if not frame.isStreaming:
        return []
    try:
        _check_streaming(frame, mode)
    except PySparkException as wrong:
        return [error(line, f"{what}: {short_message(wrong)}")]
    return []


def _check_streaming(frame: DataFrame, mode: str) -> None:
    """Raise what starting a query would raise. Python has no API for this, so the JVM is called."""
    jvm = frame.sparkSession._jvm  # noqa: SLF001
    assert jvm is not None, "a session of Spark Connect has no JVM to ask"
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    mode_in_jvm = getattr(jvm.org.apache.spark.sql.streaming.OutputMode, mode.capitalize())()
    checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), mode_in_jvm)  # noqa: SLF001


def _columns_of(frame: DataFrame) -> tuple[tuple[str, str], ...]:
    fields = frame.schema.fields
    return tuple((field.name, field.dataType.simpleString()) for field in fields if field.name != RECORD)


@contextmanager
def _silent_logger() -> Iterator[None]:
    """Silence PySpark's logging of analysis errors, which are reported as problems."""
    logger = logging.getLogger("SQLQueryContextLogger")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before
