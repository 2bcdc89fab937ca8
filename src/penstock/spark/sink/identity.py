"""Names: of a query's group and transactional ids, and of the task that is running.

    penstock-spark.<query id>                      the driver's transactional id, and the group that holds decisions
    penstock-spark.<query id>.<run id>.<number>    one task's transactional id

The query id lives as long as its checkpoint; the run id is new whenever the query starts, so what is left of one run
can never touch the ids of another. Numbers are Spark's task attempt ids, unique in a run, and are used again by later
batches (see `decision`). A batch write has neither query nor run: `write-<uuid>` stands for both.
"""

import re
from typing import Protocol

import msgspec

from penstock.spark.sink.errors import SinkError

_PREFIX = "penstock-spark"
_QUERY_PROPERTY = "sql.streaming.queryId"
_BATCH_PROPERTY = "streaming.sql.batchId"
_RUN_PROPERTY = "spark.jobGroup.id"  # a streaming query runs its jobs in a group named after its run


class Context(Protocol):
    """What is used of `pyspark.TaskContext`."""

    def partitionId(self) -> int: ...  # noqa: N802  Spark's names
    def attemptNumber(self) -> int: ...  # noqa: N802
    def taskAttemptId(self) -> int: ...  # noqa: N802
    def getLocalProperty(self, key: str) -> str | None: ...  # noqa: N802


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One start of one query."""

    query_id: str
    run_id: str

    @property
    def driver_id(self) -> str:
        return driver_id(self.query_id)

    @property
    def transactional_id_prefix(self) -> str:
        return f"{driver_id(self.query_id)}.{self.run_id}."

    def transactional_id(self, number: int) -> str:
        return f"{self.transactional_id_prefix}{number}"


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at one partition of one batch."""

    run: Run
    batch_id: int
    partition: int
    attempt: int
    number: int


def driver_id(query_id: str) -> str:
    """Also the name of the query's group."""
    return f"{_PREFIX}.{query_id}"


def pattern_of_tasks(query_id: str) -> str:
    """A regular expression for the transactional ids of the tasks of every run."""
    return re.escape(driver_id(query_id)).replace("\\-", "-") + r"\..*"


def is_of_task(transactional_id: str, query_id: str) -> bool:
    return transactional_id.startswith(f"{driver_id(query_id)}.")


def streaming_task(context: Context | None) -> Task:
    """The task that runs in this process, as Spark describes it to its workers."""
    properties = (_QUERY_PROPERTY, _RUN_PROPERTY, _BATCH_PROPERTY)
    found = [context.getLocalProperty(name) for name in properties] if context is not None else []
    query_id, run_id, batch_id = found or (None, None, None)
    if context is None or not query_id or not run_id or batch_id is None:
        raise SinkError(
            "Spark does not tell this task its query, run and batch, without which nothing can be written exactly "
            "once: set the option delivery to at-least-once"
        )
    return Task(
        run=Run(query_id=query_id, run_id=run_id),
        batch_id=int(batch_id),
        partition=context.partitionId(),
        attempt=context.attemptNumber(),
        number=context.taskAttemptId(),
    )
