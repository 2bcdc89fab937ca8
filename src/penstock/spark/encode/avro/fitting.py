"""Fits the type of a column to an Avro schema. No I/O.

`fit` refuses types that never fit, and returns a function that prepares each value for fastavro and refuses those that
do not fit: fastavro itself writes a number that is too large, and null as false. None: values need no preparation.
A column is written only as a type that holds all of it, except that a long may become an int (checked for each value)
and microseconds become milliseconds (the rest is cut off).
"""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import types

from penstock.spark.encode.batch import EncoderError, joined, refuse_null, refuse_value

Prepare = Callable[[Any], Any] | None

_INT_MIN, _INT_MAX = -(1 << 31), (1 << 31) - 1
_SMALL = (types.is_int8, types.is_int16)
_INTEGERS = (*_SMALL, types.is_int32, types.is_int64)
_TEXT = (types.is_string, types.is_large_string)
_BYTES = (types.is_binary, types.is_large_binary)
_ACCEPTED: Mapping[str, tuple[Callable[[pa.DataType], bool], ...]] = {
    "boolean": (types.is_boolean,),
    "int": _INTEGERS,
    "long": _INTEGERS,
    "float": (types.is_float32, *_SMALL),
    "double": (types.is_float64, types.is_float32, *_SMALL, types.is_int32),
    "string": _TEXT,
    "enum": _TEXT,
    "bytes": _BYTES,
    "fixed": _BYTES,
}
_NARROW = ("int", "float", "enum", "fixed")  # of a union, tried last


class _Misfit(EncoderError):
    """The types do not fit; another branch of a union may."""


class Fitting:
    """`named` has the records, enums and fixed types of the schema by their full names."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._open: list[str] = []

    def fit(self, kind: pa.DataType, schema: Any, path: str = "", *, nullable: bool) -> Prepare:
        """Return a function for the values; `nullable` says whether there may be nulls among them."""
        if isinstance(schema, list):
            return self._fit_union(kind, schema, path, nullable=nullable)
        inner = self._fit_type(kind, schema, path)
        if not nullable:
            return inner

        def prepare(value: Any) -> Any:
            if value is None:
                raise refuse_null(path)
            return value if inner is None else inner(value)

        return prepare

    def _fit_union(self, kind: pa.DataType, schema: list[Any], path: str, *, nullable: bool) -> Prepare:
        members = sorted((each for each in schema if each != "null"), key=_is_narrow)
        misfits = []
        for member in members:
            try:
                inner = self.fit(kind, member, path, nullable=nullable and "null" not in schema)
            except _Misfit as misfit:
                misfits.append(misfit)
                continue
            return None if inner is None else _or_null(inner)
        if types.is_null(kind) and "null" in schema:
            return None
        raise misfits[0] if len(misfits) == 1 else self._misfit(kind, schema, path)

    def _fit_type(self, kind: pa.DataType, schema: Any, path: str) -> Prepare:
        if isinstance(schema, str) and schema in self._named:
            if schema in self._open:
                raise EncoderError(f"column {path}: {schema} is recursive, which Spark's columns cannot be")
            schema = self._named[schema]
        described = schema if isinstance(schema, dict) else {"type": schema}
        name, logical = described["type"], described.get("logicalType")
        if isinstance(name, dict | list):
            return self.fit(kind, name, path, nullable=False)
        if name == "record" and isinstance(kind, pa.StructType):
            return self._fit_record(kind, described, path)
        if name == "array" and isinstance(kind, pa.ListType | pa.LargeListType):
            field = kind.value_field
            items = self.fit(field.type, described["items"], f"{path}[]", nullable=field.nullable)
            return None if items is None else lambda value: [items(each) for each in value]
        if name == "map" and isinstance(kind, pa.MapType) and types.is_string(kind.key_type):
            field = kind.item_field
            values = self.fit(field.type, described["values"], f"{path}{{}}", nullable=field.nullable)
            return (
                None if values is None else lambda value: {key: values(each) for key, each in value.items()}
            )
        if logical is not None:
            return self._fit_logical(kind, described, logical, path)
        if not any(matches(kind) for matches in _ACCEPTED.get(name, ())):
            raise self._misfit(kind, schema, path)
        return _prepare_primitive(kind, name, described, path)

    def _fit_record(self, kind: pa.StructType, schema: Mapping[str, Any], path: str) -> Prepare:
        columns = {field.name: field for field in kind}
        prepared: dict[str, Callable[[Any], Any]] = {}
        self._open.append(schema["name"])
        try:
            for field in schema["fields"]:
                name, inner = field["name"], joined(path, field["name"])
                column = columns.pop(name, None)
                if column is not None:
                    prepare = self.fit(column.type, field["type"], inner, nullable=column.nullable)
                    if prepare is not None:
                        prepared[name] = prepare
                elif "default" not in field:
                    raise _Misfit(f"column {inner} is missing: the schema {schema['name']} requires it")
        finally:
            self._open.pop()
        if columns:
            extra = joined(path, next(iter(columns)))
            raise _Misfit(f"column {extra} is not in the schema {schema['name']}: add it there, or drop it")
        if not prepared:
            return None

        def prepare_record(value: dict[str, Any]) -> dict[str, Any]:
            for name, prepare in prepared.items():
                value[name] = prepare(value[name])
            return value

        return prepare_record

    def _fit_logical(self, kind: pa.DataType, schema: Mapping[str, Any], logical: str, path: str) -> Prepare:
        if logical == "decimal" and isinstance(kind, pa.Decimal128Type):
            precision, scale = schema["precision"], schema.get("scale", 0)
            if kind.scale > scale:
                raise _Misfit(
                    f"column {path}: {kind} has more decimal places than the schema's "
                    f"decimal({precision},{scale}): round it"
                )
            return _decimal_check(precision, scale, path) if kind.precision > precision else None
        if logical == "date" and types.is_date32(kind):
            return None
        if logical.endswith(("timestamp-millis", "timestamp-micros")) and isinstance(kind, pa.TimestampType):
            if (kind.tz is None) == logical.startswith("local-"):
                return None
            zone, other = ("without", "TIMESTAMP") if kind.tz is None else ("with", "TIMESTAMP_NTZ")
            raise _Misfit(
                f"column {path}: a timestamp {zone} time zone, but the schema has {logical}: cast it to {other}"
            )
        raise self._misfit(kind, schema, path)

    def _misfit(self, kind: pa.DataType, schema: Any, path: str) -> _Misfit:
        where = f"column {path}" if path else "the value"
        return _Misfit(f"{where}: {kind} does not fit {describe(schema)}: cast it, or change the schema")


def _or_null(prepare: Callable[[Any], Any]) -> Prepare:
    return lambda value: None if value is None else prepare(value)


def describe(schema: Any) -> str:
    if isinstance(schema, list):
        return " or ".join(describe(each) for each in schema)
    if isinstance(schema, dict):
        return str(schema.get("logicalType") or schema.get("name") or schema["type"])
    return str(schema)


def _is_narrow(member: Any) -> bool:
    return (member.get("type") if isinstance(member, dict) else member) in _NARROW


def _prepare_primitive(kind: pa.DataType, name: str, schema: Mapping[str, Any], path: str) -> Prepare:
    if name == "int" and types.is_int64(kind):

        def check_int(value: int) -> int:
            if not _INT_MIN <= value <= _INT_MAX:
                raise refuse_value(path, value, "is out of range for int")
            return value

        return check_int
    if name == "enum":
        symbols = frozenset(schema["symbols"])

        def check_symbol(value: str) -> str:
            if value not in symbols:
                raise refuse_value(path, value, f"is none of {', '.join(schema['symbols'])}")
            return value

        return check_symbol
    if name == "fixed":
        size = schema["size"]

        def check_size(value: bytes) -> bytes:
            if len(value) != size:
                raise refuse_value(path, value, f"has {len(value)} bytes, not {size}")
            return value

        return check_size
    return None


def _decimal_check(precision: int, scale: int, path: str) -> Prepare:
    def check(value: Any) -> Any:
        if value.adjusted() >= precision - scale and value:
            raise refuse_value(path, value, f"is out of range for decimal({precision},{scale})")
        return value

    return check
