"""Describes change events without decoding their rows: for tables whose columns are not known before a batch is read.

_op, _order     as in `rows`
_columns        the columns of the row, as JSON of Spark's types
_key            the names of the key's columns, as a list in JSON; null for an event without a key
"""

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 - the name that all Spark code has for it
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.spark.decode.batch import Rejected, Skipped
from penstock.spark.decode.debezium.events import Columns, Form, Message, make_form
from penstock.spark.decode.debezium.positions import order_of
from penstock.spark.decode.debezium.rows import OP, OPERATIONS, ORDER, kind_of_event
from penstock.spark.decode.debezium.types import infer_column
from penstock.spark.decode.settings import DebeziumDecoder

COLUMNS = "_columns"
KEY = "_key"
_NAMES = (OP, ORDER, COLUMNS, KEY)
_SCHEMAS_MAX = 1024


class ChangesOfManyTables(DebeziumDecoder, frozen=True):
    """The decoder of a source whose topics become tables of their own."""

    module = "penstock.spark.decode.debezium.peek"


def row_decoder(settings: DebeziumDecoder, directory: str) -> "PeekDecoder":  # noqa: ARG001 - no files
    return PeekDecoder(settings)


class PeekDecoder:
    allows_null = False
    reads_records = True

    def __init__(self, settings: DebeziumDecoder) -> None:
        self._registry_url = settings.registry_url
        self.schema = T.StructType([T.StructField(name, T.StringType()) for name in _NAMES])

    def reader(self) -> Callable[..., tuple[str | None, ...]]:
        form = make_form(self._registry_url)
        return lambda value, key, offset: _describe(form, value, key, offset)

    def column(self, rows: Sequence[Any], index: int) -> list[Any]:
        return [None if row is None else row[index] for row in rows]


def _describe(form: Form, value: bytes | None, key: bytes | None, offset: int) -> tuple[str | None, ...]:
    if value is None:
        raise Skipped
    message = form.read(value)
    fields = message.fields
    if not message.is_change or fields["op"] not in OPERATIONS:
        if kind_of_event(message) is None:
            raise Rejected(
                "not an event of Debezium: it has neither `op` and `source`, nor the fields of another"
            )
        raise Skipped
    order = order_of(fields["source"] or {}, fields.get("ts_ms"), offset)
    names = None if key is None else json.dumps(list(form.read(key).fields))
    return fields["op"], order, columns_of_message(message), names


def columns_of_message(message: Message) -> str | None:
    """Return the columns of the event's row; without a schema, of those that are not null."""
    if message.columns is not None:
        return _json_of_columns(_Identity(message.columns))
    kinds: dict[str, pa.DataType] = {}
    for row in (message.fields.get("before"), message.fields.get("after")):
        for name, value in (row or {}).items():
            if (column := infer_column(value)) is not None:
                kinds[name] = column.kind
    return _json(tuple(kinds.items())) if kinds else None


class _Identity:
    """The columns of a parsed schema, of which there is one object for each schema."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    def __hash__(self) -> int:
        return id(self.columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.columns is self.columns


@functools.lru_cache(maxsize=_SCHEMAS_MAX)
def _json_of_columns(found: _Identity) -> str:
    return _json(tuple((name, column.kind) for name, column in found.columns.items()))


@functools.lru_cache(maxsize=_SCHEMAS_MAX)
def _json(kinds: tuple[tuple[str, pa.DataType], ...]) -> str:
    return json_of_arrow(pa.schema([pa.field(name, kind) for name, kind in kinds]))


def json_of_arrow(schema: pa.Schema) -> str:
    return str(from_arrow_schema(schema, prefer_timestamp_ntz=True).json())
