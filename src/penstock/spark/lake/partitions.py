"""Splits rows by partition values, and converts the values to text and directories. No I/O.

The text of a value is Delta's (which the Parquet tables here use too); null has none. Directories are Hive's,
`column=value`, with the ASCII characters escaped that Spark escapes and others as they are, since Spark does not decode
UTF-8 that is percent-encoded. An empty string is null, as it is in Delta and in Hive's directories.
"""

import datetime as dt
import decimal
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.spark.lake.errors import TableError

Values = tuple[str | None, ...]

_NULL_DIRECTORY = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = frozenset("\"#%'*/:=?\\{}[]^") | {chr(code) for code in (*range(0x20), 0x7F)}
_NAME_BYTES_MAX = 255
_ROW = "penstock row number"  # beside the columns of a table


def check_partition_columns(schema: pa.Schema, partition_by: Sequence[str], where: str) -> None:
    unknown = [name for name in partition_by if name not in schema.names]
    if unknown:
        raise TableError(
            f"table {where} cannot be partitioned by {', '.join(unknown)}: the rows have {', '.join(schema.names)}"
        )
    for name in partition_by:
        kind = schema.field(name).type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_floating(kind):
            raise TableError(
                f"table {where} cannot be partitioned by {name}, a {kind}: "
                "use a string, integer, boolean, date, timestamp or decimal column"
            )
    if partition_by and len(set(partition_by)) == len(schema.names):
        raise TableError(
            f"table {where} cannot be partitioned by all of its columns: leave one for the files"
        )


def split(batch: pa.RecordBatch, columns: Sequence[str]) -> Iterator[tuple[Values, pa.RecordBatch]]:
    """Yield the rows of each combination of values, with the values as text."""
    if not batch.num_rows:
        return
    if not columns:
        yield (), batch
        return
    numbered = pa.table(batch.select(list(columns))).append_column(_ROW, pa.array(np.arange(batch.num_rows)))
    groups = numbered.group_by(list(columns), use_threads=False).aggregate([(_ROW, "list")])
    keys = zip(*(groups.column(name).to_pylist() for name in columns), strict=True)
    for values, rows in zip(keys, groups.column(f"{_ROW}_list"), strict=True):
        part = batch if groups.num_rows == 1 else batch.take(rows.values)
        yield tuple(map(text_of, values)), part


def text_of(value: Any) -> str | None:
    """Convert a value to text. Times are in UTC."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f").rjust(26, "0")
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    return str(value)


def value_of(text: str | None, kind: pa.DataType) -> "pa.Scalar[pa.DataType]":
    if text is None:
        return pa.scalar(None, kind)
    if pa.types.is_timestamp(kind):
        return pa.scalar(text).cast(pa.timestamp("us")).cast(kind)
    return pa.scalar(text).cast(kind)


def directory_of(columns: Sequence[str], values: Values) -> str:
    """Return the directory of these values, relative to the table, with a trailing slash unless it is empty."""
    names = [
        f"{escape(name)}={_NULL_DIRECTORY if value is None else escape(value)}"
        for name, value in zip(columns, values, strict=True)
    ]
    for name in names:
        if len(name.encode()) > _NAME_BYTES_MAX:
            raise TableError(
                f"a partition value is too long for a directory ({name[:60]}…): partition by a shorter column"
            )
    return "".join(f"{name}/" for name in names)


def escape(text: str) -> str:
    return "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in text)


def values_in(path: str, columns: Sequence[str]) -> Values:
    stated = dict(name.split("=", 1) for name in path.split("/")[:-1] if "=" in name)
    found = [stated.get(escape(column), _NULL_DIRECTORY) for column in columns]
    return tuple(None if value == _NULL_DIRECTORY else _unescape(value) for value in found)


def _unescape(text: str) -> str:
    return re.sub("%([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), text)
