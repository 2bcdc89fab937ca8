"""Formats of records in `penstock consume` and elsewhere: by name, or by a template.

Text formats keep one record on one line and escape control characters, whatever is in a key or a value. `raw` writes
the bytes of the value.
"""

import base64
import functools
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from penstock.cli.errors import UsageError

_TEMPLATES = {
    "text": r"{partition}\t{offset}\t{timestamp}\t{key}\t{value}\t{headers}",
    "hex": r"{partition}\t{offset}\t{timestamp}\t{key_hex}\t{value_hex}",
}
_ESCAPES = {r"\t": "\t", r"\n": "\n", r"\\": "\\"}
_CONTROL = {number: f"\\x{number:02x}" for number in (*range(32), *range(0x7F, 0xA0))}
_CONTROL.update({ord("\n"): r"\n", ord("\r"): r"\r", ord("\t"): r"\t"})
_PIECE = re.compile(r"\{(\w*)\}|(\\[tn\\])|([^{\\]+|.)", re.DOTALL)


Headers = Sequence[tuple[str, bytes | None]]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A record and its place, as a client received it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


Render = Callable[[Record], bytes]


def to_record(message: Any) -> Record:
    """Convert a message of confluent-kafka."""
    kind, timestamp_ms = message.timestamp()
    return Record(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        timestamp_ms=timestamp_ms if kind else -1,
        key=message.key(),
        value=message.value(),
        headers=message.headers() or (),
    )


def make_renderer(form: str) -> Render:
    """Make the function that writes a record as `--format` says, with its line end."""
    if form in _RENDERERS:
        return _RENDERERS[form]
    template = _TEMPLATES.get(form, form)
    if "{" not in template:
        raise UsageError(
            f"--format {form} is none of text, json, raw, hex, and no template such as '{{offset}} {{value}}'"
        )
    return _template(template)


def _template(template: str) -> Render:
    pieces: list[str | Callable[[Record], str]] = []
    for name, escape, literal in _PIECE.findall(template):
        if literal:
            pieces.append(literal)
        elif escape:
            pieces.append(_ESCAPES[escape])
        elif name in FIELDS:
            pieces.append(FIELDS[name])
        else:
            raise UsageError(f"--format has no field {{{name}}}: it has {', '.join(FIELDS)}")

    def render(record: Record) -> bytes:
        parts = (piece if isinstance(piece, str) else piece(record) for piece in pieces)
        return ("".join(parts).rstrip("\t") + "\n").encode("utf-8", "backslashreplace")

    return render


def _json_line(record: Record) -> bytes:
    shown = json_record(record.offset, record.timestamp_ms, record.key, record.value, record.headers)
    return msgspec.json.encode({"topic": record.topic, "partition": record.partition, **shown}) + b"\n"


_RENDERERS: dict[str, Render] = {"json": _json_line, "raw": lambda record: (record.value or b"") + b"\n"}


def json_record(
    offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers
) -> dict[str, Any]:
    """Give the fields of a record in JSON."""
    return {
        "offset": offset,
        "timestamp": timestamp_ms,
        **_json_bytes("key", key),
        **_json_bytes("value", value),
        "headers": [{"name": name, **_json_bytes("value", data)} for name, data in headers],
    }


def _json_bytes(name: str, data: bytes | None) -> dict[str, str | None]:
    """Give text as text; bytes that are not UTF-8 have another name, so that no reader confuses them."""
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(data).decode()}


def format_bytes(data: bytes | None) -> str:
    """Format bytes as a line of text; null is `null`."""
    if data is None:
        return "null"
    text = data.decode("utf-8", "backslashreplace")
    return text if text.isprintable() else text.translate(_CONTROL)


def format_time(timestamp_ms: int) -> str:
    """Format a timestamp in UTC; - without one, and the number if no calendar holds it."""
    if timestamp_ms < 0:
        return "-"
    seconds, milliseconds = divmod(timestamp_ms, 1000)
    try:
        return f"{_format_second(seconds)}.{milliseconds:03d}Z"
    except (ValueError, OverflowError, OSError):
        return str(timestamp_ms)


@functools.lru_cache(maxsize=1024)  # neighbours share it, and a calendar is slow
def _format_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _hex(data: bytes | None) -> str:
    return "null" if data is None else data.hex()


def _headers(record: Record) -> str:
    return ",".join(f"{name.translate(_CONTROL)}={format_bytes(value)}" for name, value in record.headers)


FIELDS: dict[str, Callable[[Record], str]] = {
    "topic": lambda record: record.topic,
    "partition": lambda record: str(record.partition),
    "offset": lambda record: str(record.offset),
    "timestamp": lambda record: format_time(record.timestamp_ms),
    "timestamp_ms": lambda record: str(record.timestamp_ms),
    "key": lambda record: format_bytes(record.key),
    "value": lambda record: format_bytes(record.value),
    "key_hex": lambda record: _hex(record.key),
    "value_hex": lambda record: _hex(record.value),
    "headers": _headers,
    "size": lambda record: str(len(record.value or b"")),
}
