"""Reads Avro's schemas as schemas of Connect: converters keep Connect's names in `connect.name`. Pure."""

from collections.abc import Mapping
from typing import Any

from penstock.spark.decode.batch import Rejected

_CONNECT = "org.apache.kafka.connect.data."
_TYPES = {"int": "int32", "long": "int64", "enum": "string", "fixed": "bytes"}
_LOGICAL = {
    "date": f"{_CONNECT}Date",
    "time-millis": f"{_CONNECT}Time",
    "timestamp-millis": f"{_CONNECT}Timestamp",
    "decimal": f"{_CONNECT}Decimal",
}
_KEPT_LOGICAL = ("timestamp-micros", "local-timestamp-millis", "local-timestamp-micros", "time-micros")


def connect_schema(schema: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of Connect; `named` has the types of the Avro schema that have names."""
    if isinstance(schema, list):
        members = [each for each in schema if each != "null"]
        if len(members) != 1:
            raise Rejected("the schema of the event has a union of several types")
        return connect_schema(members[0], named)
    if isinstance(schema, str):
        if schema in named:
            return connect_schema(named[schema], named)
        return {"type": _TYPES.get(schema, schema)}
    kind = schema["type"]
    if isinstance(kind, dict | list):
        return connect_schema(kind, named)
    made: dict[str, Any] = {"type": schema.get("connect.type") or _TYPES.get(kind, kind)}
    logical = schema.get("logicalType")
    name = (
        schema.get("connect.name") or _LOGICAL.get(logical) or (logical if logical in _KEPT_LOGICAL else None)
    )
    if name is not None:
        made["name"] = name
    parameters = dict(schema.get("connect.parameters") or {})
    if logical == "decimal":
        parameters.setdefault("scale", schema.get("scale", 0))
        parameters.setdefault("connect.decimal.precision", schema.get("precision", 0))
    made["parameters"] = parameters
    if kind == "record":
        made["type"] = "struct"
        made["fields"] = [
            {**connect_schema(field["type"], named), "field": field["name"]} for field in schema["fields"]
        ]
    elif kind == "array":
        made["items"] = connect_schema(schema["items"], named)
    elif kind == "map":
        made["keys"] = {"type": "string"}
        made["values"] = connect_schema(schema["values"], named)
    return made


def without_logical_types(schema: Any) -> Any:
    """Return the schema without logical types: values are then read as they are written, as in JSON."""
    if isinstance(schema, list):
        return [without_logical_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = ("type", "fields", "items", "values")
    return {
        key: without_logical_types(value) if key in inner else value
        for key, value in schema.items()
        if key != "logicalType"
    }
