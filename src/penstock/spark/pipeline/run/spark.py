"""Runs planned queries on Spark: implements the supervisor's `Starter` and `RunningQuery`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.spark.lake.errors import TableError
from penstock.spark.pipeline.compile.errors import short_message
from penstock.spark.pipeline.compile.frames import Compiled, compile_frames
from penstock.spark.pipeline.compile.sources import first_offsets, read_streams, start_at
from penstock.spark.pipeline.compile.steps import is_remote
from penstock.spark.pipeline.core.model import Pipeline, Sink, TopicSource
from penstock.spark.pipeline.core.problems import PipelineError
from penstock.spark.pipeline.core.queries import PlannedQuery, QueryGroup
from penstock.spark.pipeline.plan.reset import source_started_at
from penstock.spark.pipeline.progress import batch as progress
from penstock.spark.pipeline.progress.batch import Offsets, Progress
from penstock.spark.pipeline.progress.monitor import Monitor
from penstock.spark.pipeline.run.catch_up import CatchUp
from penstock.spark.pipeline.run.checkpoint_copy import CheckpointCopy, CheckpointTaken
from penstock.spark.pipeline.run.checkpoint_store import CheckpointStore
from penstock.spark.pipeline.run.group_state import GroupState, check_not_shared
from penstock.spark.pipeline.run.outputs import frame_of, part_of, sink_of, writer_of
from penstock.spark.pipeline.run.shared import SharedBatches
from penstock.spark.pipeline.run.supervisor import CannotStart, OnOutputFailure
from penstock.spark.pipeline.run.writers import OutputIdentity, OutputWriter
from penstock.spark.sink.identity import QUERY_PROPERTY, RUN_PROPERTY

_OPENING_SOURCES = "Initializing sources"


def _with_sink(writer: DataStreamWriter, sink: Sink, mode: str) -> DataStreamWriter:
    """Write with Spark's own calls of the sink, on the server of Spark Connect.

    Spark cannot write to a Python data source in update mode: in that mode each batch is written individually.
    """
    batch_id_option = sink.batch_id_option
    if mode != "update" or batch_id_option is None:
        return writer.format(sink.format).options(**sink.options)

    def write(batch: DataFrame, batch_id: int) -> None:
        options = {**sink.options, batch_id_option: str(batch_id)}
        batch.write.format(sink.format).options(**options).mode("append").save()

    return writer.foreachBatch(write)


class BatchFunction:
    """The function that Spark calls with each batch of a query with one output."""

    def __init__(self, pipeline: Pipeline, planned: PlannedQuery, copy: CheckpointCopy | None) -> None:
        self._pipeline = pipeline
        self._planned = planned
        self._copy = copy
        self._writer: OutputWriter | None = None

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        if self._copy is not None:
            self._copy.before_batch(batch_id)
        if self._writer is None:
            self._writer = writer_of(self._pipeline, self._planned, running_query(batch))
        self._writer.write(batch, batch_id)


def running_query(batch: DataFrame) -> OutputIdentity:
    """Return the ids of the query that runs this batch, on its own thread."""
    context = batch.sparkSession.sparkContext
    query_id, run_id = (context.getLocalProperty(name) for name in (QUERY_PROPERTY, RUN_PROPERTY))
    assert query_id is not None, "Spark runs a batch on the thread of its query"
    assert run_id is not None, "Spark runs the jobs of a query in a group named after its run"
    return OutputIdentity(query_id=query_id, run_id=run_id)


class SparkStarter:
    """Starts the queries of a pipeline; all starts use the same frames.

    Queries that were reset start where `resets` says, by their keys; those that read by themselves have frames of
    their own in `reset_frames`.
    """

    def __init__(
        self,
        spark: SparkSession,
        pipeline: Pipeline,
        compiled: Compiled,
        checkpoints: CheckpointStore,
        *,
        once: bool,
        resets: Mapping[str, str] | None = None,
        reset_frames: Mapping[str, Compiled] | None = None,
    ) -> None:
        self._spark = spark
        self._pipeline = pipeline
        self._compiled = compiled
        self._once = once
        self._resets = resets or {}
        self._reset_frames = reset_frames or {}
        self._checkpoints = checkpoints
        self._shared: dict[str, SharedBatches] = {}  # by the name of the query
        self.on_catch_up: Callable[[Progress], None] = lambda _: None

    def __call__(self, group: QueryGroup, on_output_failure: OnOutputFailure) -> "SparkQuery":
        try:
            copy = self._checkpoints.copy(group.key)
            if group.shared_source:
                return self._start_shared(group, copy, on_output_failure)
            return self._start_alone(group, copy)
        except (CheckpointTaken, PipelineError, TableError) as error:
            raise CannotStart(str(error)) from error

    def _start_alone(self, group: QueryGroup, copy: CheckpointCopy | None) -> "SparkQuery":
        (planned,) = group.members
        frame = frame_of(self._pipeline, self._reset_frames.get(planned.key, self._compiled), planned)
        sink, mode = sink_of(self._pipeline, planned)
        writer = frame.writeStream.outputMode(mode)
        if is_remote(self._spark):
            return SparkQuery(self._start(group, _with_sink(writer, sink, mode)))
        check_not_shared(self._checkpoints.files(), planned)
        batches = BatchFunction(self._pipeline, planned, copy)
        return SparkQuery(self._start(group, writer.foreachBatch(batches)))

    def _start_shared(
        self, group: QueryGroup, copy: CheckpointCopy | None, on_output_failure: OnOutputFailure
    ) -> "SharedQuery":
        pipeline = part_of(self._pipeline, group.members)
        (source,) = group.reads
        files = self._checkpoints.files()
        state = GroupState(files, group, lambda key: self._first_offsets(pipeline, source, key))
        batches = SharedBatches(pipeline, group, state, copy)
        catch_up = CatchUp(
            batches=batches, spark=self._spark, on_failure=on_output_failure, on_success=self.on_catch_up
        )
        batches.on_refusal = catch_up.on_refusal
        self._shared[group.name] = batches
        frame = self._shared_frame(pipeline, group, state)
        query = self._start(group, frame.writeStream.foreachBatch(batches))
        catch_up.start_behind()
        return SharedQuery(query, batches, catch_up)

    def _first_offsets(self, pipeline: Pipeline, source: TopicSource, key: str) -> Offsets:
        to = self._resets.get(key)
        return first_offsets(pipeline, source if to is None else source_started_at(source, to))

    def _shared_frame(self, pipeline: Pipeline, group: QueryGroup, state: GroupState) -> DataFrame:
        """Return the frame that `SharedBatches` gets the batches of."""
        (source,) = group.reads
        if state.is_unfinished:
            begin = msgspec.structs.replace(source, starting=start_at(pipeline, source, state.start))
            sources = tuple(begin if each is source else each for each in pipeline.sources)
            pipeline = msgspec.structs.replace(pipeline, sources=sources)
        compiled = compile_frames(self._spark, pipeline, read_streams(self._spark, pipeline))
        compiled.raise_problems(pipeline)
        if group.has_one_member:
            return frame_of(pipeline, compiled, group.members[0])
        return compiled.decoded[source.name]

    def _start(self, group: QueryGroup, writer: DataStreamWriter) -> StreamingQuery:
        checkpoint = self._checkpoints.path(group.checkpoint)
        writer = writer.queryName(group.name).option("checkpointLocation", checkpoint)
        if self._once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{group.trigger_ms} milliseconds")
        try:
            return writer.start()
        except (AnalysisException, ParseException) as error:
            raise CannotStart(short_message(error)) from error

    def progress_of(self, given: Progress) -> Iterable[Progress]:
        """Return the progress of each output from that of a query."""
        shared = self._shared.get(given.query)
        return [given] if shared is None else shared.progress_of(given)


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


class SharedQuery(SparkQuery):
    """It is active until the outputs that were behind have caught up, too."""

    def __init__(self, query: StreamingQuery, batches: SharedBatches, catch_up: CatchUp) -> None:
        super().__init__(query)
        self._batches = batches
        self._catch_up = catch_up

    def is_active(self) -> bool:
        if super().is_active():
            return True
        if self.failure() is None:
            self._catch_up.finish()
        else:
            self._catch_up.stop()
        return self._catch_up.is_alive()

    def progress(self) -> Sequence[Progress]:
        return [each for given in super().progress() for each in self._batches.progress_of(given)]

    def is_between_batches(self) -> bool:
        return super().is_between_batches() and not self._catch_up.is_writing()

    def stop(self) -> None:
        self._batches.is_stopping = True
        self._catch_up.stop()
        super().stop()


class ProgressListener(StreamingQueryListener):
    """Passes each micro-batch to the monitor. Called on Spark's listener thread, so it must not block."""

    def __init__(self, monitor: Monitor, progress_of: Callable[[Progress], Iterable[Progress]]) -> None:
        self._monitor = monitor
        self._progress_of = progress_of

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's names
        for each in self._progress_of(progress.from_json(event.progress.json)):
            self._monitor.record_batch(each)

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """The supervisor started the query."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """The supervisor detects it."""
