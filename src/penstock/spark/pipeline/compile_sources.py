"""Where rows come from: the options of each source, and frames of them as streams or as a range of records.

Both formats of topics, ours and Spark's own connector, take the same options; `source_format` chooses.
"""

import functools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.lake.options import parse_options
from penstock.spark.lake.reader import TableReader
from penstock.spark.pipeline.compile import ReadSource
from penstock.spark.pipeline.model import Pipeline, Source, TableSource, TopicSource
from penstock.spark.pipeline.positions import time_ms
from penstock.spark.pipeline.progress import Offsets

LAKE_FORMATS = ("delta", "iceberg", "parquet")


def read_streams(spark: SparkSession, pipeline: Pipeline) -> ReadSource:
    """Topics as streams, from where each source begins; tables as they are at each batch."""

    def read(source: Source) -> DataFrame:
        if isinstance(source, TableSource):
            return read_table_anew(spark, pipeline, source)
        reader = spark.readStream.format(pipeline.source_format)
        return reader.options(**topic_options(pipeline, source)).load()

    return read


def read_ranges(
    spark: SparkSession, pipeline: Pipeline, starts: Mapping[str, Offsets], ends: Mapping[str, Offsets]
) -> ReadSource:
    """Of each topic source, by name, the records from its start to its end; tables as they are now."""

    def read(source: Source) -> DataFrame:
        if isinstance(source, TableSource):
            return read_table(spark, pipeline, source)
        reader = spark.read.format(pipeline.source_format)
        return reader.options(
            **range_options(pipeline, source, starts[source.name], ends[source.name])
        ).load()

    return read


def read_table(spark: SparkSession, pipeline: Pipeline, source: TableSource) -> DataFrame:
    """A table as it is when the frame is made."""
    path = beside(pipeline, source.path)
    if source.format in LAKE_FORMATS:
        reader = spark.read.format("penstock_lake").option("table_format", source.format)
        return reader.options(**source.options).load(path)
    return spark.read.format(source.format).options(**source.options).load(path)


def read_table_anew(spark: SparkSession, pipeline: Pipeline, source: TableSource) -> DataFrame:
    """A table as it is when a batch runs, where the format is one of ours.

    Spark plans the files of a table once for a query, however many batches it has. So they are planned by the task
    that reads them: one task, as befits the small side of a join. The columns are those of the start.
    """
    frame = read_table(spark, pipeline, source)
    if source.format not in LAKE_FORMATS:
        return frame
    options = {**source.options, "path": beside(pipeline, source.path), "table_format": source.format}
    read = functools.partial(_read_lake, options, frame.columns)
    return spark.range(0, 1, 1, 1).mapInArrow(read, frame.schema)


def _read_lake(
    options: Mapping[str, str], columns: Sequence[str], started_by: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Runs on a worker."""
    for _ in started_by:
        reader = TableReader(parse_options(options), columns)
        for share in reader.partitions():
            yield from reader.read(share)


def beside(pipeline: Pipeline, path: str) -> str:
    """A path of the file's is relative to the file; a URL is what it is."""
    return path if "://" in path else os.path.abspath(os.path.join(pipeline.directory, path))


# -- options


def client_options(pipeline: Pipeline) -> dict[str, str]:
    """How any source or sink of the pipeline reaches the brokers."""
    given = {f"kafka.{name.removeprefix('kafka.')}": value for name, value in pipeline.kafka.items()}
    return {**given, "kafka.bootstrap.servers": pipeline.bootstrap_servers}


def topic_options(pipeline: Pipeline, source: TopicSource) -> dict[str, str]:
    options = {**_reading(pipeline, source), **_starting(source.starting)}
    if source.max_offsets_per_trigger is not None:
        options["maxOffsetsPerTrigger"] = str(source.max_offsets_per_trigger)
    return {**options, **source.options}


def range_options(pipeline: Pipeline, source: TopicSource, start: Offsets, end: Offsets) -> dict[str, str]:
    """The records of a topic between offsets, as a batch."""
    return {
        **_reading(pipeline, source),
        **_range_only(source.options),
        "startingOffsets": offsets_json(start),
        "endingOffsets": offsets_json(end),
    }


def _range_only(options: Mapping[str, str]) -> dict[str, str]:
    """The user's options without those that are about where a stream begins and how fast it goes."""
    about_streams = ("starting", "ending", "maxoffsetspertrigger", "minoffsetspertrigger")
    return {name: value for name, value in options.items() if not name.lower().startswith(about_streams)}


def _reading(pipeline: Pipeline, source: TopicSource) -> dict[str, str]:
    return {
        # What an exactly-once output has aborted was never written; a file may ask for it all the same.
        "kafka.isolation.level": "read_committed",
        **client_options(pipeline),
        **_subscription(source),
        "includeHeaders": "true",
    }


def _subscription(source: TopicSource) -> dict[str, str]:
    if source.pattern is not None:
        return {"subscribePattern": source.pattern}
    return {"subscribe": ",".join(source.topics)}


def _starting(starting: str) -> dict[str, str]:
    if starting in ("earliest", "latest") or starting.lstrip().startswith("{"):
        return {"startingOffsets": starting}
    return {
        "startingTimestamp": str(time_ms(starting)),
        "startingOffsetsByTimestampStrategy": "latest",  # nothing that young yet: begin with what comes
    }


def offsets_json(offsets: Offsets) -> str:
    return json.dumps(
        {topic: {str(each): at for each, at in parts.items()} for topic, parts in offsets.items()}
    )
