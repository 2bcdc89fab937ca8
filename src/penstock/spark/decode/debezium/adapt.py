"""Fits a value of an event to the type of a column. Pure.

Where the event has a schema, that says what the value means; the column may be wider, or text. Where it has none, the
column says it: binary is base64, a date is days, and a timestamp says its unit in its comment (`epoch ms`, `epoch us`
or `epoch ns`; text is ISO 8601). A decimal is a number, or text with one; with the comment `base64`, the bytes of
Debezium's precise form.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyarrow import types

from penstock.spark.decode.debezium.types import (
    Column,
    Convert,
    converted,
    date_of_days,
    decimal_of,
    instant,
    json_text,
    local_time,
    parse_instant,
    parse_local,
    unbase64,
)

COMMENT = b"comment"
_UNITS: Mapping[str, tuple[int, int]] = {"epoch ms": (1_000, 1), "epoch us": (1, 1), "epoch ns": (1, 1_000)}


def adapter(found: Column | None, field: "pa.Field[Any]") -> Convert:
    """Return the function from a value in an event to one for the field; `found` has its column in the event."""
    if found is None:
        comment = (field.metadata or {}).get(COMMENT, b"").decode()
        return _from_json(field.type, comment)
    if found.kind == field.type or not _is_text(field.type) or _is_text(found.kind):
        return found.convert
    return lambda value: _text_of(converted(value, found.convert))


def _is_text(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind))


def _text_of(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return json_text(value) if isinstance(value, dict | list) else str(value)


def _from_json(kind: pa.DataType, comment: str) -> Convert:
    if _is_text(kind):
        return lambda value: value if isinstance(value, str) else _text_of(value)
    if types.is_binary(kind):
        return unbase64
    if types.is_date32(kind):
        return lambda value: (
            date_of_days(value) if isinstance(value, int) else dt.date.fromisoformat(value[:10])
        )
    if isinstance(kind, pa.TimestampType):
        return _time_reader(kind, comment)
    if isinstance(kind, pa.Decimal128Type):
        return _decimal_reader(kind, comment)
    if isinstance(kind, pa.ListType):
        inner = _from_json(kind.value_type, "")
        return None if inner is None else lambda value: [converted(each, inner) for each in value]
    if isinstance(kind, pa.StructType):
        inners = {field.name: _from_json(field.type, "") for field in kind}
        return lambda value: {name: converted(value.get(name), each) for name, each in inners.items()}
    if isinstance(kind, pa.MapType):
        of_item = _from_json(kind.item_type, "")
        return lambda value: [(name, converted(each, of_item)) for name, each in value.items()]
    return None


def _time_reader(kind: pa.TimestampType, comment: str) -> Callable[[Any], dt.datetime]:
    parse: Callable[[str], dt.datetime] = parse_local if kind.tz is None else parse_instant
    make: Callable[[int], dt.datetime] = local_time if kind.tz is None else instant

    def read(value: Any) -> dt.datetime:
        if isinstance(value, str):
            return parse(value)
        if comment not in _UNITS:
            raise ValueError(
                f"{value} has no unit: declare the column with COMMENT 'epoch ms', 'epoch us' or 'epoch ns'"
            )
        factor, divisor = _UNITS[comment]
        return make(value * factor // divisor)

    return read


def _decimal_reader(kind: pa.Decimal128Type, comment: str) -> Callable[[Any], Decimal]:
    if comment == "base64":
        return lambda value: decimal_of(unbase64(value), kind.scale)

    def read(value: Any) -> Decimal:
        try:
            return Decimal(str(value))
        except ArithmeticError:
            raise ValueError(
                f"`{value}` is no number: for Debezium's precise decimals declare the column with COMMENT 'base64'"
            ) from None

    return read
