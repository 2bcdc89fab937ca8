import io
import json
import sys
from datetime import UTC, datetime
from typing import Any

import fastavro
import pytest

from penstock.console.avro import decode_avro
from penstock.console.refusals import Refused

_SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "large", "type": "long"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "raw", "type": "bytes"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
_ORDER: dict[str, Any] = {
    "id": 7,
    "large": 2**60 + 1,
    "note": None,
    "raw": b"\x01",
    "at": datetime(2026, 1, 2, tzinfo=UTC),
}
_SHOWN = {
    "id": 7,
    "large": str(2**60 + 1),
    "note": None,
    "raw": {"base64": "AQ=="},
    "at": "2026-01-02 00:00:00+00:00",
}


def _encoded() -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _SCHEMA, _ORDER)
    return out.getvalue()


def test_a_value_is_decoded_with_the_pasted_schema() -> None:
    assert decode_avro(_encoded(), json.dumps(_SCHEMA)) == _SHOWN


def test_confluents_framing_is_removed() -> None:
    assert decode_avro(b"\x00\x00\x00\x00\x07" + _encoded(), json.dumps(_SCHEMA)) == _SHOWN


def test_an_object_container_needs_no_schema() -> None:
    out = io.BytesIO()
    fastavro.writer(out, _SCHEMA, [_ORDER, _ORDER])
    assert decode_avro(out.getvalue(), "") == [_SHOWN, _SHOWN]


@pytest.mark.parametrize(
    ("data", "schema", "said"),
    [
        (_encoded(), "", "Paste the schema"),
        (_encoded(), "{", "This is not an Avro schema"),
        (_encoded(), '{"type": "nothing"}', "This is not an Avro schema"),
        (b"\x02", json.dumps(_SCHEMA), "does not fit the schema"),
        (_encoded() + b"more", json.dumps(_SCHEMA), "4 bytes follow it"),
        (b"Obj\x01broken", "", "does not fit the schema"),
    ],
)
def test_a_decoding_error_has_a_message(data: bytes, schema: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        decode_avro(data, schema)


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(Refused, match=r"penstock-broker\[spark\]"):
        decode_avro(_encoded(), json.dumps(_SCHEMA))
