"""Names of a query's group and transactional ids, and the identity of the running task.

    penstock-spark.<query id>                      the driver's transactional id, and the group that holds decisions
    penstock-spark.<query id>.<run id>.<number>    one task's transactional id

The query id is kept with its checkpoint; the run id is new for each start of the query, so that tasks of an old run
cannot use the ids of another. Numbers are Spark's task attempt ids, unique in a run; later batches reuse them (see
`decision`). A batch write has neither query nor run: the query is `write`, the run a UUID.
"""

import msgspec
from pyspark import TaskContext

from penstock.spark.sink.errors import SinkError

_PREFIX = "penstock-spark"
QUERY_PROPERTY = "sql.streaming.queryId"
_BATCH_PROPERTY = "streaming.sql.batchId"
RUN_PROPERTY = "spark.jobGroup.id"  # a streaming query runs its jobs in a group named after its run


class Run(msgspec.Struct, frozen=True, kw_only=True):
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
    """Return the driver's transactional id, which is also the name of the query's group."""
    return f"{_PREFIX}.{query_id}"


def is_task_of_query(transactional_id: str, query_id: str) -> bool:
    return transactional_id.startswith(f"{driver_id(query_id)}.")


def streaming_task(context: TaskContext) -> Task:
    properties = (QUERY_PROPERTY, RUN_PROPERTY, _BATCH_PROPERTY)
    query_id, run_id, batch_id = map(context.getLocalProperty, properties)
    if not query_id or not run_id or batch_id is None:
        raise SinkError(
            "Spark gives this task no query, run and batch id, which exactly-once delivery needs: set the option "
            "delivery to at-least-once"
        )
    return task_of(context, Run(query_id=query_id, run_id=run_id), int(batch_id))


def task_of(context: TaskContext, run: Run, batch_id: int) -> Task:
    return Task(
        run=run,
        batch_id=batch_id,
        partition=context.partitionId(),
        attempt=context.attemptNumber(),
        number=context.taskAttemptId(),
    )
