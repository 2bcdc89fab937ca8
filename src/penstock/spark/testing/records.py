"""Converts the values that a test sends to records. No I/O."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from penstock.events import Event

KeyOf = str | Callable[[Any], str | bytes | None]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A record. The broker or the client chooses the parts that are None."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


def as_record(given: Any, key: KeyOf | None = None) -> Record:
    """Convert a mapping to JSON, an event to its envelope, text to bytes, None to a tombstone; keep a Record.

    `key` names the field of the mapping, or of the event's payload, that is the key; or is a function that returns it.
    """
    if isinstance(given, Record):
        return given
    timestamp_ms = given.timestamp if isinstance(given, Event) else None
    return Record(value=_value(given), key=_key(given, key), timestamp_ms=timestamp_ms)


def _value(given: Any) -> bytes | None:
    if given is None or isinstance(given, bytes):
        return given
    if isinstance(given, str):
        return given.encode()
    return given.to_json() if isinstance(given, Event) else msgspec.json.encode(given)


def _key(given: Any, key: KeyOf | None) -> bytes | None:
    if key is None:
        return None
    if callable(key):
        found = key(given)
    else:
        fields = given.payload if isinstance(given, Event) else given
        found = fields.get(key) if isinstance(fields, Mapping) else None
    if found is None or isinstance(found, bytes):
        return found
    return str(found).encode()
