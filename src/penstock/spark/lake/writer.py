"""Writes a batch to a table: files on the executors, one commit on the driver.

`TableBatch` does it; pipelines use it through `batch_write`, and the writers behind `df.write` and `df.writeStream` are
shells around it. It is created on the driver before the tasks of each batch and sent to them; Spark creates another one
to commit. The first decides which columns the files have; the commit looks at the table again, because others may have
changed it.

Files of a failed batch are left for `penstock table vacuum`. Spark also calls `abort` while a commit may still be
running, such as when a query is stopped: removing files then would lose rows of the table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from penstock.spark.lake.errors import SchemaMismatch, TableError
from penstock.spark.lake.files import DataFile, FileLayout, remove_files, write_files
from penstock.spark.lake.formats import open_table
from penstock.spark.lake.merge.merge import Changes
from penstock.spark.lake.merge.staging import change_layout, checked
from penstock.spark.lake.options import LakeOptions
from penstock.spark.lake.schema import table_schema
from penstock.spark.lake.table import Batch, Commit

_QUERY_PROPERTY = "sql.streaming.queryId"


@dataclass(frozen=True)
class TaskCommitMessage(WriterCommitMessage):
    """The files of one task. Spark shows tasks, but not the driver, which query they belong to."""

    query_id: str | None
    files: list[DataFile] = field(default_factory=list)


class TableBatch:
    """One write. `batch` is what the table records; None: the shells below find out at the commit, or nothing is."""

    def __init__(
        self, options: LakeOptions, schema: StructType, *, replaces_all: bool, batch: Batch | None = None
    ) -> None:
        self._options = options
        self._batch = batch
        self._replaces_all = replaces_all
        rows = arrow_schema(schema)
        table = open_table(options.location, options.table_format)
        self._rules = options.merge_rules and options.merge_rules.for_rows(rows, table.path)
        self._rows_schema = self._rules.table_rows(rows) if self._rules else rows
        wanted = Commit(
            schema=self._rows_schema,
            partition_by=options.partition_by,
            merge_schema=options.merge_schema,
            merge_rules=self._rules,
        )
        plan = table.plan_write(table.state(), wanted)
        self._partition_by = plan.partition_by
        layout = msgspec.structs.replace(
            table.layout(plan.change.schema, plan.partition_by),
            compression=options.compression,
            file_size_bytes=options.file_size_bytes,
        )
        self._changes: Changes | None = None
        if self._rules:
            self._changes = Changes(
                layout=change_layout(layout.location, rows),
                compression=options.compression,
                file_size_bytes=options.file_size_bytes,
            )
        self._layout: FileLayout = self._changes.layout if self._changes else layout

    def write(self, iterator: Iterator[Any]) -> TaskCommitMessage:
        context = TaskContext.get()
        query_id = context.getLocalProperty(_QUERY_PROPERTY) if context else None
        if self._rules:
            iterator = checked(iterator, self._rules, self._options.location.path)
        return TaskCommitMessage(query_id=query_id, files=write_files(self._layout, iterator))

    def abort(self, *_: object) -> None:
        """Leave the files to `vacuum`."""

    def abort_batch(self) -> None:
        """Leave the files to `vacuum`."""

    def commit_batch(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        batch = self._batch
        self._commit(messages, batch.batch_id if batch else None, batch.query_id if batch else None)

    def _commit(
        self, messages: Sequence[WriterCommitMessage | None], batch_id: int | None, query_id: str | None
    ) -> None:
        """Commit the files of the tasks, or remove them if the batch was committed before."""
        files = [
            file for message in messages if isinstance(message, TaskCommitMessage) for file in message.files
        ]
        table = open_table(self._options.location, self._options.table_format)
        if not files and not self._replaces_all:
            if table.state() is None:  # so that readers find a table
                table.commit(
                    Commit(schema=self._rows_schema, partition_by=self._partition_by, merge_rules=self._rules)
                )
            return
        commit = Commit(
            files=files,
            schema=self._rows_schema,
            partition_by=self._partition_by,
            replaces_all=self._replaces_all,
            merge_schema=self._options.merge_schema,
            batch=_batch(query_id, batch_id),
            merge_rules=self._rules,
            changes=self._changes,
        )
        is_new = table.commit(commit)
        if self._changes:
            remove_files(self._layout, [file.path for file in files])
        elif not is_new:
            live = table.live_paths()
            remove_files(self._layout, [file.path for file in files if file.path not in live])


def _query_of(messages: Sequence[WriterCommitMessage | None]) -> str | None:
    """Return the streaming query in which the tasks ran, also in `foreachBatch`; the driver does not know it."""
    return next(
        (each.query_id for each in messages if isinstance(each, TaskCommitMessage) and each.query_id), None
    )


def _batch(query_id: str | None, batch_id: int | None) -> Batch | None:
    if batch_id is None:
        return None
    if query_id is None:
        raise TableError("a batch id needs a query id: set the option query_id as well")
    return Batch(query_id=query_id, batch_id=batch_id)


class TableWriter(TableBatch, DataSourceArrowWriter):
    """`df.write`: one transaction, recorded as a batch only if the options `query_id` and `batch_id` are set."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._commit(messages, self._options.batch_id, self._options.query_id or _query_of(messages))


class TableStreamWriter(TableBatch, DataSourceStreamArrowWriter):
    """`df.writeStream`: each micro-batch is one transaction, done once."""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  Spark's name
        self._commit(messages, batchId, _query_of(messages) or self._options.query_id)


def arrow_schema(schema: StructType) -> pa.Schema:
    refused = []
    for column in schema.fields:
        try:
            to_arrow_schema(StructType([column]), timezone="UTC")
        except Exception:  # noqa: BLE001  PySpark has no one class for types it cannot convert
            refused.append(f"{column.name} ({column.dataType.simpleString()})")
    if refused:
        raise SchemaMismatch(f"tables cannot store column {', '.join(refused)}: cast it before writing")
    return table_schema(to_arrow_schema(schema, timezone="UTC"))
