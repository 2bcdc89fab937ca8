"""Maps Avro schemas to types of Arrow. No I/O.

A union with null is a nullable column; a union of int and long is long, of float and double is double. Other unions
have no column type: a reader schema can leave the field out. Of the logical types, timestamps, dates and decimals are
mapped to Arrow's; others keep the type that they are written as.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from penstock.spark.decode.batch import DecoderError

_PRIMITIVE: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL: dict[str, pa.DataType] = {
    "date": pa.date32(),
    "timestamp-millis": pa.timestamp("us", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "local-timestamp-millis": pa.timestamp("us"),
    "local-timestamp-micros": pa.timestamp("us"),
}
_WIDER = {frozenset({"int", "long"}): "long", frozenset({"float", "double"}): "double"}


def row_schema(schema: Any) -> pa.Schema:
    """Return the columns of a record schema in fastavro's expanded form, in which only recursive types are names."""
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise DecoderError("the Avro schema is not a record: use a record, whose fields become columns")
    return pa.schema(_record(schema, ""))


def keep_supported_logical_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [keep_supported_logical_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: keep_supported_logical_types(value) if key in ("type", "fields", "items", "values") else value
        for key, value in schema.items()
    }
    if kept.get("logicalType") not in (None, "decimal", *_LOGICAL):
        del kept["logicalType"]
    return kept


def refuse_zero_size_items(schema: Any, named: Mapping[str, Any]) -> None:
    """Refuse arrays of zero-byte items: a record of ten bytes could have enough of them to fill the memory."""
    if isinstance(schema, list):
        for each in schema:
            refuse_zero_size_items(each, named)
    elif isinstance(schema, dict):
        if schema["type"] == "array" and _has_zero_size(schema["items"], named, frozenset()):
            raise DecoderError(
                "an array of zero-byte items is not supported: leave it out in a `reader_schema`"
            )
        for field in schema.get("fields", ()):
            refuse_zero_size_items(field["type"], named)
        for inner in ("items", "values"):
            refuse_zero_size_items(schema.get(inner), named)


def _has_zero_size(schema: Any, named: Mapping[str, Any], within: frozenset[str]) -> bool:
    if isinstance(schema, str):
        if schema in within:
            return True
        return schema == "null" or (
            schema in named and _has_zero_size(named[schema], named, within | {schema})
        )
    if isinstance(schema, list):
        return False  # a union has at least its index byte
    if schema["type"] == "record":
        inside = within | {schema["name"]}
        return all(_has_zero_size(field["type"], named, inside) for field in schema["fields"])
    if schema["type"] == "fixed":
        return not schema["size"]
    return bool(schema["type"] == "null")


def _record(schema: Mapping[str, Any], path: str) -> "list[pa.Field[Any]]":
    if not schema["fields"]:
        raise DecoderError(f"{path or schema['name']}: a record without fields has no columns")
    columns: list[pa.Field[Any]] = []
    for field in schema["fields"]:
        inner = f"{path}.{field['name']}" if path else field["name"]
        kind, nullable = _nullable_type(field["type"], inner)
        columns.append(pa.field(field["name"], kind, nullable))
    return columns


def _nullable_type(schema: Any, path: str) -> tuple[pa.DataType, bool]:
    if not isinstance(schema, list):
        return _type(schema, path), False
    members = [each for each in schema if each != "null"]
    nullable = len(members) < len(schema)
    if len(members) == 1:
        return _type(members[0], path), nullable
    primitives = frozenset(each for each in members if isinstance(each, str))
    if len(primitives) == len(members) and primitives in _WIDER:
        return _PRIMITIVE[_WIDER[primitives]], nullable
    names = " and ".join(str(each if isinstance(each, str) else each.get("type")) for each in members)
    raise DecoderError(f"{path}: a union of {names} has no column type; leave it out in a `reader_schema`")


def _type(schema: Any, path: str) -> pa.DataType:
    if isinstance(schema, str):
        if schema in _PRIMITIVE:
            return _PRIMITIVE[schema]
        wrong = (
            "alone has no column type"
            if schema == "null"
            else "is recursive: leave the field out in a `reader_schema`"
        )
        raise DecoderError(f"{path}: {schema} {wrong}")
    kind = schema["type"]
    logical = schema.get("logicalType")
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if logical == "decimal":
        return pa.decimal128(schema["precision"], schema.get("scale", 0))
    if kind == "record":
        return pa.struct(_record(schema, path))
    if kind == "fixed" and not schema["size"]:
        raise DecoderError(f"{path}: a `fixed` of zero bytes has no column type")
    if kind in ("enum", "fixed"):
        return pa.string() if kind == "enum" else pa.binary()
    if kind == "array":
        element, nullable = _nullable_type(schema["items"], f"{path}[]")
        return pa.list_(pa.field("element", element, nullable))
    if kind == "map":
        value, nullable = _nullable_type(schema["values"], f"{path}{{}}")
        item: Any = pa.field("value", value, nullable)
        made: pa.DataType = pa.map_(pa.string(), item)
        return made
    return _type(kind, path)
