"""Decodes change events of Debezium to rows of the table, with what happened to them.

A row has the columns of the table after the change. A deleted row has those before it, and where the source keeps only
the key, the others are null. Tombstones are skipped: the delete before them says the same.

    _op             c create, u update, d delete, r read in a snapshot, t truncate; of other events, if
                    `other_events` is `keep`: transaction, heartbeat, schema-change or message
    _order          text that orders the changes of a key (`positions`)
    _source         where the change comes from
    _before         the columns before the change, if `before` is set
    _transaction    id, total_order, data_collection_order, if `transaction` is set
    _event          other events as JSON, if `other_events` is `keep`
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from penstock.spark.decode.batch import Rejected, Skipped
from penstock.spark.decode.debezium.adapt import adapter
from penstock.spark.decode.debezium.events import Columns, Form, Message, make_form
from penstock.spark.decode.debezium.positions import order_of
from penstock.spark.decode.debezium.types import Convert, converted, json_text
from penstock.spark.decode.settings import DebeziumDecoder

OPERATIONS = ("c", "u", "d", "r", "t")
TRUNCATE = "t"
DELETE = "d"
OP = "_op"
ORDER = "_order"
SOURCE = "_source"
BEFORE = "_before"
TRANSACTION = "_transaction"
EVENT = "_event"
META_COLUMNS = (OP, ORDER, SOURCE, BEFORE, TRANSACTION, EVENT)

# Of all connectors; a connector that has not one of these leaves it null.
_SOURCE_FIELDS: Mapping[str, pa.DataType] = {
    "version": pa.string(),
    "connector": pa.string(),
    "name": pa.string(),
    "ts_ms": pa.int64(),
    "ts_us": pa.int64(),
    "snapshot": pa.string(),
    "db": pa.string(),
    "schema": pa.string(),
    "table": pa.string(),
    "sequence": pa.string(),
    "txId": pa.string(),
    "lsn": pa.int64(),
    "file": pa.string(),
    "pos": pa.int64(),
    "row": pa.int64(),
    "gtid": pa.string(),
    "server_id": pa.int64(),
    "thread": pa.int64(),
    "scn": pa.string(),
    "commit_scn": pa.string(),
    "commit_lsn": pa.string(),
    "change_lsn": pa.string(),
}
_TRANSACTION_FIELDS: Mapping[str, pa.DataType] = {
    "id": pa.string(),
    "total_order": pa.int64(),
    "data_collection_order": pa.int64(),
}


_PLACEHOLDER = b"__debezium_unavailable_value"
_UNAVAILABLE = (_PLACEHOLDER, _PLACEHOLDER.decode(), base64.b64encode(_PLACEHOLDER).decode())


def _struct(fields: Mapping[str, pa.DataType]) -> pa.DataType:
    return pa.struct([pa.field(name, kind) for name, kind in fields.items()])


class Row(msgspec.Struct, frozen=True):
    """What a record says: the meta columns, and the columns of the table."""

    meta: dict[str, Any]
    values: Mapping[str, Any] = {}


def meta_schema(settings: DebeziumDecoder, table: pa.Schema) -> list["pa.Field[Any]"]:
    fields = [
        pa.field(OP, pa.string()),
        pa.field(ORDER, pa.string()),
        pa.field(SOURCE, _struct(_SOURCE_FIELDS)),
    ]
    if settings.before:
        fields.append(pa.field(BEFORE, pa.struct(list(table))))
    if settings.transaction:
        fields.append(pa.field(TRANSACTION, _struct(_TRANSACTION_FIELDS)))
    if settings.other_events == "keep":
        fields.append(pa.field(EVENT, pa.string()))
    return fields


class DebeziumRows:
    """Reads records as rows with the columns of `table`. Pure except for the registry; created once for each task."""

    def __init__(self, settings: DebeziumDecoder, table: pa.Schema) -> None:
        self._settings = settings
        self._table = table
        self._form: Form = make_form(settings.registry_url)
        self._adapters: dict[int, tuple[Columns | None, dict[str, Convert]]] = {}

    def read(self, value: bytes | None, key: bytes | None, offset: int) -> Row:
        if value is None:
            raise Skipped
        message = self._form.read(value)
        fields = message.fields
        op = fields.get("op")
        if not message.is_change or op not in OPERATIONS:
            return self._other(message, offset)
        source = fields["source"] or {}
        meta = {
            OP: op,
            ORDER: order_of(source, fields.get("ts_ms"), offset),
            SOURCE: _texts(source, _SOURCE_FIELDS),
            TRANSACTION: _texts(fields.get("transaction"), _TRANSACTION_FIELDS),
        }
        if op == TRUNCATE:
            return Row(meta)
        before = self._values(fields.get("before"), message.columns)
        if self._settings.before:
            meta[BEFORE] = before
        if op != DELETE:
            return Row(meta, self._values(_row_after(fields), message.columns) or {})
        return Row(meta, {**(before or {}), **self._key_values(key)})

    def _other(self, message: Message, offset: int) -> Row:
        kind = kind_of_event(message)
        if kind is None:
            raise Rejected(
                "not an event of Debezium: it has neither `op` and `source`, nor the fields of another"
            )
        if self._settings.other_events != "keep":
            raise Skipped
        fields = message.fields
        source = fields.get("source")
        return Row(
            {
                OP: kind,
                ORDER: order_of(source or {}, fields.get("ts_ms"), offset),
                SOURCE: _texts(source, _SOURCE_FIELDS),
                EVENT: json_text(_printable(fields)),
            }
        )

    def _key_values(self, key: bytes | None) -> dict[str, Any]:
        if key is None:
            return {}
        try:
            message = self._form.read(key)
        except Rejected as reason:
            raise Rejected(f"key: {reason}") from None
        return self._values(message.fields, message.columns) or {}

    def _values(self, row: Mapping[str, Any] | None, columns: Columns | None) -> dict[str, Any] | None:
        if row is None:
            return None
        values = {}
        for name, convert in self._converts(columns).items():
            if name in row:
                try:
                    values[name] = converted(row[name], convert)
                except (ValueError, TypeError, OverflowError, KeyError, AttributeError) as error:
                    raise Rejected(f"{name}: {error}") from None
        return values

    def _converts(self, columns: Columns | None) -> dict[str, Convert]:
        """Return a function for each column of the table, for events with these columns."""
        known = self._adapters.get(id(columns))
        if known is None or known[0] is not columns:
            made = {
                field.name: adapter(None if columns is None else columns.get(field.name), field)
                for field in self._table
            }
            if len(self._adapters) > 1024:
                self._adapters.clear()
            known = self._adapters[id(columns)] = (columns, made)
        return known[1]


def _row_after(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the row after a change, with large values that did not change taken from the row before it."""
    after, before = fields.get("after"), fields.get("before") or {}
    if after is None:
        raise Rejected(f"an event of operation {fields['op']} without the row after it")
    missing = [name for name, value in after.items() if _is_unavailable(value)]
    for name in missing:
        if name not in before or _is_unavailable(before[name]):
            raise Rejected(
                f"{name}: the source did not send this large value, because it did not change: "
                "ALTER TABLE … REPLICA IDENTITY FULL makes it send all"
            )
        after = {**after, name: before[name]}
    return after


def _is_unavailable(value: Any) -> bool:
    return isinstance(value, str | bytes) and value in _UNAVAILABLE


def kind_of_event(message: Message) -> str | None:
    """Return the kind of an event that is not a change of a row."""
    fields = message.fields
    if fields.get("op") == "m":
        return "message"
    if "ddl" in fields or "tableChanges" in fields:
        return "schema-change"
    if "status" in fields and "id" in fields:
        return "transaction"
    return "heartbeat" if "ts_ms" in fields and "op" not in fields else None


def _texts(fields: Mapping[str, Any] | None, kinds: Mapping[str, pa.DataType]) -> dict[str, Any] | None:
    """Return the known fields; a number where text is expected, such as a transaction's id, becomes text."""
    if fields is None:
        return None
    return {
        name: str(each)
        if kind == pa.string() and (each := fields.get(name)) is not None
        else fields.get(name)
        for name, kind in kinds.items()
    }


def _printable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _printable(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_printable(each) for each in value]
    return value.hex() if isinstance(value, bytes) else value


def column_values(rows: Sequence[Row | None], name: str) -> list[Any]:
    if name in META_COLUMNS:
        return [None if row is None else row.meta.get(name) for row in rows]
    return [None if row is None else row.values.get(name) for row in rows]
