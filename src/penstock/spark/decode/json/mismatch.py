"""Explains why a value does not match its JSON schema, with the path. Pure; used for rejected records only.

It decodes each nested value individually with the types of `types`, so the rules are not written twice.
"""

import itertools
import json
from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec
from pyspark.sql import types as T  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.decode.json.types import EPOCH_MS_COMMENT, column_type, comment_of, value_type
from penstock.spark.text import one_line

_MISMATCHES_MAX = 3
_TEXT_LENGTH_MAX = 60
_OUT_OF_RANGE = ("<=", ">=", "out of range")  # in messages of msgspec
_FOUND = {"n": "null", "t": "boolean true", "f": "boolean false", "{": "an object", "[": "an array"}


def explain_mismatch(value: bytes, schema: T.StructType, otherwise: str) -> str:
    """Return why the value was rejected; `otherwise` is the decoder's own message, used if nothing is found here."""
    text = value.strip()
    if not text:
        return "empty value"
    try:
        document = json.loads(value.decode(), parse_constant=_refuse_constant)
        if not isinstance(document, dict):
            return f"expected an object, found {_describe_value(text)}"
        mismatches = "; ".join(itertools.islice(_struct_mismatches(text, schema, ""), _MISMATCHES_MAX))
    except UnicodeDecodeError as error:
        return f"invalid UTF-8 at byte {error.start}"
    except json.JSONDecodeError as error:
        return f"not JSON: {_syntax(error)} at character {error.pos}"
    except msgspec.MsgspecError:  # the only JSON that `json` reads and msgspec does not
        return "a text has an unpaired surrogate"
    except ValueError as error:
        return f"not JSON: {error}"
    except RecursionError:
        return "not JSON that can be read: nested too deeply"
    return mismatches or f"does not fit the schema: {otherwise}"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _syntax(error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return "text after the end"
    return error.msg[:1].lower() + error.msg[1:].partition(":")[0]


def _struct_mismatches(text: bytes, schema: T.StructType, prefix: str) -> Iterator[str]:
    values = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    for field in schema.fields:
        path, value = prefix + field.name, bytes(values.get(field.name, b"null"))
        if value == b"null":
            if not field.nullable:
                yield f"{path}: required, but {'null' if field.name in values else 'missing'}"
        elif prefix or (comment := comment_of(field)) is None:
            yield from _mismatches(value, field.dataType, path)
        elif comment == EPOCH_MS_COMMENT and _decode_error(value, column_type(field)) is not None:
            if value.lstrip(b"-").isdigit():
                yield f"{path}: {_short(value)} is out of range for milliseconds since 1970"
            else:
                yield from _mismatches(value, field.dataType, path)


def _mismatches(value: bytes, kind: T.DataType, path: str) -> Iterator[str]:
    if isinstance(kind, T.StructType) and value[:1] == b"{":
        yield from _struct_mismatches(value, kind, f"{path}.")
    elif isinstance(kind, T.ArrayType) and value[:1] == b"[":
        for at, each in enumerate(msgspec.json.decode(value, type=list[msgspec.Raw])):
            yield from _element_mismatches(
                each, kind.elementType, f"{path}[{at}]", nullable=kind.containsNull
            )
    elif isinstance(kind, T.MapType) and value[:1] == b"{":
        for key, each in msgspec.json.decode(value, type=dict[str, msgspec.Raw]).items():
            inner = f"{path}[{_short(json.dumps(key, ensure_ascii=False).encode())}]"
            yield from _element_mismatches(each, kind.valueType, inner, nullable=kind.valueContainsNull)
    elif (wrong := _decode_error(value, value_type(kind, path))) is not None:
        if any(each in wrong for each in _OUT_OF_RANGE):
            yield f"{path}: {_short(value)} is out of range for {_type_name(kind)}"
        else:
            yield f"{path}: expected {_type_name(kind)}, found {_describe_value(value)}"


def _element_mismatches(raw: msgspec.Raw, kind: T.DataType, path: str, *, nullable: bool) -> Iterator[str]:
    value = bytes(raw)
    if value != b"null":
        yield from _mismatches(value, kind, path)
    elif not nullable:
        yield f"{path}: required, but null"


def _decode_error(value: bytes, kind: Any) -> str | None:
    """Return the decoder's message about a single value, if it does not accept it."""
    try:
        msgspec.json.decode(value, type=kind)
    except msgspec.MsgspecError as error:
        return str(error)
    return None


def _type_name(kind: T.DataType) -> str:
    return "base64 text" if isinstance(kind, T.BinaryType) else kind.simpleString().partition("<")[0]


def _describe_value(value: bytes) -> str:
    first = value[:1].decode()
    kind = "string" if first == '"' else "number"
    return _FOUND.get(first) or f"{kind} {_short(value)}"


def _short(value: bytes) -> str:
    return one_line(value.decode(), _TEXT_LENGTH_MAX)
