"""Spark's side of the sink: `TopicBatch` for pipelines, and the writers of `format("penstock")`.

A writer is created on the driver, sent to the tasks, and recreated where a stream commits, so it holds only settings.
For exactly-once delivery the tasks leave their transactions open, and the driver ends them: for a stream through the
module `exactly_once`, for a batch write directly, because no later run would resume a batch write that failed halfway.
"""

import contextlib
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    DataSourceStreamWriter,
    DataSourceWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from penstock.client.blocking.client import shared_client
from penstock.events import now_ms
from penstock.spark.batch_write import BatchIdentity
from penstock.spark.options import Options
from penstock.spark.sink import exactly_once
from penstock.spark.sink.columns import check_schema
from penstock.spark.sink.decision import Member, Producer, choose_id_number
from penstock.spark.sink.errors import SinkError, TransactionLost
from penstock.spark.sink.exactly_once import BatchDecider, WrittenBatch
from penstock.spark.sink.identity import Run, Task, streaming_task, task_of
from penstock.spark.sink.settings import SinkSettings
from penstock.spark.sink.task import TaskWriter
from penstock.spark.sink.transactions import BrokerTransactions

# Option with the id of the micro-batch that a batch write belongs to: see `ForeachBatchWriter`.
STREAM_BATCH = "batch_id"

_TASKS_STOP_WAIT_S = 0.3
_OVERWRITE = "topics can only be appended to: use the mode append (records that were written before cannot be replaced)"


def batch_writer(options: Options, schema: StructType, overwrite: bool) -> DataSourceWriter:
    if overwrite:
        raise SinkError(_OVERWRITE)
    settings = SinkSettings.from_options(options)
    check_schema(schema, settings.topic)
    batch_id = options.integer(STREAM_BATCH, minimum=0)
    return BatchWriter(settings) if batch_id is None else ForeachBatchWriter(settings, batch_id)


def stream_writer(options: Options, schema: StructType) -> DataSourceStreamWriter:
    """Complete mode appends all rows, as with Spark's Kafka sink."""
    settings = SinkSettings.from_options(options)
    check_schema(schema, settings.topic)
    return StreamWriter(settings)


@dataclass(frozen=True, kw_only=True)
class TaskCommitMessage(WriterCommitMessage):
    """The message of a task to the driver. Without a producer it wrote nothing; without a run it is at-least-once."""

    run: Run | None = None
    number: int = -1
    producer: Producer | None = None


class StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, settings: SinkSettings) -> None:
        self._settings = settings

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskCommitMessage:  # type: ignore[override]  # so is Spark's own
        if not self._settings.is_exactly_once:
            return _write(self._settings, iterator)
        task = streaming_task(_task_context())
        number = exactly_once.claim_transactional_id(_transactions(self._settings), task)
        if number is None:
            return _drain(task, iterator)
        return _write(self._settings, iterator, task.run, number)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  Spark's name
        written = _written_batch(messages, batchId)
        if written is not None:
            exactly_once.commit(_transactions(self._settings), written)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  Spark's name
        written = _written_batch(messages, batchId)
        if written is not None:
            exactly_once.abort(_transactions(self._settings), written)
            _abandon(self._settings, written.run)


class TopicBatch:
    """One batch of a pipeline's output, written by `batch_write`: the driver knows which id each task may use."""

    def __init__(self, settings: SinkSettings, identity: BatchIdentity, decider: BatchDecider | None) -> None:
        self._settings = settings
        self._run = Run(query_id=identity.query_id, run_id=identity.run_id)
        self._batch_id = identity.batch_id
        self._decider = decider  # None: at least once
        self._last = None if decider is None else decider.last_decision()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_decider": None}

    @property
    def is_decided(self) -> bool:
        return self._last is not None and self._last.batch_id >= self._batch_id

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskCommitMessage:
        if not self._settings.is_exactly_once:
            return _write(self._settings, iterator)
        task = task_of(_task_context(), self._run, self._batch_id)
        if self.is_decided:
            return _drain(task, iterator)
        return _write(self._settings, iterator, self._run, choose_id_number(task, self._last))

    def commit_batch(self, messages: Sequence[TaskCommitMessage]) -> None:
        written = _written_batch(messages, self._batch_id)
        if self._decider is not None and written is not None and not self._is_nothing(written):
            self._decider.commit(written)

    def _is_nothing(self, written: WrittenBatch) -> bool:
        """Say whether a batch without rows needs no decision, because no lost task has an id that could be reused."""
        last = self._last
        reused = last.reusable[: written.task_count] if last and last.run_id == self._run.run_id else ()
        return not written.members and not self.is_decided and set(reused) <= set(written.idle)

    def abort_batch(self) -> None:
        if self._decider is not None:
            _abandon(self._settings, self._run)


def batch_decider(settings: SinkSettings, query_id: str) -> BatchDecider | None:
    return BatchDecider(_transactions(settings), query_id) if settings.is_exactly_once else None


class ForeachBatchWriter(DataSourceArrowWriter):
    """Writes one micro-batch in `foreachBatch`, exactly once like a stream: tasks know their query and batch.

    Spark does not write to Python data sources in update mode, but `foreachBatch` works there.
    """

    def __init__(self, settings: SinkSettings, batch_id: int) -> None:
        self._stream = StreamWriter(settings)
        self._batch_id = batch_id

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskCommitMessage:  # type: ignore[override]  # so is Spark's own
        return self._stream.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._stream.commit(messages, self._batch_id)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._stream.abort(messages, self._batch_id)


class BatchWriter(DataSourceArrowWriter):
    """Writes one `df.write`. Its run id only names its transactions."""

    def __init__(self, settings: SinkSettings) -> None:
        self._settings = settings
        self._run = Run(query_id="write", run_id=str(uuid.uuid4()))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskCommitMessage:  # type: ignore[override]  # so is Spark's own
        if not self._settings.is_exactly_once:
            return _write(self._settings, iterator)
        return _write(self._settings, iterator, self._run, _task_context().taskAttemptId())

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        members = _members(messages)
        lost = _transactions(self._settings).end(self._run, members, commit=True)
        if lost:
            raise TransactionLost(
                f"{len(lost)} of {len(members)} transactions of this write were aborted before they could be "
                f"committed: the write took longer than kafka.transaction.timeout.ms. The rest is visible: delete it, "
                f"or write again and accept that it appears twice."
            )

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._settings.is_exactly_once:
            _transactions(self._settings).end(self._run, _members(messages), commit=False)
            _abandon(self._settings, self._run)


def _members(messages: Sequence[WriterCommitMessage | None]) -> tuple[Member, ...]:
    tasks = [each for each in messages if isinstance(each, TaskCommitMessage) and each.run is not None]
    return tuple(Member(task.number, *task.producer) for task in tasks if task.producer is not None)


def _transactions(settings: SinkSettings) -> BrokerTransactions:
    return BrokerTransactions(shared_client(settings.client), timeout_ms=settings.transaction_timeout_ms)


def _abandon(settings: SinkSettings, run: Run) -> None:
    """Abort transactions that failed tasks left open; twice, because other tasks of a failed job may still run."""
    for pause_s in (0.0, _TASKS_STOP_WAIT_S):
        time.sleep(pause_s)
        exactly_once.abandon_run(_transactions(settings), run)


def _drain(task: Task, iterator: Iterator[pa.RecordBatch]) -> TaskCommitMessage:
    """Take the rows of a batch that is decided: stateful operators update their state as rows are consumed."""
    for _ in iterator:
        pass
    return TaskCommitMessage(run=task.run, number=task.number)


def _task_context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "Spark runs tasks with a context"
    return context


def _write(
    settings: SinkSettings, iterator: Iterator[pa.RecordBatch], run: Run | None = None, number: int = -1
) -> TaskCommitMessage:
    """Write the rows of a task. With a run its transaction stays open, and is aborted only if the task fails."""
    cluster = shared_client(settings.client)
    writer = TaskWriter(
        settings,
        cluster,
        now_ms=now_ms,
        transactional_id=run.transactional_id(number) if run is not None else None,
        first_partition=_task_context().partitionId(),
    )
    try:
        writer.write(iterator)
    except BaseException:
        if run is not None and writer.producer is not None:
            # An open transaction would delay readers. The first error counts.
            with contextlib.suppress(Exception):
                _transactions(settings).end(run, [Member(number, *writer.producer)], commit=False)
        raise
    return TaskCommitMessage(run=run, number=number, producer=writer.producer)


def _written_batch(messages: Sequence[WriterCommitMessage | None], batch_id: int) -> WrittenBatch | None:
    """Collect the messages of a batch's tasks; None if they wrote at-least-once."""
    tasks = [
        message for message in messages if isinstance(message, TaskCommitMessage) and message.run is not None
    ]
    if not tasks:
        return None
    (run,) = {task.run for task in tasks}
    assert run is not None
    return WrittenBatch(
        run=run,
        batch_id=batch_id,
        members=_members(messages),
        idle=tuple(task.number for task in tasks if task.producer is None),
        task_count=len(messages),
    )
