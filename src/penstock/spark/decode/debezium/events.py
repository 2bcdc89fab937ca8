"""Reads the bytes of an event: JSON with and without its schema, or Avro in Confluent's framing.

The schema that comes with each event is parsed once for each text or id.
"""

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import fastavro
import msgspec

from penstock.spark.decode.avro.rows import decode_body, parse_schema
from penstock.spark.decode.batch import DecoderError, Rejected
from penstock.spark.decode.debezium.avro import connect_schema, without_logical_types
from penstock.spark.decode.debezium.types import Column, columns_of, unbase64
from penstock.spark.decode.framing import split_frame
from penstock.spark.decode.schema_registry import RegisteredSchema, fetch_schema

_SCHEMAS_MAX = 256

Fields = dict[str, Any]
Columns = Mapping[str, Column]


class Message(msgspec.Struct, frozen=True):
    """A key or a value: its fields, and its schema of Connect, if it has one. An event has a row's columns too."""

    fields: Fields
    schema: Mapping[str, Any] | None = None
    columns: Columns | None = None  # of the row in `before` and `after`; of a key, its own

    @property
    def is_change(self) -> bool:
        return "op" in self.fields and "source" in self.fields


class Form(Protocol):
    """How keys and values are written. Each task has its own."""

    def read(self, value: bytes) -> Message: ...


def make_form(registry_url: str | None) -> Form:
    return JsonForm() if registry_url is None else AvroForm(registry_url)


class _WithSchema(msgspec.Struct):
    schema: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    payload: Any = msgspec.UNSET


class JsonForm:
    def __init__(self) -> None:
        self._peek = msgspec.json.Decoder(_WithSchema).decode
        self._parse = functools.lru_cache(maxsize=_SCHEMAS_MAX)(_parse_json_schema)

    def read(self, value: bytes) -> Message:
        try:
            found = self._peek(value)
            if found.schema is msgspec.UNSET or found.payload is msgspec.UNSET:
                fields = msgspec.json.decode(value)
                return Message(_checked(fields))
            schema = bytes(found.schema)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Rejected(f"not JSON of Debezium: {error}") from None
        if schema == b"null":
            return Message(_checked(found.payload))
        parsed, columns = self._parse(schema)
        return Message(_checked(found.payload), parsed, columns)


def _checked(fields: Any) -> Fields:
    if not isinstance(fields, dict):
        raise Rejected("not an event of Debezium: expected an object")
    return fields


def _parse_json_schema(text: bytes) -> tuple[Mapping[str, Any], Columns]:
    try:
        schema = json.loads(text)
        return schema, _row_columns(schema, unbase64)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Rejected(f"the schema of the event is wrong: {type(error).__name__}: {error}") from None


def _row_columns(schema: Mapping[str, Any], bytes_of: Callable[[Any], Any] | None) -> Columns:
    """Return the columns of the row in an event, or of a schema without `after` its own."""
    by_name = {field["field"]: field for field in schema.get("fields") or ()}
    row = by_name.get("after", by_name.get("before", schema) if "op" in by_name else schema)
    return columns_of(row, bytes_of)


class AvroForm:
    def __init__(self, registry_url: str) -> None:
        self._url = registry_url
        self._parse = functools.lru_cache(maxsize=_SCHEMAS_MAX)(self._parse_schema)

    def read(self, value: bytes) -> Message:
        schema_id, body = split_frame(value)
        raw, schema, columns = self._parse(schema_id)
        fields = decode_body(body, raw, None, f"schema {schema_id}")
        if not isinstance(fields, dict):
            raise Rejected("not an event of Debezium: expected a record")
        return Message(fields, schema, columns)

    def _parse_schema(self, schema_id: int) -> tuple[Any, Mapping[str, Any], Columns]:
        found = fetch_schema(self._url, schema_id)
        if found is None:
            raise Rejected(f"unknown schema id {schema_id}")
        return parse_avro(found)


def parse_avro(found: RegisteredSchema) -> tuple[Any, Mapping[str, Any], Columns]:
    """Return the schema to read bodies with, the schema of Connect, and the columns of the row."""
    try:
        named: dict[str, Any] = {}
        parse_schema(found, named=named)  # refuses what is dangerous to read
        kept: dict[str, Any] = {}
        texts = (*found.references, found.text)
        parsed: Any = [fastavro.parse_schema(json.loads(text), named_schemas=kept) for text in texts][-1]
        schema = connect_schema(parsed, kept)
        plain: dict[str, Any] = {}
        for text in texts:
            raw = fastavro.parse_schema(without_logical_types(json.loads(text)), named_schemas=plain)
    except (DecoderError, ValueError, KeyError, TypeError) as error:
        raise Rejected(f"the schema cannot be used: {error}") from None
    return raw, schema, _row_columns(schema, None)
