"""Runs planned queries on Spark: implements the supervisor's `Starter` and `RunningQuery`."""

from collections.abc import Sequence
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.spark.dead_letters import dead_letters
from penstock.spark.lake.errors import TableError
from penstock.spark.pipeline.compile.errors import short_message
from penstock.spark.pipeline.compile.frames import Compiled
from penstock.spark.pipeline.core.model import Pipeline, Sink
from penstock.spark.pipeline.core.queries import PlannedQuery, dead_letter_topic
from penstock.spark.pipeline.outputs import TopicTarget
from penstock.spark.pipeline.progress import batch as progress
from penstock.spark.pipeline.progress.batch import Progress
from penstock.spark.pipeline.progress.monitor import Monitor
from penstock.spark.pipeline.run.checkpoint_copy import CheckpointCopy, CheckpointTaken
from penstock.spark.pipeline.run.checkpoint_store import CheckpointStore
from penstock.spark.pipeline.run.supervisor import CannotStart

_OPENING_SOURCES = "Initializing sources"


def query_output(
    pipeline: Pipeline, compiled: Compiled, planned: PlannedQuery
) -> tuple[DataFrame, Sink, str]:
    output = planned.output
    if output is not None:
        return compiled.outputs[output.name], output.target.sink(pipeline), output.stream_mode
    rejected = compiled.rejected[planned.rejecting].observe(
        progress.DEAD_LETTER_METRICS, F.count(F.lit(1)).alias("rows")
    )
    letters = dead_letters(rejected, pipeline=pipeline.name, step=planned.rejecting)
    return letters, TopicTarget(topic=dead_letter_topic(pipeline)).sink(pipeline), "append"


def _with_copy(writer: DataStreamWriter, sink: Sink, mode: str, copy: CheckpointCopy) -> DataStreamWriter:
    """Write each batch individually, after the copy of the checkpoint has stored what the batch begins with."""

    def write(batch: DataFrame, batch_id: int) -> None:
        copy.before_batch(batch_id)
        options = {**sink.options, "batch_id": str(batch_id)}
        replaces_all = mode == "complete" and sink.batch_id_option is None
        rows = batch.write.format(sink.format).options(**options)
        rows.mode("overwrite" if replaces_all else "append").save()

    return writer.foreachBatch(write)


def _with_sink(writer: DataStreamWriter, sink: Sink, mode: str) -> DataStreamWriter:
    """Spark cannot write to a Python data source in update mode: in that mode each batch is written individually."""
    batch_id_option = sink.batch_id_option
    if mode != "update" or batch_id_option is None:
        return writer.format(sink.format).options(**sink.options)

    def write(batch: DataFrame, batch_id: int) -> None:
        options = {**sink.options, batch_id_option: str(batch_id)}
        batch.write.format(sink.format).options(**options).mode("append").save()

    return writer.foreachBatch(write)


class SparkStarter:
    """Starts planned queries; all starts use the same frames."""

    def __init__(
        self, pipeline: Pipeline, compiled: Compiled, checkpoints: CheckpointStore, *, once: bool
    ) -> None:
        self._pipeline = pipeline
        self._compiled = compiled
        self._once = once
        self._checkpoints = checkpoints

    def __call__(self, planned: PlannedQuery) -> "SparkQuery":
        frame, sink, mode = query_output(self._pipeline, self._compiled, planned)
        writer = frame.writeStream.outputMode(mode)
        try:
            copy = self._checkpoints.copy(planned.key)
        except (CheckpointTaken, TableError) as error:
            raise CannotStart(str(error)) from error
        writer = _with_sink(writer, sink, mode) if copy is None else _with_copy(writer, sink, mode, copy)
        writer = writer.queryName(planned.name)
        writer = writer.option("checkpointLocation", self._checkpoints.path(planned.key))
        if self._once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{planned.trigger_ms} milliseconds")
        try:
            return SparkQuery(writer.start())
        except (AnalysisException, ParseException) as error:
            raise CannotStart(short_message(error)) from error


class SparkQuery:
    def __init__(self, query: StreamingQuery) -> None:
        self._query = query

    def is_active(self) -> bool:
        return self._query.isActive

    def is_starting(self) -> bool:
        return bool(self._query.status["message"] == _OPENING_SOURCES)

    def failure(self) -> str | None:
        error = self._query.exception()
        return None if error is None else str(error)

    def progress(self) -> Sequence[Progress]:
        return [progress.from_json(each.json) for each in self._query.recentProgress]

    def is_between_batches(self) -> bool:
        return not self._query.status["isTriggerActive"]

    def last_batch(self) -> int:
        last = self._query.lastProgress
        return -1 if last is None else last.batchId

    def stop(self) -> None:
        self._query.stop()


class ProgressListener(StreamingQueryListener):
    """Passes each micro-batch to the monitor. Called on Spark's listener thread, so it must not block."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's names
        self._monitor.record_batch(progress.from_json(event.progress.json))

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """The supervisor started the query."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """The supervisor detects it."""
