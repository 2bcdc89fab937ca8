"""Merges the schema of rows into the schema of a table. No I/O.

A column that the rows lack is null. A column that the table lacks, or has in a narrower type, changes the table if
`merge_schema` is set, and is refused otherwise. Rows of a narrower type are cast. Nested fields are not added: readers
disagree about their value in old files.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa

from penstock.spark.lake.errors import SchemaMismatch

_INTEGERS: tuple[pa.DataType, ...] = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_FLOATS: tuple[pa.DataType, ...] = (pa.float32(), pa.float64())


class SchemaChange(msgspec.Struct, frozen=True, kw_only=True):
    """The schema to write with, and its differences from the table's."""

    schema: pa.Schema
    added: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.widened)


def table_schema(schema: pa.Schema) -> pa.Schema:
    """Normalize a schema for comparing and storing: every field nullable, times in microseconds."""
    stored = {field.name: _stored_type(field.type) for field in schema}
    refused = [f"{field.name} ({field.type})" for field in schema if stored[field.name] is None]
    if refused:
        raise SchemaMismatch(
            f"tables cannot store {_list_columns(refused)}: cast to a supported type before writing"
        )
    return pa.schema(
        [pa.field(field.name, kind) for field in schema if (kind := stored[field.name]) is not None]
    )


def change_for(
    table: pa.Schema | None,
    rows: pa.Schema,
    *,
    where: str,
    merge_schema: bool = False,
    can_widen: bool = False,
) -> SchemaChange:
    """Return how writing `rows` changes the table. Both are in the form of `table_schema`."""
    _refuse_duplicate_columns(rows, where)
    if table is None:
        return SchemaChange(schema=rows, added=tuple(rows.names))
    _refuse_case_conflicts(table, rows, where)
    wider = [
        name
        for name in rows.names
        if name in table.names and _is_wider(_type(rows, name), _type(table, name))
    ]
    refused = [
        f"{name} ({_type(rows, name)} in the rows, {_type(table, name)} in the table)"
        for name in rows.names
        if name in table.names and not _fits(_type(rows, name), _type(table, name))
        if not (can_widen and name in wider)
    ]
    if refused:
        advice = "cast the rows, or write under another name or to another table"
        raise SchemaMismatch(f"table {where} cannot store {_list_columns(refused)}: {advice}")
    added = [name for name in rows.names if name not in table.names]
    if (added or wider) and not merge_schema:
        requested = [f"{name} ({_type(rows, name)})" for name in (*added, *wider)]
        advice = "set the option merge_schema=true to change the table, or do not write it"
        raise SchemaMismatch(f"table {where} has no {_list_columns(requested)}: {advice}")
    fields = [
        pa.field(field.name, _type(rows, field.name) if field.name in wider else field.type)
        for field in table
    ]
    fields += [rows.field(name) for name in added]
    return SchemaChange(schema=pa.schema(fields), added=tuple(added), widened=tuple(wider))


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch with exactly the columns of `schema`: narrower ones cast, missing ones null."""
    if batch.schema.equals(schema):
        return batch
    names = set(batch.schema.names)
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _stored_type(kind: Any) -> pa.DataType | None:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        fields = [(field.name, _stored_type(field.type)) for field in kind]
        if not fields or any(inner is None for _, inner in fields):
            return None
        return pa.struct([pa.field(name, inner) for name, inner in fields if inner is not None])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        element = _stored_type(kind.value_type)
        return None if element is None else pa.list_(pa.field("element", element))
    if pa.types.is_map(kind):
        key, value = _stored_type(kind.key_type), _stored_type(kind.item_type)
        if key is None or value is None:
            return None
        return pa.map_(key, value)
    is_plain: bool = (
        kind in _INTEGERS
        or kind in _FLOATS
        or pa.types.is_decimal128(kind)
        or kind in {pa.bool_(), pa.string(), pa.binary(), pa.date32()}
    )
    return kind if is_plain else None


def _type(schema: pa.Schema, name: str) -> pa.DataType:
    kind: pa.DataType = schema.field(name).type
    return kind


def _fits(rows: pa.DataType, table: pa.DataType) -> bool:
    """Say whether every value of `rows` is a value of `table`."""
    return rows.equals(table) or _is_wider(table, rows)


def _is_wider(one: pa.DataType, other: pa.DataType) -> bool:
    for ladder in (_INTEGERS, _FLOATS):
        if one in ladder and other in ladder:
            return ladder.index(one) > ladder.index(other)
    if pa.types.is_decimal128(one) and pa.types.is_decimal128(other):
        return bool(one.scale == other.scale and one.precision > other.precision)
    return False


def _refuse_duplicate_columns(rows: pa.Schema, where: str) -> None:
    folded = [name.casefold() for name in rows.names]
    duplicates = sorted({name for name in rows.names if folded.count(name.casefold()) > 1})
    if duplicates:
        raise SchemaMismatch(
            f"the rows for table {where} have {_list_columns(duplicates)} more than once: rename one"
        )


def _refuse_case_conflicts(table: pa.Schema, rows: pa.Schema, where: str) -> None:
    """Refuse `Id` beside `id`: one column for Delta and Spark, two for Iceberg and Arrow."""
    known = {name.casefold(): name for name in table.names}
    conflicts = [
        f"{name} (the table has {known[name.casefold()]})"
        for name in rows.names
        if known.get(name.casefold(), name) != name
    ]
    if conflicts:
        raise SchemaMismatch(
            f"table {where} cannot store {_list_columns(conflicts)}: use the table's spelling"
        )


def _list_columns(names: Sequence[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {', '.join(names)}"
