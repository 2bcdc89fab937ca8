"""Writes the batches of one output, each once: topics and tables in this process, other formats through Spark.

A format that is not in `_WRITERS` (Spark's own connector, the console) may get a batch again after a crash.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec
from pyspark.sql import DataFrame

from penstock.spark.batch_write import BatchIdentity, write_batch
from penstock.spark.lake.datasource import FORMAT_NAME as LAKE_FORMAT
from penstock.spark.lake.options import parse_options
from penstock.spark.lake.table import Batch
from penstock.spark.lake.writer import TableBatch
from penstock.spark.options import Options
from penstock.spark.pipeline.core.model import Sink
from penstock.spark.pipeline.progress.batch import Counts
from penstock.spark.pipeline.run.truncates import apply_truncate, may_truncate, newest_truncate
from penstock.spark.sink.columns import check_schema
from penstock.spark.sink.settings import SinkSettings
from penstock.spark.sink.writers import TopicBatch, batch_decider


class OutputIdentity(msgspec.Struct, frozen=True, kw_only=True):
    query_id: str
    run_id: str

    def batch(self, batch_id: int) -> BatchIdentity:
        return BatchIdentity(query_id=self.query_id, run_id=self.run_id, batch_id=batch_id)


class OutputWriter(Protocol):
    """One for each start of an output's query."""

    def write(self, frame: DataFrame, batch_id: int) -> Counts:
        """Write a batch and commit it, unless it is committed; return the frame's observed metrics, if known."""


class TopicWriter:
    def __init__(self, sink: Sink, mode: str, identity: OutputIdentity) -> None:  # noqa: ARG002 - complete mode appends
        self._settings = SinkSettings.from_options(Options(sink.options))
        self._identity = identity
        self._decider = batch_decider(self._settings, identity.query_id)

    def write(self, frame: DataFrame, batch_id: int) -> Counts:
        check_schema(frame.schema, self._settings.topic)
        return write_batch(frame, TopicBatch(self._settings, self._identity.batch(batch_id), self._decider))


class TableWriter:
    def __init__(self, sink: Sink, mode: str, identity: OutputIdentity) -> None:
        self._options = parse_options(sink.options)
        self._replaces_all = mode == "complete"
        self._query_id = identity.query_id

    def write(self, frame: DataFrame, batch_id: int) -> Counts:
        order = newest_truncate(frame) if may_truncate(self._options, frame) else None
        return self.write_changes(frame, batch_id, order)

    def write_changes(self, frame: DataFrame, batch_id: int, truncate: str | None) -> Counts:
        """Write a batch. `truncate` is the order of its newest truncate event, which empties the table."""
        if may_truncate(self._options, frame):
            frame = apply_truncate(frame, self._options, truncate)
        batch = Batch(query_id=self._query_id, batch_id=batch_id)
        return write_batch(
            frame, TableBatch(self._options, frame.schema, replaces_all=self._replaces_all, batch=batch)
        )


class FormatWriter:
    def __init__(self, sink: Sink, mode: str, identity: OutputIdentity) -> None:  # noqa: ARG002 - it records no batch
        self._sink = sink

    def write(self, frame: DataFrame, batch_id: int) -> Counts:  # noqa: ARG002
        frame.write.format(self._sink.format).options(**self._sink.options).mode("append").save()
        return {}


_WRITERS: Mapping[str, Callable[[Sink, str, OutputIdentity], OutputWriter]] = {
    "penstock": TopicWriter,
    LAKE_FORMAT: TableWriter,
}


def output_writer(sink: Sink, mode: str, identity: OutputIdentity) -> OutputWriter:
    return _WRITERS.get(sink.format, FormatWriter)(sink, mode, identity)
