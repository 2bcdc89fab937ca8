"""The row decoder of change events, for `decode.frames`."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 - the name that all Spark code has for it
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from penstock.spark.decode.batch import DecoderError
from penstock.spark.decode.debezium.adapt import COMMENT
from penstock.spark.decode.debezium.rows import META_COLUMNS, DebeziumRows, Row, column_values, meta_schema
from penstock.spark.decode.json.rows import parse_ddl
from penstock.spark.decode.settings import DebeziumDecoder


def row_decoder(settings: DebeziumDecoder, directory: str) -> "DebeziumRowDecoder":  # noqa: ARG001 - no files
    if settings.schema is None:
        raise DecoderError(
            "debezium: the columns are not known, because the topic has no events yet, or no broker was asked: "
            'declare them with `schema: "id INT, name STRING"`'
        )
    return DebeziumRowDecoder(settings, table_of_ddl(settings.schema))


def table_of_ddl(ddl: str) -> pa.Schema:
    parsed = parse_ddl(ddl)
    comments = [(field.metadata or {}).get("comment") for field in parsed.fields]
    schema = to_arrow_schema(parsed, timezone="UTC")
    return pa.schema(
        [
            field.with_nullable(True).with_metadata({COMMENT: (comment or "").encode()})
            for field, comment in zip(schema, comments, strict=True)
        ]
    )


class DebeziumRowDecoder:
    allows_null = False
    reads_records = True

    def __init__(self, settings: DebeziumDecoder, table: pa.Schema) -> None:
        taken = [name for name in table.names if name in META_COLUMNS]
        if taken:
            raise DecoderError(f"debezium: the column {taken[0]} has a name that Penstock uses itself")
        self._settings = settings
        self._table = table
        # Spark has no metadata of Arrow's fields.
        plain = [field.remove_metadata() for field in table]
        self._columns = pa.schema([*plain, *meta_schema(settings, pa.schema(plain))])

    @property
    def schema(self) -> T.StructType:
        return from_arrow_schema(self._columns, prefer_timestamp_ntz=True)

    def reader(self) -> Callable[..., Row]:
        return DebeziumRows(self._settings, self._table).read

    def column(self, rows: Sequence[Any], index: int) -> list[Any]:
        return column_values(rows, self._columns.names[index])
