"""Writes a frame as one batch: tasks write in `mapInArrow`, and this process commits.

A Python data source makes Spark start a Python process on the driver to plan each batch, and another to commit it.
Here the driver's own process does both. The commit message of a task comes back as its only row, and Spark delivers the
rows of one successful attempt of each task. The data sources `penstock` and `penstock_lake` run the same classes.
"""

import functools
import json
import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame

Message = TypeVar("Message")

_COLUMN = "message"
_SCHEMA = f"{_COLUMN} BINARY"


class BatchIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """The name under which a target records a batch: it takes each batch of a query once."""

    query_id: str  # of the output; kept as long as its checkpoint
    run_id: str  # new for each start of the query
    batch_id: int


class BatchWrite(Protocol[Message]):
    """One write. It is created on the driver and sent to the tasks, so it must be picklable."""

    def write(self, iterator: Iterator[Any], /) -> Message:
        """Write the rows of a task."""

    def commit_batch(self, messages: Sequence[Message], /) -> None:
        """Make the rows of these tasks visible, unless the batch is committed."""

    def abort_batch(self) -> None:
        """Clean up after tasks of a job that failed."""


def write_batch(frame: DataFrame, write: BatchWrite[Any]) -> dict[str, dict[str, int]]:
    """Return the observed metrics of the frame: name -> column -> count."""
    messages = frame.mapInArrow(functools.partial(_write_task, write), _SCHEMA)
    try:
        rows = messages.collect()
    except BaseException:
        write.abort_batch()
        raise
    write.commit_batch([pickle.loads(row[0]) for row in rows])  # noqa: S301 - made by our own tasks
    return _observed(messages)


def _observed(frame: DataFrame) -> dict[str, dict[str, int]]:
    """Return the metrics that the last job of a frame observed. Python has no API for this that cannot block."""
    context = frame.sparkSession.sparkContext
    jvm: Any = context._jvm  # noqa: SLF001
    found = jvm.scala.jdk.javaapi.CollectionConverters.asJava(frame._jdf.queryExecution().observedMetrics())  # noqa: SLF001
    return {name: json.loads(found[name].json()) for name in found}


def _write_task(write: BatchWrite[Any], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    message = pickle.dumps(write.write(iter(batches)))
    yield pa.RecordBatch.from_arrays([pa.array([message], pa.binary())], [_COLUMN])
