"""The columns that become records, as Spark's Kafka sink names them.

value    string or binary, required; null makes a tombstone
key      string or binary
topic    string; required unless the option `topic` is set, which has precedence
partition    int; has precedence over the key
headers  array of struct<key: string, value: binary>

Other columns are ignored, as Spark's Kafka sink ignores them.
"""

from collections.abc import Sequence
from typing import Any, Final, cast

import msgspec
import pyarrow as pa
from pyspark.sql.types import StructType

from penstock.spark.record_columns import HEADERS_TYPE
from penstock.spark.sink.errors import RowError

Headers = tuple[tuple[str, bytes | None], ...]

# The types of each column, as Spark names them, and as an error does.
_TYPES: Final = {
    "key": (("string", "binary"), "STRING or BINARY"),
    "value": (("string", "binary"), "STRING or BINARY"),
    "topic": (("string",), "STRING"),
    "partition": (("integer",), "INT"),
    "headers": ((HEADERS_TYPE,), "ARRAY<STRUCT<key: STRING, value: BINARY>>"),
}


def check_schema(schema: StructType, topic: str | None) -> None:
    """Raise if rows of this schema cannot become records; called before any task runs."""
    types = {field.name: field.dataType for field in schema.fields}
    if "value" not in types:
        raise RowError(f"Required attribute 'value' not found. The columns are: {', '.join(types) or 'none'}")
    if topic is None and "topic" not in types:
        raise RowError(
            "topic option required when no 'topic' attribute is present. Use the topic option for setting a topic."
        )
    for name, (accepted, expected) in _TYPES.items():
        if (kind := types.get(name)) is not None and not {kind.typeName(), kind.simpleString()} & {*accepted}:
            raise RowError(
                f"{name} attribute unsupported type {kind.simpleString()}. {name} must be a {expected}."
            )


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of one Arrow batch. `topics` is None if all rows go to the topic of the options."""

    count: int
    keys: pa.BinaryArray | None
    values: pa.BinaryArray
    topics: Sequence[str] | None
    partitions: Sequence[int | None] | None
    headers: Sequence[Headers] | None


def rows_of(batch: pa.RecordBatch, topic: str | None) -> Rows:
    names = set(batch.schema.names)
    topics: list[str] | None = None
    if topic is None:
        topics = cast("list[str]", batch.column("topic").to_pylist())
        if batch.column("topic").null_count:
            raise RowError("null topic present in the data. Use the topic option for setting a topic.")
    return Rows(
        count=batch.num_rows,
        keys=_binary(batch.column("key")) if "key" in names else None,
        values=_binary(batch.column("value")),
        topics=topics,
        partitions=batch.column("partition").to_pylist() if "partition" in names else None,
        headers=[_headers(row) for row in batch.column("headers").to_pylist()]
        if "headers" in names
        else None,
    )


def _binary(column: "pa.Array[Any]") -> pa.BinaryArray:
    return cast("pa.BinaryArray", column if column.type == pa.binary() else column.cast(pa.binary()))


def _headers(row: Sequence[dict[str, object]] | None) -> Headers:
    found: list[tuple[str, bytes | None]] = []
    for header in row or ():
        key, value = header["key"], header["value"]
        if not isinstance(key, str):
            raise RowError("null header key present in the data: a header needs a name")
        found.append((key, value if isinstance(value, bytes) else None))
    return tuple(found)
