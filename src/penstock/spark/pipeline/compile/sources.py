"""Reads sources: topics as streams or as ranges of records, and tables.

Penstock's format and Spark's own connector take the same options; `source_format` chooses.
"""

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.lake.formats import TABLE_FORMATS
from penstock.spark.lake.location import location_of
from penstock.spark.lake.options import is_known_option, parse_options
from penstock.spark.lake.reader import TableReader
from penstock.spark.pipeline.compile.frames import ReadSource
from penstock.spark.pipeline.core.model import Pipeline, Source, TableSource, TopicSource
from penstock.spark.pipeline.core.positions import time_ms
from penstock.spark.pipeline.progress.batch import Offsets


def read_streams(spark: SparkSession, pipeline: Pipeline) -> ReadSource:
    """Read topics as streams, and tables anew in each batch."""

    def read(source: Source) -> DataFrame:
        if isinstance(source, TableSource):
            return read_table_each_batch(spark, pipeline, source)
        reader = spark.readStream.format(pipeline.source_format)
        return reader.options(**topic_options(pipeline, source)).load()

    return read


def read_ranges(
    spark: SparkSession, pipeline: Pipeline, starts: Mapping[str, Offsets], ends: Mapping[str, Offsets]
) -> ReadSource:
    def read(source: Source) -> DataFrame:
        if isinstance(source, TableSource):
            return read_table(spark, pipeline, source)
        reader = spark.read.format(pipeline.source_format)
        return reader.options(
            **range_options(pipeline, source, starts[source.name], ends[source.name])
        ).load()

    return read


def read_table(spark: SparkSession, pipeline: Pipeline, source: TableSource) -> DataFrame:
    if is_lake_table(source):
        return spark.read.format("penstock_lake").options(**lake_options(pipeline, source)).load()
    path = pipeline.resolve(source.path)
    return spark.read.format(source.format).options(**source.options).load(path)


def is_lake_table(source: TableSource) -> bool:
    return source.format in TABLE_FORMATS


def lake_options(pipeline: Pipeline, source: TableSource) -> dict[str, str]:
    """Return the options of the reader. Those that it does not know are of the object store."""
    reading = {name: text for name, text in source.options.items() if is_known_option(name)}
    store = {name: text for name, text in source.options.items() if name not in reading}
    if source.catalog:
        return {**reading, **location_of(source.path, store, source.catalog).spark_options()}
    location = location_of(pipeline.resolve(source.path), store)
    return {**reading, **location.spark_options(), "table_format": source.format}


def read_table_each_batch(spark: SparkSession, pipeline: Pipeline, source: TableSource) -> DataFrame:
    """Read a table of one of our formats as it is when a batch runs.

    Spark plans the files of a table once for a query. So one task plans and reads them in each batch, which suits the
    small side of a join. The columns are fixed at the start.
    """
    frame = read_table(spark, pipeline, source)
    if not is_lake_table(source):
        return frame
    read = functools.partial(_read_lake, lake_options(pipeline, source), frame.columns)
    return spark.range(0, 1, 1, 1).mapInArrow(read, frame.schema)


def _read_lake(
    options: Mapping[str, str], columns: Sequence[str], started_by: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for _ in started_by:
        reader = TableReader(parse_options(options), columns)
        for share in reader.partitions():
            yield from reader.read(share)


def topic_options(pipeline: Pipeline, source: TopicSource) -> dict[str, str]:
    options = {**_read_options(pipeline, source), **_start_options(source.starting)}
    if source.max_offsets_per_trigger is not None:
        options["maxOffsetsPerTrigger"] = str(source.max_offsets_per_trigger)
    return {**options, **source.options}


def range_options(pipeline: Pipeline, source: TopicSource, start: Offsets, end: Offsets) -> dict[str, str]:
    about_streams = ("starting", "ending", "maxoffsetspertrigger", "minoffsetspertrigger")
    return {
        **_read_options(pipeline, source),
        **{name: text for name, text in source.options.items() if not name.lower().startswith(about_streams)},
        "startingOffsets": json.dumps(start),
        "endingOffsets": json.dumps(end),
    }


def _read_options(pipeline: Pipeline, source: TopicSource) -> dict[str, str]:
    subscription = (
        {"subscribe": ",".join(source.topics)}
        if source.pattern is None
        else {"subscribePattern": source.pattern}
    )
    return {
        # Skip aborted records by default; the file may set another isolation level.
        "kafka.isolation.level": "read_committed",
        **pipeline.client_options,
        **subscription,
        "includeHeaders": "true",
    }


def _start_options(starting: str) -> dict[str, str]:
    if starting in ("earliest", "latest") or starting.lstrip().startswith("{"):
        return {"startingOffsets": starting}
    return {
        "startingTimestamp": str(time_ms(starting)),
        "startingOffsetsByTimestampStrategy": "latest",  # no record is that recent: start at the end
    }
