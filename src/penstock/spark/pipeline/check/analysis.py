"""What Spark says about a pipeline: its frames are made over topics without records, and no query is started.

`compile_frames` is the same that runs, so check and run cannot disagree. Whether an operation is possible on a stream
is decided by Spark when a query starts; here its checker is asked directly.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.pipeline.compile import ReadSource, compile_frames
from penstock.spark.pipeline.compile_errors import CompileError, told_by_spark
from penstock.spark.pipeline.compile_expectations import RECORD
from penstock.spark.pipeline.compile_outputs import frame_of
from penstock.spark.pipeline.compile_sources import read_table
from penstock.spark.pipeline.model import Output, Pipeline, Source, TableSource
from penstock.spark.pipeline.problems import Problem, error
from penstock.spark.pipeline.queries import plan_queries
from penstock.spark.pipeline.run_failures import reason_of

# What a topic looks like before it is decoded: the columns of Spark's Kafka connector.
_RECORD_COLUMNS = (
    ("key", "binary"),
    ("value", "binary"),
    ("topic", "string"),
    ("partition", "int"),
    ("offset", "bigint"),
    ("timestamp", "timestamp"),
    ("timestampType", "int"),
    ("headers", "array<struct<key:string,value:binary>>"),
)


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    problems: tuple[Problem, ...]
    columns: dict[str, tuple[tuple[str, str], ...]]  # by source or step: (column, type)


def analyse(spark: SparkSession, pipeline: Pipeline) -> Analysis:
    """All problems that Spark finds, and the columns of what it understood."""
    with _silent_logger():
        compiled = compile_frames(spark, pipeline, _empty_frames(spark, pipeline), collect_problems=True)
        problems = list(compiled.problems)
        for output in pipeline.outputs:
            if output.input in compiled.frames:
                problems += _output_problems(output, compiled.frames[output.input])
        lines = {part.name: part.line for part in (*pipeline.sources, *pipeline.steps)}
        for name in _rejecting(pipeline):
            if name in compiled.rejected:
                what, line = f"dead letters of {name}", lines[name]
                problems += _streaming_problems(what, compiled.rejected[name], "append", line)
    columns = {name: _columns_of(frame) for name, frame in compiled.frames.items()}
    return Analysis(problems=tuple(dict.fromkeys(problems)), columns=columns)


def _empty_frames(spark: SparkSession, pipeline: Pipeline) -> ReadSource:
    """Streams of no records for topics; tables are there and are asked for their columns."""

    def read(source: Source) -> DataFrame:
        if isinstance(source, TableSource):
            try:
                return read_table(spark, pipeline, source)
            except PySparkException as wrong:
                raise ValueError(reason_of(str(wrong))) from wrong
        nothing = [F.lit(None).cast(kind).alias(name) for name, kind in _RECORD_COLUMNS]
        return spark.readStream.format("rate").load().select(*nothing)

    return read


def _output_problems(output: Output, frame: DataFrame) -> list[Problem]:
    try:
        written = frame_of(output, frame)
        written.schema  # noqa: B018 - makes Spark analyse it
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
        return [error(line, f"{what}: {told_by_spark(wrong)}")]
    return []


def _check_streaming(frame: DataFrame, mode: str) -> None:
    """What starting a query would refuse. There is no door to this in Python, so the JVM is asked."""
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
    """PySpark logs every error of analysis with its whole trace. Here each is told in a line."""
    logger = logging.getLogger("SQLQueryContextLogger")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before
