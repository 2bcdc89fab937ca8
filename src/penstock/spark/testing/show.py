"""Writes rows and values on one line, as they would be written in a case. No I/O."""

import base64
import datetime as dt
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

_CHARACTERS_MAX = 400


def show_row(row: Mapping[str, Any]) -> str:
    return _shorten(json.dumps(dict(row), default=_plain, ensure_ascii=False))


def show_value(value: Any) -> str:
    return _shorten(json.dumps(value, default=_plain, ensure_ascii=False))


def _shorten(text: str) -> str:
    return text if len(text) <= _CHARACTERS_MAX else text[:_CHARACTERS_MAX] + "…"


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        zone = "" if value.tzinfo is None or value.utcoffset() else "Z"
        return value.replace(tzinfo=None).isoformat() + zone if zone else value.isoformat()
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return f"!!binary {base64.b64encode(value).decode()}"
    if isinstance(value, msgspec.Struct):
        return " ".join(["text with", *(repr(each) for each in msgspec.structs.astuple(value))])
    return repr(value)
