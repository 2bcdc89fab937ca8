"""Names, and what Spark tells its tasks."""

from collections.abc import Mapping
from typing import cast

import pytest
from pyspark import TaskContext

from penstock.spark.sink.errors import SinkError
from penstock.spark.sink.identity import Run, driver_id, is_task_of_query, streaming_task

RUN = Run(query_id="a-b.c", run_id="run")


class Context:
    """What Spark tells a task."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = properties

    def partitionId(self) -> int:  # noqa: N802  Spark's name
        return 3

    def attemptNumber(self) -> int:  # noqa: N802  Spark's name
        return 1

    def taskAttemptId(self) -> int:  # noqa: N802  Spark's name
        return 77

    def getLocalProperty(self, key: str) -> str | None:  # noqa: N802  Spark's name
        return self._properties.get(key)


def context(properties: Mapping[str, str]) -> TaskContext:
    return cast("TaskContext", Context(properties))


TOLD = {"sql.streaming.queryId": "q", "streaming.sql.batchId": "12", "spark.jobGroup.id": "r"}


def test_a_task_knows_its_query_run_and_batch() -> None:
    task = streaming_task(context(TOLD))
    assert task.run == Run(query_id="q", run_id="r")
    assert (task.batch_id, task.partition, task.attempt, task.number) == (12, 3, 1, 77)
    assert task.run.transactional_id(task.number) == "penstock-spark.q.r.77"


@pytest.mark.parametrize("missing", list(TOLD))
def test_a_task_without_its_query_id_cannot_write_exactly_once(missing: str) -> None:
    with pytest.raises(SinkError, match="set the option delivery to at-least-once"):
        streaming_task(context({name: value for name, value in TOLD.items() if name != missing}))


def test_the_ids_of_a_querys_tasks_match_no_other_query() -> None:
    own_rows = RUN.transactional_id(5)
    assert is_task_of_query(own_rows, RUN.query_id)
    for other in (driver_id(RUN.query_id), "penstock-spark.a-bxc.run.5", "penstock-spark.a-b.cc.run.5"):
        assert not is_task_of_query(other, RUN.query_id)
