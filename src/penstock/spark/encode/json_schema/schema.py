"""Infers a JSON Schema (draft 7) from the type of a column. No I/O."""

from typing import Any

import pyarrow as pa
from pyarrow import types

from penstock.spark.encode.batch import EncoderError, joined

DRAFT = "http://json-schema.org/draft-07/schema#"
_SIMPLE: tuple[tuple[Any, dict[str, Any]], ...] = (
    (types.is_boolean, {"type": "boolean"}),
    (types.is_signed_integer, {"type": "integer"}),
    (types.is_floating, {"type": "number"}),
    (types.is_decimal, {"type": "number"}),
    (types.is_string, {"type": "string"}),
    (types.is_large_string, {"type": "string"}),
    (types.is_binary, {"type": "string", "contentEncoding": "base64"}),
    (types.is_large_binary, {"type": "string", "contentEncoding": "base64"}),
    (types.is_date32, {"type": "string", "format": "date"}),
)


def infer_schema(kind: pa.DataType, title: str) -> dict[str, Any]:
    return {"$schema": DRAFT, "title": title or "Row", **describe_type(kind, "")}


def describe_type(kind: pa.DataType, path: str) -> dict[str, Any]:
    for matches, described in _SIMPLE:
        if matches(kind):
            return dict(described)
    if isinstance(kind, pa.TimestampType):
        return {"type": "string", "format": "date-time"} if kind.tz is not None else {"type": "string"}
    if isinstance(kind, pa.StructType):
        properties = {field.name: _field(field, joined(path, field.name)) for field in kind}
        required = [field.name for field in kind if not field.nullable]
        described = {"type": "object", "properties": properties, "additionalProperties": False}
        return {**described, "required": required} if required else described
    if isinstance(kind, pa.ListType | pa.LargeListType):
        return {"type": "array", "items": _field(kind.value_field, f"{path}[]")}
    if isinstance(kind, pa.MapType) and types.is_string(kind.key_type):
        return {"type": "object", "additionalProperties": _field(kind.item_field, f"{path}{{}}")}
    raise EncoderError(f"column {path}: {kind} has no type in JSON; cast it")


def _field(field: "pa.Field[Any]", path: str) -> dict[str, Any]:
    described = describe_type(field.type, path)
    return {**described, "type": [described["type"], "null"]} if field.nullable else described
