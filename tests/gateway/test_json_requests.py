"""Requests and answers of the JSON-lines dialect, as values."""

import json

import pytest

from penstock.gateway.json_requests import (
    Commit,
    Fetch,
    Produce,
    RequestError,
    decode_request,
    error_line,
    json_line,
    text_line,
)
from penstock.protocol.records.record import Record


def test_requests_of_golog_are_parsed() -> None:
    assert decode_request(
        b'{"type":"produce","topic":"orders","partition":0,"message":"order-123"}'
    ) == Produce(topic="orders", partition=0, message="order-123")
    assert decode_request(b'{"type":"fetch","topic":"orders","partition":2,"offset":7}') == Fetch(
        topic="orders", partition=2, offset=7
    )
    assert decode_request(b'{"type":"commit","topic":"t","group":"g","offset":3}') == Commit(
        topic="t", group="g", offset=3
    )


def test_a_missing_partition_is_the_first_and_unknown_fields_are_ignored() -> None:
    request = decode_request(b'{"type":"produce","topic":"t","message":"m","colour":"red"}')
    assert request == Produce(topic="t", message="m", partition=0)


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        (b"{nonsense}", "INVALID_JSON", "not valid JSON"),
        (b'{"topic":"t"}', "UNKNOWN_TYPE", "produce, fetch, commit"),
        (b'{"type":"subscribe"}', "UNKNOWN_TYPE", '"subscribe"'),
        (b'{"type":7}', "UNKNOWN_TYPE", "7"),
        (b'{"type":"produce","topic":"t"}', "INVALID_REQUEST", "message"),
        (b'{"type":"produce","topic":"t","message":5}', "INVALID_REQUEST", "$.message"),
        (b'{"type":"fetch","topic":"t","partition":"0"}', "INVALID_REQUEST", "$.partition"),
        (b'{"type":"fetch","topic":"\xff"}', "INVALID_JSON", "not valid JSON"),
    ],
)
def test_an_invalid_request_is_refused_with_the_reason(text: bytes, error: str, reason: str) -> None:
    with pytest.raises(RequestError) as raised:
        decode_request(text)
    assert raised.value.error == error
    assert reason in raised.value.message


def test_an_error_is_one_line_of_json() -> None:
    line = error_line("INVALID_JSON", 'a "quoted"\nmessage')
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == {"error": "INVALID_JSON", "message": 'a "quoted"\nmessage'}


def test_a_message_of_several_lines_stays_one_line() -> None:
    assert text_line(Record(3, 0, None, b"a\nb\r\nc")) == rb"offset 3: a\nb\r\nc" + b"\n"
    assert text_line(Record(4, 0, None, None)) == b"offset 4: \n"
    assert text_line(Record(5, 0, None, b"\xff")) == "offset 5: \ufffd\n".encode()


def test_the_json_format_keeps_every_byte() -> None:
    record = Record(9, 17, b"\xff", b"zeile\n", (("h", None), ("b", b"\x80")))
    assert json.loads(json_line(record)) == {
        "offset": 9,
        "timestamp": 17,
        "key_base64": "/w==",
        "message": "zeile\n",
        "headers": [{"name": "h", "value": None}, {"name": "b", "value_base64": "gA=="}],
    }
