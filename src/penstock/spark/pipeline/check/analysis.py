"""Lets Spark analyse a pipeline over topics without records; no query is started.

It uses the same `compile_frames` as a run, so both agree. Spark checks operations on streams only when a query starts;
here its checker is called directly.
"""

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.pipeline.compile.errors import short_message
from penstock.spark.pipeline.compile.frames import ReadSource, compile_frames
from penstock.spark.pipeline.compile.sources import read_table
from penstock.spark.pipeline.core.model import Pipeline, Source, TableSource
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
    compiled = compile_frames(spark, pipeline, _empty_frames(spark, pipeline))
    problems = list(compiled.problems)
    for output in pipeline.outputs:
        if output.name in compiled.outputs:
            written = compiled.outputs[output.name]
            problems += _streaming_problems(f"output {output.name}", written, output.stream_mode, output.line)
    lines = {part.name: part.line for part in (*pipeline.sources, *pipeline.steps)}
    rejecting = [query.rejecting for query in plan_queries(pipeline) if query.output is None]
    for name in rejecting:
        if name in compiled.rejected:
            what, line = f"dead letters of {name}", lines[name]
            problems += _streaming_problems(what, compiled.rejected[name], "append", line)
    columns = {
        name: tuple(
            (field.name, field.dataType.simpleString()) for field in frame.schema if field.name != RECORD
        )
        for name, frame in compiled.frames.items()
    }
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
