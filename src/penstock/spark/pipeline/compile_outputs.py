"""Where rows go: the frame that each output writes, and the format and options that write it."""

from typing import Any

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, DataType, StringType

from penstock.spark.pipeline.compile_errors import part
from penstock.spark.pipeline.compile_expectations import RECORD
from penstock.spark.pipeline.compile_sources import beside, client_options
from penstock.spark.pipeline.model import ConsoleTarget, Output, Pipeline, TableTarget, TopicTarget

EXACTLY_ONCE = "exactly-once"
PENSTOCK = "penstock"


class Sink(msgspec.Struct, frozen=True, kw_only=True):
    """What `write` and `writeStream` are told."""

    format: str
    options: dict[str, str]


def sink_of(pipeline: Pipeline, output: Output) -> Sink:
    target = output.target
    if isinstance(target, TopicTarget):
        return topic_sink(pipeline, target.topic, target.delivery)
    if isinstance(target, TableTarget):
        return Sink(format="penstock_lake", options=_table_options(pipeline, target))
    return Sink(format="console", options={"numRows": str(target.rows), "truncate": "false"})


def _table_options(pipeline: Pipeline, target: TableTarget) -> dict[str, str]:
    options = {"path": beside(pipeline, target.path), "table_format": target.format}
    if target.partition_by:
        options["partition_by"] = ",".join(target.partition_by)
    if target.merge_schema:
        options["merge_schema"] = "true"
    return options


def topic_sink(pipeline: Pipeline, topic: str, delivery: str) -> Sink:
    """Exactly once is ours alone: Spark's connector writes only what may be written twice."""
    options = {**client_options(pipeline), "topic": topic}
    if pipeline.source_format != PENSTOCK and delivery != EXACTLY_ONCE:
        return Sink(format=pipeline.source_format, options=options)
    return Sink(format=PENSTOCK, options={**options, "delivery": delivery})


def frame_of(output: Output, frame: DataFrame) -> DataFrame:
    """What the output writes: key, value and headers for a topic, else the row without its record."""
    target = output.target
    with part("output", output.name, target.line or output.line):
        if isinstance(target, TopicTarget):
            return _records(target, frame)
        made = frame.drop(RECORD)
        if isinstance(target, (TableTarget, ConsoleTarget)):
            missing = [name for name in getattr(target, "partition_by", ()) if name not in made.columns]
            if missing:
                raise ValueError(f"partition_by names `{missing[0]}`, which {output.input} does not have")
        return made


def _records(target: TopicTarget, frame: DataFrame) -> DataFrame:
    columns: list[Column] = []
    if target.key is not None:
        columns.append(_bytes_or_text(frame, target.key).alias("key"))
    if target.value is not None:
        columns.append(_bytes_or_text(frame, target.value).alias("value"))
    else:
        row = [F.col(f"`{name}`") for name in frame.columns if name != RECORD]
        columns.append(F.to_json(F.struct(*row)).alias("value"))
    if target.headers:
        headers = [
            F.struct(
                F.lit(name).alias("key"),
                _bytes_or_text(frame, expression).cast("binary").alias("value"),
            )
            for name, expression in target.headers.items()
        ]
        columns.append(F.array(*headers).alias("headers"))
    return frame.select(*columns)


def _bytes_or_text(frame: DataFrame, expression: str) -> Column:
    """Bytes stay bytes; anything else is written as its text, and a structure as JSON."""
    column = F.expr(expression)
    kind: DataType = frame.select(column.alias("value")).schema["value"].dataType
    if isinstance(kind, (StringType, BinaryType)):
        return column
    return F.to_json(column) if _is_nested(kind) else column.cast("string")


def _is_nested(kind: Any) -> bool:
    return kind.typeName() in ("struct", "array", "map")
