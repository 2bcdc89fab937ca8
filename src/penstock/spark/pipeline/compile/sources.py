"""Reads sources: topics as streams or as ranges of records, and tables.

Penstock's format and Spark's own connector take the same options; `source_format` chooses.
"""

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.client.blocking.client import EARLIEST, shared_client
from penstock.spark.lake.formats import TABLE_FORMATS
from penstock.spark.lake.location import location_of
from penstock.spark.lake.options import is_known_option, parse_options
from penstock.spark.lake.reader import TableReader
from penstock.spark.options import Options
from penstock.spark.pipeline.compile.frames import ReadSource
from penstock.spark.pipeline.compile.steps import is_remote
from penstock.spark.pipeline.core.model import Pipeline, Source, TableSource, TopicSource
from penstock.spark.pipeline.core.positions import time_ms
from penstock.spark.pipeline.progress.batch import Offsets
from penstock.spark.source.positions import Positions
from penstock.spark.source.spec import stream_spec


def read_streams(spark: SparkSession, pipeline: Pipeline) -> ReadSource:
    """Read topics as streams, and tables anew in each batch."""
    cores = _core_options(spark, pipeline)

    def read(source: Source) -> DataFrame:
        if isinstance(source, TableSource):
            return read_table_each_batch(spark, pipeline, source)
        reader = spark.readStream.format(pipeline.source_format).options(**cores)
        return reader.options(**topic_options(pipeline, source)).load()

    return read


def read_ranges(
    spark: SparkSession, pipeline: Pipeline, starts: Mapping[str, Offsets], ends: Mapping[str, Offsets]
) -> ReadSource:
    cores = _core_options(spark, pipeline)

    def read(source: Source) -> DataFrame:
        if isinstance(source, TableSource):
            return read_table(spark, pipeline, source)
        reader = spark.read.format(pipeline.source_format).options(**cores)
        return reader.options(
            **range_options(pipeline, source, starts[source.name], ends[source.name])
        ).load()

    return read


def _core_options(spark: SparkSession, pipeline: Pipeline) -> dict[str, str]:
    """Let small partitions share tasks until there is one for each core of the cluster."""
    if pipeline.source_format != "penstock" or is_remote(spark):
        return {}
    return {"cores": str(spark.sparkContext.defaultParallelism)}


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


def first_offsets(pipeline: Pipeline, source: TopicSource) -> Offsets:
    """Look up the offsets at which the file lets a source start."""
    spec = stream_spec(Options(topic_options(pipeline, source)))
    positions = Positions(shared_client(spec.client), spec.subscription)
    found: Offsets = {}
    for where, offset in positions.resolve(spec.starting, positions.existing().partitions).items():
        found.setdefault(where.topic, {})[where.partition] = offset
    return found


def start_at(pipeline: Pipeline, source: TopicSource, start: Offsets) -> str:
    """Return these offsets as a start of a source; partitions that are new since then are read from their beginning."""
    spec = stream_spec(Options(topic_options(pipeline, source)))
    found: Offsets = {}
    for where in sorted(Positions(shared_client(spec.client), spec.subscription).existing().partitions):
        offset = start.get(where.topic, {}).get(where.partition, EARLIEST)
        found.setdefault(where.topic, {})[where.partition] = offset
    return json.dumps(found) if found else "earliest"


def topic_options(pipeline: Pipeline, source: TopicSource) -> dict[str, str]:
    options = {**_read_options(pipeline, _subscription(source)), **_start_options(source.starting)}
    if source.max_offsets_per_trigger is not None:
        options["maxOffsetsPerTrigger"] = str(source.max_offsets_per_trigger)
    return {**options, **source.options}


def range_options(pipeline: Pipeline, source: TopicSource, start: Offsets, end: Offsets) -> dict[str, str]:
    """Read exactly the partitions of `end`; one that is not in `start` from its beginning."""
    about_streams = ("starting", "ending", "maxoffsetspertrigger", "minoffsetspertrigger")
    begin = {
        topic: {each: start.get(topic, {}).get(each, EARLIEST) for each in partitions}
        for topic, partitions in end.items()
    }
    subscription = {"assign": json.dumps({topic: [*partitions] for topic, partitions in end.items()})}
    return {
        **_read_options(pipeline, subscription if end else _subscription(source)),
        **{name: text for name, text in source.options.items() if not name.lower().startswith(about_streams)},
        "startingOffsets": json.dumps(begin),
        "endingOffsets": json.dumps(end),
    }


def _subscription(source: TopicSource) -> dict[str, str]:
    return (
        {"subscribe": ",".join(source.topics)}
        if source.pattern is None
        else {"subscribePattern": source.pattern}
    )


def _read_options(pipeline: Pipeline, subscription: Mapping[str, str]) -> dict[str, str]:
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
