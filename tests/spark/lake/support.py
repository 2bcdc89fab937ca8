"""Writes to tables as the sink does, without Spark."""

from collections.abc import Mapping, Sequence
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
