"""Infers an Avro schema from the type of a column. No I/O.

A column that may be null is a union with null, with null as its default, so that readers of a newer schema can read
older records. Records inside are named after their field.
"""

import re
from typing import Any

import pyarrow as pa
from pyarrow import types

from penstock.spark.encode.batch import EncoderError, joined

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PRIMITIVE = (
    (types.is_boolean, "boolean"),
    (types.is_int8, "int"),
    (types.is_int16, "int"),
    (types.is_int32, "int"),
    (types.is_int64, "long"),
    (types.is_float32, "float"),
    (types.is_float64, "double"),
    (types.is_string, "string"),
    (types.is_large_string, "string"),
    (types.is_binary, "bytes"),
    (types.is_large_binary, "bytes"),
)


def infer_schema(kind: pa.DataType, name: str) -> Any:
    """Return the schema of a value that is never null: a null value is a record without one."""
    return _type(kind, avro_name(name), "")


def avro_name(text: str) -> str:
    """Turn the name of a topic into a name of Avro; dots separate namespaces."""
    parts = [re.sub(r"\W", "_", part, flags=re.ASCII) for part in text.split(".") if part]
    return ".".join(f"_{part}" if part[0].isdecimal() else part for part in parts) or "Row"


def _type(kind: pa.DataType, name: str, path: str) -> Any:
    for matches, avro in _PRIMITIVE:
        if matches(kind):
            return avro
    if types.is_date32(kind):
        return {"type": "int", "logicalType": "date"}
    if isinstance(kind, pa.TimestampType):
        logical = "local-timestamp-micros" if kind.tz is None else "timestamp-micros"
        return {"type": "long", "logicalType": logical}
    if isinstance(kind, pa.Decimal128Type):
        scale = {"scale": kind.scale} if kind.scale else {}
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, **scale}
    if isinstance(kind, pa.StructType):
        return _record(kind, name, path)
    if isinstance(kind, pa.ListType | pa.LargeListType):
        return {"type": "array", "items": _field_type(kind.value_field, f"{name}_item", f"{path}[]")}
    if isinstance(kind, pa.MapType) and types.is_string(kind.key_type):
        return {"type": "map", "values": _field_type(kind.item_field, f"{name}_value", f"{path}{{}}")}
    raise EncoderError(f"column {path}: {kind} has no type in Avro; cast it")


def _record(kind: pa.StructType, name: str, path: str) -> Any:
    fields = []
    for field in kind:
        inner = joined(path, field.name)
        if not _NAME.fullmatch(field.name):
            raise EncoderError(f"column {inner}: not a name in Avro: rename it to letters, digits and _")
        entry = {"name": field.name, "type": _field_type(field, f"{name}_{field.name}", inner)}
        fields.append({**entry, "default": None} if field.nullable else entry)
    return {"type": "record", "name": name, "fields": fields}


def _field_type(field: "pa.Field[Any]", name: str, path: str) -> Any:
    inner = _type(field.type, name, path)
    return ["null", inner] if field.nullable else inner
