"""Explains why a value does not match its JSON schema, with the path to the fault. Pure; used for rejects only."""

import base64
import binascii
import datetime as dt
import decimal
import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn, Self

from pyspark.sql import types as T  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.decode.json.types import (
    EPOCH_MS_COMMENT,
    EPOCH_MS_MAX,
    FLOAT_MAX,
    INTEGER_BITS,
    JSON_COMMENT,
    comment_of,
)

_FAULTS_MAX = 3
_TEXT_LENGTH_MAX = 60
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:?\d\d)?")
_SURROGATE = re.compile("[\ud800-\udfff]")


def explain(value: bytes, schema: T.StructType, otherwise: str) -> str:
    """Return the reason of a reject; `otherwise` is the decoder's own message, if nothing is found here."""
    if not value.strip():
        return "empty value"
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        return f"invalid UTF-8 at byte {error.start}"
    try:
        document = json.loads(text, parse_constant=_refuse_constant, parse_float=_Number)
    except json.JSONDecodeError as error:
        return f"not JSON: {_syntax(error)} at character {error.pos}"
    except ValueError as error:
        return f"not JSON: {error}"
    except RecursionError:
        return "not JSON that can be read: nested too deeply"
    if not isinstance(document, dict):
        return f"expected an object, found {_found(document)}"
    faults = [*_limited(_struct_faults(document, schema, ""))]
    return "; ".join(faults) or f"does not fit the schema: {otherwise}"


class _Number(decimal.Decimal):
    """A number with a point or an exponent, with its original text."""

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _syntax(error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return "text after the end"
    return error.msg[:1].lower() + error.msg[1:].partition(":")[0]


def _limited(faults: Iterator[str]) -> Iterator[str]:
    for _, fault in zip(range(_FAULTS_MAX), faults, strict=False):
        yield fault


def _struct_faults(value: dict[str, Any], schema: T.StructType, prefix: str) -> Iterator[str]:
    for field in schema.fields:
        path = prefix + field.name
        found = value.get(field.name)
        if found is not None:
            comment = comment_of(field) if not prefix else None
            if comment == EPOCH_MS_COMMENT and type(found) is int:
                if not 0 <= found <= EPOCH_MS_MAX:
                    yield f"{path}: {_short(found)} is out of range for milliseconds since 1970"
            elif comment != JSON_COMMENT:
                yield from _faults(found, field.dataType, path)
        elif not field.nullable:
            yield f"{path}: required, but {'null' if field.name in value else 'missing'}"


def _faults(value: Any, kind: T.DataType, path: str) -> Iterator[str]:
    if isinstance(kind, T.StructType) and isinstance(value, dict):
        yield from _struct_faults(value, kind, f"{path}.")
    elif isinstance(kind, T.ArrayType) and isinstance(value, list):
        for at, each in enumerate(value):
            yield from _element_faults(each, kind.elementType, f"{path}[{at}]", nullable=kind.containsNull)
    elif isinstance(kind, T.MapType) and isinstance(value, dict):
        for key, each in value.items():
            yield from _element_faults(
                each, kind.valueType, f"{path}[{_short(key)}]", nullable=kind.valueContainsNull
            )
    elif (fault := _simple_fault(value, kind)) is not None:
        yield f"{path}: {fault}"


def _element_faults(value: Any, kind: T.DataType, path: str, *, nullable: bool) -> Iterator[str]:
    if value is not None:
        yield from _faults(value, kind, path)
    elif not nullable:
        yield f"{path}: required, but null"


def _simple_fault(value: Any, kind: T.DataType) -> str | None:
    if type(kind) in INTEGER_BITS and type(value) is int:
        end = 1 << (INTEGER_BITS[type(kind)] - 1)
        return None if -end <= value < end else f"{_short(value)} is out of range for {_name(kind)}"
    if isinstance(kind, (T.DoubleType, T.FloatType)) and _is_number(value):
        largest = FLOAT_MAX if isinstance(kind, T.FloatType) else 1.7976931348623157e308
        return (
            None
            if abs(decimal.Decimal(value)) <= largest
            else f"{_short(value)} is out of range for {_name(kind)}"
        )
    if isinstance(kind, T.DecimalType) and (_is_number(value) or isinstance(value, str)):
        return _decimal_fault(value, kind)
    if isinstance(kind, T.StringType) and isinstance(value, str):
        return "an unpaired surrogate" if _SURROGATE.search(value) else None
    if isinstance(kind, T.BooleanType) and isinstance(value, bool):
        return None
    if isinstance(value, str) and _is_text_of(value, kind):
        return None
    return f"expected {_name(kind)}, found {_found(value)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, _Number)) and not isinstance(value, bool)


def _decimal_fault(value: Any, kind: T.DecimalType) -> str | None:
    try:
        number = decimal.Decimal(value)
    except decimal.InvalidOperation:
        return f"expected {_name(kind)}, found {_found(value)}"
    if number.is_finite():
        _, digits, exponent = number.as_tuple()
        assert isinstance(exponent, int)
        if -exponent <= kind.scale and len(digits) + exponent <= kind.precision - kind.scale:
            return None
    return f"{_short(value)} does not fit {_name(kind)}"


def _is_text_of(text: str, kind: T.DataType) -> bool:
    """Say whether the text is a timestamp, a date or base64, as the type requires."""
    try:
        if isinstance(kind, (T.TimestampType, T.TimestampNTZType)):
            if not _RFC_3339.fullmatch(text):
                return False
            moment = dt.datetime.fromisoformat(text.upper())
            return isinstance(kind, T.TimestampType) or moment.tzinfo is None
        if isinstance(kind, T.DateType):
            return len(text) == len("2000-01-01") and bool(dt.date.fromisoformat(text))
        if isinstance(kind, T.BinaryType):
            base64.b64decode(text, validate=True)
            return True
    except (ValueError, binascii.Error):
        return False
    return False


def _name(kind: T.DataType) -> str:
    return "base64 text" if isinstance(kind, T.BinaryType) else kind.simpleString().partition("<")[0]


def _found(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"boolean {str(value).lower()}"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return f"{'string' if isinstance(value, str) else 'number'} {_short(value)}"


def _short(value: Any) -> str:
    if isinstance(value, _Number):
        text = value.text
    else:
        text = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
    return text if len(text) <= _TEXT_LENGTH_MAX else text[: _TEXT_LENGTH_MAX - 1] + "…"
