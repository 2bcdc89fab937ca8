"""Maps the types of Kafka Connect, with Debezium's names for their meaning, to columns. Pure.

A schema of Connect is a mapping: `type`, `name` (the meaning), `parameters`, `optional`, `fields`, `items`. Avro's
schemas become such mappings first (`avro`). Times of day and numbers without a fixed scale become text, because no
column type holds all of their values; timestamps without a time zone become TIMESTAMP_NTZ.
"""

import base64
import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa

from penstock.spark.decode.batch import Rejected

Convert = Callable[[Any], Any] | None  # None: the value stays
Schema = Mapping[str, Any]

DECIMAL_PRECISION_MAX = 38
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - a time without a zone
_EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_DAY_ONE = dt.date(1970, 1, 1)
_INSTANT = pa.timestamp("us", "UTC")
_LOCAL = pa.timestamp("us")

_SIMPLE: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "float32": pa.float32(),
    "double": pa.float64(),
    "float64": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}


class Column(msgspec.Struct, frozen=True):
    """The type of a column, and the function from a value in an event to one that Arrow accepts."""

    kind: pa.DataType
    convert: Convert = None


# -- values


def date_of_days(days: int) -> dt.date:
    return _DAY_ONE + dt.timedelta(days=days)


def local_time(microseconds: int) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=microseconds)


def instant(microseconds: int) -> dt.datetime:
    return _EPOCH_UTC + dt.timedelta(microseconds=microseconds)


def time_text(microseconds: int) -> str:
    """Return `12:34:56` or `12:34:56.789000`; MySQL has negative times and more than 24 hours."""
    sign, microseconds = ("-", -microseconds) if microseconds < 0 else ("", microseconds)
    seconds, rest = divmod(microseconds, 1_000_000)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{rest:06}" if rest else text


def parse_instant(text: str) -> dt.datetime:
    parsed = dt.datetime.fromisoformat(_six_digits(text))
    return parsed.replace(tzinfo=dt.UTC) if parsed.tzinfo is None else parsed


def parse_local(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(_six_digits(text)).replace(tzinfo=None)


def _six_digits(text: str) -> str:
    """Cut nanoseconds off, which Python does not read."""
    head, dot, rest = text.partition(".")
    digits = len(rest) - len(rest.lstrip("0123456789"))
    return f"{head}{dot}{rest[: min(digits, 6)]}{rest[digits:]}" if dot else text


def decimal_of(unscaled: bytes, scale: int) -> Decimal:
    # The constructor is exact; arithmetic would round to the context's precision.
    number = int.from_bytes(unscaled, "big", signed=True)
    digits = tuple(int(digit) for digit in str(abs(number)))
    return Decimal((int(number < 0), digits, -scale))


def _by(unit: Callable[[int], Any], factor: int = 1, divisor: int = 1) -> Convert:
    return lambda value: unit(value * factor // divisor)


def _local_date(text: str) -> dt.date:
    return dt.date.fromisoformat(text[:10])


_CONNECT = "org.apache.kafka.connect.data."
_TIME = "io.debezium.time."
_NAMED: Mapping[str, Column] = {
    f"{_CONNECT}Date": Column(pa.date32(), date_of_days),
    f"{_CONNECT}Time": Column(pa.string(), _by(time_text, 1_000)),
    f"{_CONNECT}Timestamp": Column(_INSTANT, _by(instant, 1_000)),
    f"{_TIME}Date": Column(pa.date32(), date_of_days),
    f"{_TIME}Time": Column(pa.string(), _by(time_text, 1_000)),
    f"{_TIME}MicroTime": Column(pa.string(), _by(time_text)),
    f"{_TIME}NanoTime": Column(pa.string(), _by(time_text, 1, 1_000)),
    f"{_TIME}Timestamp": Column(_LOCAL, _by(local_time, 1_000)),
    f"{_TIME}MicroTimestamp": Column(_LOCAL, local_time),
    f"{_TIME}NanoTimestamp": Column(_LOCAL, _by(local_time, 1, 1_000)),
    f"{_TIME}ZonedTimestamp": Column(_INSTANT, parse_instant),
    f"{_TIME}IsoDate": Column(pa.date32(), _local_date),
    f"{_TIME}IsoTimestamp": Column(_LOCAL, parse_local),
    "timestamp-micros": Column(_INSTANT, instant),
    "local-timestamp-millis": Column(_LOCAL, _by(local_time, 1_000)),
    "local-timestamp-micros": Column(_LOCAL, local_time),
    "time-micros": Column(pa.string(), _by(time_text)),
}


# -- schemas


def column_of(schema: Schema, bytes_of: Convert = None) -> Column:
    """Return the column of a schema of Connect. `bytes_of` reads binary values: in JSON they are base64."""
    name, kind = str(schema.get("name")), str(schema.get("type"))
    if name == f"{_CONNECT}Decimal" and kind == "bytes":
        return _decimal_column(schema.get("parameters") or {}, bytes_of)
    if name == "io.debezium.data.VariableScaleDecimal":
        return Column(pa.string(), _variable_scale(bytes_of))
    if name in _NAMED:
        return _NAMED[name]
    if kind == "struct":
        return _struct_column(schema, bytes_of)
    if kind == "array":
        return _list_column(column_of(schema["items"], bytes_of))
    if kind == "map":
        return _map_column(schema, bytes_of)
    if kind == "bytes":
        return Column(pa.binary(), bytes_of)
    if kind not in _SIMPLE:
        raise Rejected(f"the schema of the event has the unknown type {kind}")
    return Column(_SIMPLE[kind])


def columns_of(schema: Schema, bytes_of: Convert = None) -> dict[str, Column]:
    return {field["field"]: column_of(field, bytes_of) for field in schema.get("fields") or ()}


def unbase64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _decimal_column(parameters: Mapping[str, str], bytes_of: Convert) -> Column:
    scale = int(parameters.get("scale", 0))
    precision = min(int(parameters.get("connect.decimal.precision", 0)), DECIMAL_PRECISION_MAX)
    if not 0 <= scale <= DECIMAL_PRECISION_MAX:
        return Column(pa.string(), lambda value: str(decimal_of(_bytes(value, bytes_of), scale)))
    kind = pa.decimal128(max(precision, scale) or DECIMAL_PRECISION_MAX, scale)
    return Column(kind, lambda value: decimal_of(_bytes(value, bytes_of), scale))


def _variable_scale(bytes_of: Convert) -> Convert:
    return lambda value: f"{decimal_of(_bytes(value['value'], bytes_of), value['scale']):f}"


def _bytes(value: Any, bytes_of: Convert) -> bytes:
    raw: bytes = value if bytes_of is None else bytes_of(value)
    return raw


def _struct_column(schema: Schema, bytes_of: Convert) -> Column:
    inner = columns_of(schema, bytes_of)
    kind = pa.struct([pa.field(name, column.kind) for name, column in inner.items()])
    converts = {name: column.convert for name, column in inner.items()}
    if not any(converts.values()):
        return Column(kind)
    return Column(
        kind, lambda value: {name: converted(value.get(name), each) for name, each in converts.items()}
    )


def _list_column(inner: Column) -> Column:
    kind, convert = pa.list_(inner.kind), inner.convert
    return Column(
        kind, None if convert is None else lambda value: [converted(each, convert) for each in value]
    )


def _map_column(schema: Schema, bytes_of: Convert) -> Column:
    keys, values = column_of(schema["keys"], bytes_of), column_of(schema["values"], bytes_of)

    def pairs(value: Any) -> list[tuple[Any, Any]]:
        found: Sequence[Any] = list(value.items()) if isinstance(value, dict) else value
        return [(converted(key, keys.convert), converted(each, values.convert)) for key, each in found]

    return Column(pa.map_(keys.kind, values.kind), pairs)


def converted(value: Any, convert: Convert) -> Any:
    return value if value is None or convert is None else convert(value)


# -- events without a schema


def infer_column(value: Any) -> Column | None:
    """Return the column of a value in JSON; None: the value does not show it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return Column(pa.bool_())
    if isinstance(value, int):
        return Column(pa.int64()) if -(1 << 63) <= value < 1 << 63 else Column(pa.string(), str)
    if isinstance(value, float):
        return Column(pa.float64())
    if isinstance(value, str):
        return Column(pa.string())
    return Column(pa.string(), json_text)  # its fields differ from event to event


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
