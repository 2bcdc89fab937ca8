import base64

from penstock.console.record_view import avro_hint, part_view, record_view
from penstock.protocol.records.record import Record


def test_bytes_travel_as_base64_and_null_stays_null() -> None:
    view = record_view(3, Record(7, 99, None, b"\xff<b>", (("h", b"v"), ("none", None))))
    assert view["key"] is None
    assert base64.b64decode(view["value"]["data"]) == b"\xff<b>"
    assert [header["name"] for header in view["headers"]] == ["h", "none"]
    assert view["headers"][1]["value"] is None
    assert (view["partition"], view["offset"], view["timestampMs"]) == (3, 7, 99)


def test_a_long_value_is_truncated_and_its_length_reported() -> None:
    view = part_view(b"x" * 100, 10)
    assert view is not None
    assert (len(base64.b64decode(view["data"])), view["size"]) == (10, 100)


def test_avro_is_recognized_by_its_container_or_by_confluents_framing() -> None:
    assert avro_hint(b"Obj\x01rest") == {"kind": "container"}
    assert avro_hint(b"\x00\x00\x00\x01\x02body") == {"kind": "framed", "schemaId": 258}
    assert avro_hint(b"\x00\x00\x00\x00\x01") is None
    assert avro_hint(b'{"a": 1}') is None
