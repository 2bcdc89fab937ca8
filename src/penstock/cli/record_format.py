"""How `penstock consume` shows a record: a name of a form, or a template.

Whatever is in a key or a value, text forms keep one record on one line and send no control character to the
terminal: they are shown as escapes. `raw` writes the value's bytes as they are.
"""

import base64
import functools
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from penstock.cli.errors import EXIT_USAGE, CommandError

_TEXT_TEMPLATE = r"{partition}\t{offset}\t{timestamp}\t{key}\t{value}\t{headers}"
_HEX_TEMPLATE = r"{partition}\t{offset}\t{timestamp}\t{key_hex}\t{value_hex}"
_ESCAPES = {r"\t": "\t", r"\n": "\n", r"\\": "\\"}
_CONTROL = {number: f"\\x{number:02x}" for number in (*range(32), *range(0x7F, 0xA0))}
_CONTROL.update({ord("\n"): r"\n", ord("\r"): r"\r", ord("\t"): r"\t"})
_PIECE = re.compile(r"\{(\w*)\}|(\\[tn\\])|([^{\\]+|.)", re.DOTALL)


Headers = Sequence[tuple[str, bytes | None]]


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A record with its place, as a client received it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


Render = Callable[[Shown], bytes]


def shown_message(message: Any) -> Shown:
    """A message of confluent-kafka."""
    kind, timestamp_ms = message.timestamp()
    return Shown(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        timestamp_ms=timestamp_ms if kind else -1,
        key=message.key(),
        value=message.value(),
        headers=message.headers() or (),
    )


def record_format(form: str) -> Render:
    """The function that makes a record's output, with its line end, for what `--format` says."""
    if form == "json":
        return _json_line
    if form == "raw":
        return _raw_line
    if form == "text":
        return _template(_TEXT_TEMPLATE)
    if form == "hex":
        return _template(_HEX_TEMPLATE)
    if "{" in form:
        return _template(form)
    raise CommandError(
        f"--format {form} is none of text, json, raw, hex, and no template such as '{{offset}} {{value}}'",
        EXIT_USAGE,
    )


def _template(template: str) -> Render:
    pieces: list[str | Callable[[Shown], str]] = []
    for name, escape, literal in _PIECE.findall(template):
        if literal:
            pieces.append(literal)
        elif escape:
            pieces.append(_ESCAPES[escape])
        elif name in FIELDS:
            pieces.append(FIELDS[name])
        else:
            raise CommandError(f"--format has no field {{{name}}}: it has {', '.join(FIELDS)}", EXIT_USAGE)

    def render(record: Shown) -> bytes:
        parts = (piece if isinstance(piece, str) else piece(record) for piece in pieces)
        return ("".join(parts).rstrip("\t") + "\n").encode("utf-8", "backslashreplace")

    return render


def _raw_line(record: Shown) -> bytes:
    return (record.value or b"") + b"\n"


def _json_line(record: Shown) -> bytes:
    shown = json_record(record.offset, record.timestamp_ms, record.key, record.value, record.headers)
    return msgspec.json.encode({"topic": record.topic, "partition": record.partition, **shown}) + b"\n"


def json_record(
    offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers
) -> dict[str, Any]:
    """A record as JSON shows it."""
    return {
        "offset": offset,
        "timestamp": timestamp_ms,
        **_json_bytes("key", key),
        **_json_bytes("value", value),
        "headers": [{"name": name, **_json_bytes("value", data)} for name, data in headers],
    }


def _json_bytes(name: str, data: bytes | None) -> dict[str, str | None]:
    """Text as text; what is not UTF-8 under another name, so that no reader takes one for the other."""
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(data).decode()}


def readable(data: bytes | None) -> str:
    """Bytes as a line of text; null is shown as `null`."""
    if data is None:
        return "null"
    text = data.decode("utf-8", "backslashreplace")
    return text if text.isprintable() else text.translate(_CONTROL)


def readable_time(timestamp_ms: int) -> str:
    """A time of a record in UTC, or - when it has none or one that no calendar holds."""
    if timestamp_ms < 0:
        return "-"
    seconds, milliseconds = divmod(timestamp_ms, 1000)
    try:
        return f"{_readable_second(seconds)}.{milliseconds:03d}Z"
    except (ValueError, OverflowError, OSError):
        return str(timestamp_ms)


@functools.lru_cache(maxsize=1024)  # neighbours have the same, and a calendar is slow
def _readable_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _hex(data: bytes | None) -> str:
    return "null" if data is None else data.hex()


def _headers(record: Shown) -> str:
    return ",".join(f"{name.translate(_CONTROL)}={readable(value)}" for name, value in record.headers)


FIELDS: dict[str, Callable[[Shown], str]] = {
    "topic": lambda record: record.topic,
    "partition": lambda record: str(record.partition),
    "offset": lambda record: str(record.offset),
    "timestamp": lambda record: readable_time(record.timestamp_ms),
    "timestamp_ms": lambda record: str(record.timestamp_ms),
    "key": lambda record: readable(record.key),
    "value": lambda record: readable(record.value),
    "key_hex": lambda record: _hex(record.key),
    "value_hex": lambda record: _hex(record.value),
    "headers": _headers,
    "size": lambda record: str(len(record.value or b"")),
}
