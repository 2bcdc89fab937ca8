"""The requests of the JSON-lines dialect, and the lines that answer them.

    {"type":"produce","topic":"orders","partition":0,"message":"order-123"}     ack offset 0
    {"type":"fetch","topic":"orders","partition":0,"offset":0}                  offset 0: order-123
    {"type":"commit","group":"g","topic":"orders","partition":0,"offset":1}     committed offset 1
    {"type":"fetch","topic":"orders","partition":0,"group":"g"}                 what follows the committed offset
    any invalid request                                                         {"error":…,"message":…}

These are Golog's words, to which a key, a group, `max_messages` and `"format":"json"` are added. A fetch answers one
line for each message and none when there is nothing new; with the format json each line is an object that keeps what
plain text cannot, and a last line shows how far the fetch went.
"""

from base64 import b64encode
from typing import Literal

import msgspec

from penstock.protocol.records.record import Record

_FORMATS = Literal["text", "json"]


class Produce(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="produce"):
    topic: str
    message: str | None
    partition: int = 0
    key: str | None = None


class Fetch(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="fetch"):
    topic: str
    partition: int = 0
    offset: int | None = None
    group: str | None = None
    max_messages: int | None = None
    format: _FORMATS = "text"


class Commit(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="commit"):
    topic: str
    group: str
    offset: int
    partition: int = 0


Request = Produce | Fetch | Commit

_TYPES = ("produce", "fetch", "commit")
_decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_encode = msgspec.json.encode


class _Typed(msgspec.Struct):
    type: msgspec.Raw = msgspec.Raw()


class RequestError(Exception):
    """A request that fails; it is answered with one error line."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


def decode_request(text: bytes) -> Request:
    """Decode one request. Raises `RequestError`, which says how to correct it."""
    try:
        return _decoder.decode(text)
    except msgspec.ValidationError as error:
        problem = str(error)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RequestError("INVALID_JSON", f"not valid JSON: {error}") from error
    if "$.type" in problem or "required field `type`" in problem:
        named = bytes(msgspec.json.decode(text, type=_Typed).type).decode(errors="replace") or "none"
        raise RequestError("UNKNOWN_TYPE", f"unknown type {named}: use {', '.join(_TYPES)}")
    raise RequestError("INVALID_REQUEST", problem)


def error_line(error: str, message: str) -> bytes:
    return _encode({"error": error, "message": message}) + b"\n"


def ack_line(offset: int) -> bytes:
    return b"ack offset %d\n" % offset


def committed_line(offset: int) -> bytes:
    return b"committed offset %d\n" % offset


def text_line(record: Record) -> bytes:
    """Golog's line. A message that is not one line of text is shown with its breaks escaped."""
    text = (record.value or b"").decode("utf-8", "replace")
    return f"offset {record.offset}: {text.replace(chr(13), chr(92) + 'r').replace(chr(10), chr(92) + 'n')}\n".encode()


def json_line(record: Record) -> bytes:
    """The whole record; bytes that are not UTF-8 are Base64, in a field whose name says so."""
    line: dict[str, object] = {"offset": record.offset, "timestamp": record.timestamp}
    for name, data in (("key", record.key), ("message", record.value)):
        line |= _readable(name, data)
    if record.headers:
        line["headers"] = [{"name": name, **_readable("value", value)} for name, value in record.headers]
    return _encode(line) + b"\n"


def end_line(next_offset: int, count: int) -> bytes:
    return _encode({"next_offset": next_offset, "count": count}) + b"\n"


def _readable(name: str, data: bytes | None) -> dict[str, object]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": b64encode(data).decode()}
