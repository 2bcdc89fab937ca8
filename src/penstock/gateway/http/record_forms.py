"""Records in JSON, both ways. Pure.

A key, a value and the value of a header are bytes. In JSON each is given in one of two ways:

    "value": …             a string means its UTF-8 bytes, null means null, any other value means its JSON text
    "value_base64": "…"    the bytes themselves

Headers are a list of {"name": …, "value" or "value_base64": …}; with unique names and text values, an object
{"name": "value"} is accepted too. Records are returned in the format that the client chooses:

    text     "value": "…" where the bytes are UTF-8, else "value_base64"
    json     "value": … where the bytes are JSON, else "value_base64"; keys and headers as text
    base64   always "value_base64"
"""

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Final, Literal, get_args

import msgspec

from penstock.console.broker_errors import TOO_LARGE
from penstock.gateway.http.problems import Problem, bad_request
from penstock.protocol.records.batch import NO_TIMESTAMP
from penstock.protocol.records.builder import NewRecord
from penstock.protocol.records.record import Record

Form = Literal["text", "json", "base64"]
FORMS: Final[tuple[str, ...]] = get_args(Form)
RECORDS_MAX: Final = 10_000
"""Per request: they are decoded without yielding to the broker's other clients."""

_NULL: Final = b"null"
_TIMESTAMP_MAX: Final = 2**63 - 1


class HeaderForm(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    value_base64: str | msgspec.UnsetType = msgspec.UNSET


class RecordForm(msgspec.Struct, forbid_unknown_fields=True):
    key: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    key_base64: str | msgspec.UnsetType = msgspec.UNSET
    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    value_base64: str | msgspec.UnsetType = msgspec.UNSET
    headers: list[HeaderForm] | dict[str, str | None] = []
    partition: int | None = None
    timestamp: int | None = None


class ProduceForm(msgspec.Struct, forbid_unknown_fields=True):
    records: list[RecordForm]


def read_body(body: bytes) -> list[tuple[int | None, NewRecord]]:
    """The partition, if one is named, and the record of each form. Raises `Problem`."""
    try:
        body.decode()  # values that are passed on as written are not decoded below
        form = msgspec.json.decode(body, type=ProduceForm)
        if not form.records:
            raise bad_request("The list of records is empty: send at least one.")
        if len(form.records) > RECORDS_MAX:
            raise Problem(
                TOO_LARGE, f"A request may have at most {RECORDS_MAX} records, not {len(form.records)}."
            )
        return [(each.partition, _new_record(index, each)) for index, each in enumerate(form.records)]
    except msgspec.MsgspecError as error:
        raise bad_request(f"The records cannot be read: {error}.") from None
    except RecursionError:
        raise bad_request("The records cannot be read: they are nested too deeply.") from None
    except UnicodeError:
        raise bad_request("The records cannot be read: JSON is UTF-8.") from None


def _new_record(index: int, form: RecordForm) -> NewRecord:
    where = f"records[{index}]"
    if form.partition is not None and form.partition < 0:
        raise bad_request(f"{where}.partition is negative: partitions are counted from 0.")
    if form.timestamp is not None and not 0 <= form.timestamp <= _TIMESTAMP_MAX:
        raise bad_request(f"{where}.timestamp is not a number of milliseconds since 1970.")
    return NewRecord(
        key=_bytes_of(f"{where}.key", form.key, form.key_base64),
        value=_bytes_of(f"{where}.value", form.value, form.value_base64),
        headers=tuple(_headers(where, form.headers)),
        timestamp=NO_TIMESTAMP if form.timestamp is None else form.timestamp,
    )


def _headers(
    where: str, headers: "list[HeaderForm] | dict[str, str | None]"
) -> "Sequence[tuple[str, bytes | None]]":
    if isinstance(headers, dict):
        return [(name, None if value is None else value.encode()) for name, value in headers.items()]
    return [
        (each.name, _bytes_of(f"{where}.headers[{index}].value", each.value, each.value_base64))
        for index, each in enumerate(headers)
    ]


def _bytes_of(
    where: str, plain: "msgspec.Raw | msgspec.UnsetType", encoded: "str | msgspec.UnsetType"
) -> bytes | None:
    if not isinstance(encoded, msgspec.UnsetType):
        if not isinstance(plain, msgspec.UnsetType):
            raise bad_request(f"{where} and {where}_base64 are both given: give one of them.")
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            raise bad_request(f"{where}_base64 is not base64.") from None
    if isinstance(plain, msgspec.UnsetType):
        return None
    text = bytes(plain)
    if text == _NULL:
        return None
    if text.startswith(b'"'):
        return msgspec.json.decode(text, type=str).encode()
    return text


def record_form(topic: str, partition: int, record: Record, form: str) -> dict[str, Any]:
    """A record as JSON shows it; the headers are left out where there are none."""
    inner = "base64" if form == "base64" else "text"  # keys and headers are rarely JSON
    shown: dict[str, Any] = {
        "topic": topic,
        "partition": partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        **_shown("key", record.key, inner),
        **_shown("value", record.value, form),
    }
    if record.headers:
        shown["headers"] = [{"name": name, **_shown("value", value, inner)} for name, value in record.headers]
    return shown


def _shown(name: str, data: bytes | None, form: str) -> dict[str, Any]:
    if data is None:
        return {name: None}
    if form == "text":
        try:
            return {name: data.decode()}
        except UnicodeDecodeError:
            pass
    elif form == "json":
        try:
            # On one line, as it was written: a number keeps its digits.
            return {name: msgspec.Raw(msgspec.json.format(_checked_json(data), indent=-1))}
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass
    return {f"{name}_base64": base64.b64encode(data).decode()}


def _checked_json(data: bytes) -> bytes:
    msgspec.json.decode(data)
    return data
