"""Merges changes into tables as the sink does, without Spark."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from penstock.spark.lake.files import DataFile, write_files
from penstock.spark.lake.merge.merge import Changes
from penstock.spark.lake.merge.rules import MergeRules
from penstock.spark.lake.merge.staging import change_layout, checked
from penstock.spark.lake.table import Batch, Commit, Table
from tests.spark.lake.merge.model import Row
from tests.spark.lake.support import schema_of

CHANGES = schema_of(id=pa.int64(), order=pa.int64(), value=pa.string(), _deleted=pa.bool_())
LATEST = MergeRules(key=("id",), order_by=("order",))
HISTORY = MergeRules(key=("id",), order_by=("order",), has_history=True)

change = st.builds(
    lambda key, order, value, is_deleted: {"id": key, "order": order, "value": value, "_deleted": is_deleted},
    st.integers(0, 4),
    st.integers(0, 9),
    st.sampled_from("abc"),
    st.booleans(),
)
batches = st.lists(st.lists(change, max_size=6), max_size=5)


def change_of(key: int, order: int, value: str = "a", *, is_deleted: bool = False) -> Row:
    return {"id": key, "order": order, "value": value, "_deleted": is_deleted}


def staged(
    table: Table, rows: Sequence[Row], rules: MergeRules, schema: pa.Schema
) -> tuple[MergeRules, Changes, list[DataFile]]:
    """Changes written as tasks write them, not yet merged."""
    resolved = rules.for_rows(schema, table.path)
    where = table.layout(resolved.table_rows(schema), ()).location  # a catalog may have chosen it
    changes = Changes(layout=change_layout(where, schema))
    batch = pa.RecordBatch.from_pylist([dict(row) for row in rows], schema=schema)
    return resolved, changes, write_files(changes.layout, checked(iter([batch]), resolved, table.path))


def upsert(
    table: Table,
    rows: Sequence[Row],
    rules: MergeRules = LATEST,
    *,
    batch: int | None = None,
    schema: pa.Schema = CHANGES,
    partition_by: tuple[str, ...] = (),
    merge_schema: bool = False,
    query_id: str = "q",
) -> bool:
    """Write and merge; false where the batch was there already."""
    resolved, changes, files = staged(table, rows, rules, schema)
    return table.commit(
        Commit(
            files=files,
            schema=resolved.table_rows(schema),
            partition_by=partition_by,
            merge_schema=merge_schema,
            batch=None if batch is None else Batch(query_id=query_id, batch_id=batch),
            merge_rules=resolved,
            changes=changes,
        )
    )


def tuples(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in rows)
