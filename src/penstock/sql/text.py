"""Bytes as text, in bulk."""

from typing import Any

import pyarrow as pa


def to_text(values: "pa.Array[Any]", *, replaces_invalid: bool) -> "pa.Array[Any]":
    """Return the values as text. A value that is not UTF-8 is null, or has its invalid bytes replaced."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [_text(value, replaces_invalid=replaces_invalid) for value in values.to_pylist()]
        return pa.array(texts, pa.string())


def is_text(values: list[bytes]) -> bool:
    return all(_text(value, replaces_invalid=False) is not None for value in values)


def _text(value: bytes | None, *, replaces_invalid: bool) -> str | None:
    if value is None:
        return None
    try:
        return value.decode("utf-8", "replace" if replaces_invalid else "strict")
    except UnicodeDecodeError:
        return None
