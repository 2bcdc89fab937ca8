"""Reads the newest records of a topic, to find the columns of its events."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from penstock.client.blocking.client import EARLIEST, LATEST, BlockingClient
from penstock.client.connection import Disconnected
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.spark.pipeline.compile.columns import SAMPLE_RECORDS, ReadSample
from penstock.spark.pipeline.compile.sources import read_ranges
from penstock.spark.pipeline.core.model import Pipeline, TopicSource
from penstock.spark.pipeline.core.problems import PipelineError, Problem
from penstock.spark.pipeline.progress.batch import Offsets
from penstock.spark.pipeline.run.topics import client_settings


def read_samples(spark: SparkSession, pipeline: Pipeline) -> ReadSample:
    def read(source: TopicSource) -> Sequence[bytes]:
        start, end = _newest(pipeline, source)
        if not start:
            return []
        frame = read_ranges(spark, pipeline, {source.name: start}, {source.name: end})(source)
        return [row[0] for row in frame.select("value").filter("value IS NOT NULL").collect()]

    return read


def no_samples(source: TopicSource) -> Sequence[bytes]:  # noqa: ARG001 - nothing may be read
    return []


def _newest(pipeline: Pipeline, source: TopicSource) -> tuple[Offsets, Offsets]:
    cluster = BlockingClient(client_settings(pipeline))
    try:
        topics = cluster.topics()
        names = [name for name in topics if source.reads(name)]
        where = [TopicPartition(name, index) for name in names for index in topics[name].partitions]
        earliest, latest = (cluster.list_offsets(dict.fromkeys(where, at)) for at in (EARLIEST, LATEST))
    except (ClientError, Disconnected) as error:
        reason = f"source {source.name}: cannot read its newest events: {error}"
        raise PipelineError(pipeline.file, [Problem(message=reason, line=source.line)]) from None
    finally:
        cluster.close()
    start: Offsets = {}
    end: Offsets = {}
    for each in where:
        last = latest[each].offset
        start.setdefault(each.topic, {})[each.partition] = max(earliest[each].offset, last - SAMPLE_RECORDS)
        end.setdefault(each.topic, {})[each.partition] = last
    return start, end
