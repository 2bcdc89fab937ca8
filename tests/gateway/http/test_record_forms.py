"""Records in JSON, both ways."""

import base64

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.gateway.http.problems import Problem
from penstock.gateway.http.record_forms import read_body, record_form
from penstock.protocol.records.builder import NewRecord
from penstock.protocol.records.record import Record


def read_one(text: str) -> NewRecord:
    return read_body(b'{"records":[' + text.encode() + b"]}")[0][1]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", None),
        ('{"value": null}', None),
        ('{"value": "caf\\u00e9"}', "café".encode()),
        ('{"value": ""}', b""),
        ('{"value": {"a": 1.10, "b": [12345678901234567890]}}', b'{"a": 1.10, "b": [12345678901234567890]}'),
        ('{"value": 1.10}', b"1.10"),
        ('{"value": true}', b"true"),
        ('{"value_base64": "/wA="}', b"\xff\x00"),
        ('{"value_base64": ""}', b""),
    ],
)
def test_a_value_is_the_text_of_a_string_the_json_of_anything_else_or_bytes_in_base64(
    text: str, value: bytes | None
) -> None:
    assert read_one(text).value == value


def test_headers_are_a_list_that_may_repeat_a_name_or_an_object() -> None:
    listed = (
        '{"headers": [{"name": "a", "value": "1"}, {"name": "a", "value_base64": "/w=="}, {"name": "b"}]}'
    )
    assert read_one(listed).headers == (("a", b"1"), ("a", b"\xff"), ("b", None))
    assert read_one('{"headers": {"a": "1", "b": null}}').headers == (("a", b"1"), ("b", None))


def test_partition_and_timestamp_are_kept() -> None:
    [(partition, record)] = read_body(b'{"records":[{"partition": 3, "timestamp": 5, "key": "k"}]}')
    assert (partition, record.timestamp, record.key) == (3, 5, b"k")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "cannot be read"),
        (b"[]", "Expected `object`"),
        (b'{"records":[]}', "send at least one"),
        (b'{"records":[' + b"{}," * 10_000 + b"{}]}", "10000 records, not 10001"),
        (b'{"records":[{"vaule":1}]}', "unknown field `vaule`"),
        (
            b'{"records":[{}, {"value":1,"value_base64":""}]}',
            r"records\[1\].value and records\[1\].value_base64",
        ),
        (b'{"records":[{"key_base64":"!"}]}', r"records\[0\].key_base64 is not base64"),
        (b'{"records":[{"headers":[{"name":"a","value_base64":"!"}]}]}', r"headers\[0\].value_base64"),
        (b'{"records":[{"partition":-1}]}', "counted from 0"),
        (b'{"records":[{"timestamp":-1}]}', "milliseconds since 1970"),
        (b'{"records":[{"value":"\xff"}]}', "cannot be read"),
        (b'{"records":[{"value":{"a":"\xff"}}]}', "JSON is UTF-8"),
        (b'{"records":[{"value":nonsense}]}', "cannot be read"),
        (b'{"records":[{"value":"\\ud800"}]}', "cannot be read"),
        (b'{"records":[{"value":{"a":}}]}', "cannot be read"),
    ],
)
def test_an_invalid_record_is_refused_with_its_position(body: bytes, words: str) -> None:
    with pytest.raises(Problem, match=words) as refused:
        read_body(body)
    assert refused.value.status == (413 if "10001" in words else 400)


def shown(value: bytes | None, form: str) -> object:
    record = Record(7, 5, b"k", value, (("h", value),))
    text = msgspec.json.encode(record_form("t", 1, record, form))
    assert b"\n" not in text
    found = msgspec.json.decode(text)
    assert (found["topic"], found["partition"], found["offset"], found["timestamp"]) == ("t", 1, 7, 5)
    return {name: found[name] for name in ("value", "value_base64") if name in found}


@pytest.mark.parametrize(
    ("form", "value", "expected"),
    [
        ("text", b"hello", {"value": "hello"}),
        ("text", b'{"a": 1}', {"value": '{"a": 1}'}),
        ("text", None, {"value": None}),
        ("text", b"\xff", {"value_base64": "/w=="}),
        ("json", b'{\n "a": 1\n}', {"value": {"a": 1}}),
        ("json", b"hello", {"value_base64": base64.b64encode(b"hello").decode()}),
        ("json", b"\xff", {"value_base64": "/w=="}),
        ("json", b"", {"value_base64": ""}),
        ("json", b"null", {"value": None}),
        ("base64", b"hello", {"value_base64": base64.b64encode(b"hello").decode()}),
        ("base64", None, {"value": None}),
    ],
)
def test_a_value_is_shown_in_the_requested_format_or_in_base64(
    form: str, value: bytes | None, expected: object
) -> None:
    assert shown(value, form) == expected


def test_a_deeply_nested_value_does_not_hide_the_others() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    assert shown(deep, "json") == {"value_base64": base64.b64encode(deep).decode()}
    with pytest.raises(Problem, match="deeply"):
        read_body(b'{"records":[{"value":%b}]}' % deep)


def test_a_number_keeps_its_digits_in_json() -> None:
    text = msgspec.json.encode(record_form("t", 0, Record(0, 0, None, b'{"a": 1.100}'), "json"))
    assert b'"value":{"a":1.100}' in text


@given(st.none() | st.binary(max_size=20), st.sampled_from(["text", "base64"]))
def test_a_shown_record_that_is_sent_again_is_the_same_record(value: bytes | None, form: str) -> None:
    found = record_form("t", 0, Record(0, 9, value, value, (("h", value),)), form)
    kept = {name: each for name, each in found.items() if name not in ("topic", "offset", "partition")}
    [(_, record)] = read_body(msgspec.json.encode({"records": [kept]}))
    assert record == NewRecord(value, value, (("h", value),), 9)
