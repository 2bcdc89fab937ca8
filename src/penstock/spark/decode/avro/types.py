"""Maps Avro schemas to Spark types. No I/O.

A union with null is a nullable column; a union of int and long is long, of float and double is double. Other unions
have no column type: a reader schema can leave the field out. Of the logical types, timestamps, dates and decimals are
mapped to Spark's; others keep the type that they are written as.
"""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import types as T  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.decode.batch import DecoderError

_PRIMITIVE: dict[str, T.DataType] = {
    "boolean": T.BooleanType(),
    "int": T.IntegerType(),
    "long": T.LongType(),
    "float": T.FloatType(),
    "double": T.DoubleType(),
    "bytes": T.BinaryType(),
    "string": T.StringType(),
}
_LOGICAL: dict[str, T.DataType] = {
    "date": T.DateType(),
    "timestamp-millis": T.TimestampType(),
    "timestamp-micros": T.TimestampType(),
    "local-timestamp-millis": T.TimestampNTZType(),
    "local-timestamp-micros": T.TimestampNTZType(),
}
_WIDER = {frozenset({"int", "long"}): "long", frozenset({"float", "double"}): "double"}


def row_schema(schema: Any) -> T.StructType:
    """Return the columns of a record schema in fastavro's expanded form, in which only recursive types are names."""
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise DecoderError("the Avro schema is not a record: use a record, whose fields become columns")
    return _record(schema, "")


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


def _record(schema: Mapping[str, Any], path: str) -> T.StructType:
    if not schema["fields"]:
        raise DecoderError(f"{path or schema['name']}: a record without fields has no columns")
    columns = T.StructType()
    for field in schema["fields"]:
        inner = f"{path}.{field['name']}" if path else field["name"]
        kind, nullable = _nullable_type(field["type"], inner)
        columns.add(field["name"], kind, nullable)
    return columns


def _nullable_type(schema: Any, path: str) -> tuple[T.DataType, bool]:
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


def _type(schema: Any, path: str) -> T.DataType:
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
        return T.DecimalType(schema["precision"], schema.get("scale", 0))
    if kind == "record":
        return _record(schema, path)
    if kind == "fixed" and not schema["size"]:
        raise DecoderError(f"{path}: a `fixed` of zero bytes has no column type")
    if kind in ("enum", "fixed"):
        return T.StringType() if kind == "enum" else T.BinaryType()
    if kind == "array":
        element, nullable = _nullable_type(schema["items"], f"{path}[]")
        return T.ArrayType(element, nullable)
    if kind == "map":
        value, nullable = _nullable_type(schema["values"], f"{path}{{}}")
        return T.MapType(T.StringType(), value, nullable)
    return _type(kind, path)
