"""Compiles each kind of step to a frame. Spark checks names, types and SQL."""

import itertools
from collections.abc import Mapping
from typing import Any, assert_never

import msgspec
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from penstock.spark.pipeline.compile.user_code import resolve
from penstock.spark.pipeline.core.model import (
    DedupeStep,
    FilterStep,
    JoinStep,
    PythonStep,
    SqlStep,
    StateStep,
    Step,
    Watermark,
    WindowStep,
)
from penstock.spark.record_columns import RECORD

# View names are unique: Spark Connect resolves a view when its reader runs, not when it is created.
_view_numbers = itertools.count()
_RESERVED_WORDS = "spark.sql.ansi.enforceReservedKeywords"
_ONE_SIDED_JOINS = ("left_semi", "semi", "left_anti", "anti")


class Views:
    """Makes frames readable by name in SQL: unique views behind `WITH name AS (TABLE view)`."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._names: list[str] = []

    def sql(self, query: str, frames: Mapping[str, DataFrame]) -> DataFrame:
        definitions = []
        for name, frame in frames.items():
            view = f"penstock_view_{next(_view_numbers)}"
            frame.createOrReplaceTempView(view)
            self._names.append(view)
            definitions.append(f"`{name}` AS (TABLE {view})")
        text = query.strip().rstrip(";")
        if definitions:  # the query may have its own WITH
            text = f"WITH {', '.join(definitions)} SELECT * FROM (\n{text}\n)"  # noqa: S608 - the user's own query
        try:
            return self._spark.sql(text)
        except AnalysisException:
            if not is_remote(self._spark):
                _check_reserved_words(self._spark, query)
            raise

    def drop(self) -> None:
        """Drop the views, unless frames still need them, as with Spark Connect."""
        if is_remote(self._spark):
            return
        for name in self._names:
            self._spark.catalog.dropTempView(name)
        self._names.clear()


def _check_reserved_words(spark: SparkSession, query: str) -> None:
    """Raise ParseException for a text that is SQL only because Spark takes reserved words for names.

    `SELECT id, FROM orders` has no FROM then, but a column of this name, and `id` is an unknown column.
    """
    parser = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - Python has no API for this
    before = spark.conf.get(_RESERVED_WORDS)
    spark.conf.set(_RESERVED_WORDS, "true")
    try:
        parser.parsePlan(f"\n{query}")  # on the line that it has in `sql`
    finally:
        spark.conf.set(_RESERVED_WORDS, before or "false")


def is_remote(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


def run_step(views: Views, step: Step, inputs: Mapping[str, DataFrame], directory: str) -> DataFrame:
    operation = step.operation
    within_ms = operation.within_ms if isinstance(operation, DedupeStep) else None
    frames = _with_watermark(step.watermark, inputs, delay_ms_min=within_ms or 0)
    frame = next(iter(frames.values()))
    match operation:
        case SqlStep():
            return _drop_ambiguous_record(views.sql(operation.query, frames))
        case JoinStep():
            return _join(views, step, operation, frames)
        case PythonStep():
            return _run_function(operation, list(frames.values()), directory)
        case FilterStep():
            return frame.filter(operation.condition)
        case DedupeStep():
            return _dedupe(operation, frame)
        case WindowStep():
            return _window(operation, frame)
        case StateStep():
            return _transform_with_state(operation, frame, directory)
        case _:
            assert_never(operation)


def watermarked(frame: DataFrame, watermark: Watermark) -> DataFrame:
    return frame.withWatermark(watermark.column, f"{watermark.delay_ms} milliseconds")


def _with_watermark(
    watermark: Watermark | None, frames: Mapping[str, DataFrame], *, delay_ms_min: int
) -> Mapping[str, DataFrame]:
    if watermark is None:
        return frames
    watermark = msgspec.structs.replace(watermark, delay_ms=max(watermark.delay_ms, delay_ms_min))
    if not any(watermark.column in frame.columns for frame in frames.values()):
        raise ValueError(f"the watermark is on `{watermark.column}`, which no input of the step has")
    return {
        name: watermarked(frame, watermark) if watermark.column in frame.columns else frame
        for name, frame in frames.items()
    }


def _join(views: Views, step: Step, operation: JoinStep, frames: Mapping[str, DataFrame]) -> DataFrame:
    left, right = step.inputs
    select = operation.select
    if select.strip() == "*":
        select = _select_all(operation, left, right, frames)
    how = operation.how.replace("_", " ").upper()
    query = f"SELECT {select} FROM `{left}` {how} JOIN `{right}` ON {operation.on or 'true'}"  # noqa: S608
    joined = views.sql(query, frames)
    names = joined.columns
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates:
        raise ValueError(f"both sides have {', '.join(duplicates)}: name the columns you want in `select`")
    return joined


def _select_all(operation: JoinStep, left: str, right: str, frames: Mapping[str, DataFrame]) -> str:
    if operation.how.lower() in _ONE_SIDED_JOINS:
        return f"`{left}`.*"
    both_have_records = all(RECORD in frames[name].columns for name in (left, right))
    return f"`{left}`.*, `{right}`.*" + (f" EXCEPT ({RECORD})" if both_have_records else "")


def _drop_ambiguous_record(frame: DataFrame) -> DataFrame:
    """Drop the records that `SELECT *` takes from both sides of a join: neither is the row's record."""
    return frame.drop(RECORD) if frame.columns.count(RECORD) > 1 else frame


def _run_function(operation: PythonStep, frames: list[DataFrame], directory: str) -> DataFrame:
    function = operation.function
    if isinstance(function, str):
        function = resolve(function, directory)
    result = function(*frames)
    if not isinstance(result, DataFrame):
        name = getattr(function, "__qualname__", function)
        raise ValueError(f"{name} returned {type(result).__name__}, not a DataFrame")  # noqa: TRY004
    return result


def _dedupe(operation: DedupeStep, frame: DataFrame) -> DataFrame:
    if operation.within_ms is None or not frame.isStreaming:
        return frame.dropDuplicates(list(operation.by))
    # Spark keeps a key for the delay of the watermark, which `run_step` set to at least `within_ms`.
    return frame.dropDuplicatesWithinWatermark(list(operation.by))


def _window(operation: WindowStep, frame: DataFrame) -> DataFrame:
    on = F.col(operation.on)
    if operation.session_gap_ms is not None:
        window = F.session_window(on, _duration(operation.session_gap_ms))
    else:
        slide_ms = operation.slide_ms
        window = F.window(on, _duration(operation.size_ms), None if slide_ms is None else _duration(slide_ms))
    aggregates = [F.expr(expression).alias(name) for name, expression in operation.aggregates.items()]
    grouped = frame.groupBy(window.alias("window"), *operation.by).agg(*aggregates)
    return grouped.select(
        F.col("window.start").alias("window_start"),
        F.col("window.end").alias("window_end"),
        *[F.col(f"`{name}`") for name in (*operation.by, *operation.aggregates)],
    )


def _duration(duration_ms: int | None) -> str:
    return f"{duration_ms} milliseconds"


def _transform_with_state(operation: StateStep, frame: DataFrame, directory: str) -> DataFrame:
    processor: Any = operation.processor
    if isinstance(processor, str):
        processor = resolve(processor, directory)
    return frame.groupBy(*operation.by).transformWithStateInPandas(
        statefulProcessor=processor(),
        outputStructType=operation.schema,
        outputMode=operation.output_mode,
        timeMode=operation.time_mode,
    )
