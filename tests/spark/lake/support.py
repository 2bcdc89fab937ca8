"""Writes to tables as the sink does, without Spark."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.spark.lake.files import DataFile, write_files
from penstock.spark.lake.schema import table_schema
from penstock.spark.lake.table import Batch, Commit, Table

Row = Mapping[str, Any]


def schema_of(**kinds: pa.DataType) -> pa.Schema:
    return pa.schema(list(kinds.items()))


SCHEMA = schema_of(id=pa.int32(), place=pa.string())


def rows_of(*ids: int, place: str | None = "here") -> list[Row]:
    return [{"id": each, "place": place} for each in ids]


def prepared(
    table: Table,
    rows: Sequence[Row],
    schema: pa.Schema = SCHEMA,
    *,
    partition_by: tuple[str, ...] = (),
    merge_schema: bool = False,
) -> list[DataFile]:
    """Files written as tasks write them, not yet committed."""
    wanted = table_schema(schema)
    plan = table.plan_write(
        table.state(), Commit(schema=wanted, partition_by=partition_by, merge_schema=merge_schema)
    )
    layout = table.layout(plan.change.schema, plan.partition_by)
    return write_files(layout, iter([pa.RecordBatch.from_pylist([dict(row) for row in rows], schema=wanted)]))


def put(
    table: Table,
    rows: Sequence[Row],
    schema: pa.Schema = SCHEMA,
    *,
    batch: tuple[str, int] | None = None,
    partition_by: tuple[str, ...] = (),
    merge_schema: bool = False,
    replaces_all: bool = False,
) -> bool:
    """Write and commit; false where the batch was there already."""
    files = prepared(table, rows, schema, partition_by=partition_by, merge_schema=merge_schema)
    return table.commit(
        Commit(
            files=files,
            schema=table_schema(schema),
            partition_by=partition_by,
            merge_schema=merge_schema,
            replaces_all=replaces_all,
            batch=Batch(query_id=batch[0], batch_id=batch[1]) if batch else None,
        )
    )


def read(table: Table, *columns: str) -> list[dict[str, Any]]:
    state = table.state()
    assert state is not None
    names = columns or tuple(state.schema.names)
    return [row for split in table.splits() for batch in split.batches(names) for row in batch.to_pylist()]


def ids(table: Table) -> list[int]:
    return sorted(row["id"] for row in read(table, "id"))


def commit_at_once(table: Table, drivers: int) -> int:
    """Let drivers commit one batch with one row at the same time; return how many of them have committed it."""
    commits = [
        Commit(files=prepared(table, rows_of(1)), schema=SCHEMA, batch=Batch(query_id="q", batch_id=1))
        for _ in range(drivers)
    ]
    outcomes: list[bool] = []
    threads = [
        threading.Thread(target=lambda each=each: outcomes.append(table.commit(each))) for each in commits
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == drivers
    return sum(outcomes)


def write_batches_while(table: Table, work: Callable[[], int]) -> None:
    """Write rows 0 to 11, each in a batch, and work on the table meanwhile, until the work has done something."""
    put(table, rows_of(0), batch=("q", 0))
    failures: list[BaseException] = []

    def stream() -> None:
        try:
            for batch_id in range(1, 12):
                put(table, rows_of(batch_id), batch=("q", batch_id))
        except BaseException as error:
            failures.append(error)

    writer = threading.Thread(target=stream)
    writer.start()
    done = 0
    while writer.is_alive() or not done:
        done += work()
    writer.join()
    assert failures == []
