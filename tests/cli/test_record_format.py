import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.errors import CommandError
from penstock.cli.record_format import Record, format_time, make_renderer


def shown(key: bytes | None = b"k", value: bytes | None = b"hello", **more: object) -> Record:
    fields: dict[str, object] = {
        "topic": "orders",
        "partition": 2,
        "offset": 17,
        "timestamp_ms": 1_750_000_000_123,
        "key": key,
        "value": value,
        "headers": [("h", b"1"), ("none", None)],
        **more,
    }
    return Record(**fields)  # type: ignore[arg-type]  # fields are typed by the struct itself


def test_text_shows_place_time_key_value_and_headers_in_columns() -> None:
    assert make_renderer("text")(shown()) == b"2\t17\t2025-06-15T15:06:40.123Z\tk\thello\th=1,none=null\n"


def test_raw_is_the_value_and_a_line_end() -> None:
    assert make_renderer("raw")(shown(value=b"\x00\xff")) == b"\x00\xff\n"
    assert make_renderer("raw")(shown(value=None)) == b"\n"


def test_hex_shows_key_and_value_as_digits() -> None:
    line = make_renderer("hex")(shown(key=None, value=b"\x00\xff"))
    assert line == b"2\t17\t2025-06-15T15:06:40.123Z\tnull\t00ff\n"


def test_json_puts_bytes_that_are_not_text_under_another_name() -> None:
    line = make_renderer("json")(shown(key=b"\xff", headers=[("bin", b"\xfe"), ("none", None)]))
    assert json.loads(line) == {
        "topic": "orders",
        "partition": 2,
        "offset": 17,
        "timestamp": 1_750_000_000_123,
        "keyBase64": "/w==",
        "value": "hello",
        "headers": [{"name": "bin", "valueBase64": "/g=="}, {"name": "none", "value": None}],
    }


def test_a_template_takes_fields_and_escapes() -> None:
    render = make_renderer(r"{topic}-{partition}@{offset}\t{size}\n{key}={value} \\ {timestamp_ms}")
    assert render(shown()) == b"orders-2@17\t5\nk=hello \\ 1750000000123\n"


def test_a_template_with_an_unknown_field_says_which_there_are() -> None:
    with pytest.raises(CommandError, match=r"no field \{vlaue\}: it has topic, partition, offset"):
        make_renderer("{vlaue}")


def test_a_form_that_is_neither_a_name_nor_a_template_is_refused() -> None:
    with pytest.raises(CommandError, match="none of text, json, raw, hex"):
        make_renderer("yaml")


@given(st.binary(), st.binary())
def test_text_is_one_printable_line_for_any_record(key: bytes, value: bytes) -> None:
    line = make_renderer("text")(shown(key=key, value=value)).decode()
    assert line.endswith("\n")
    body = line[:-1].replace("\t", "")
    assert not any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in body)


@given(st.one_of(st.none(), st.binary()))
def test_json_is_always_one_line_that_can_be_read_back(value: bytes | None) -> None:
    line = make_renderer("json")(shown(value=value))
    assert line.count(b"\n") == 1
    fields = json.loads(line)
    assert ("value" in fields) != ("valueBase64" in fields)
    if "value" in fields:
        assert fields["value"] == (None if value is None else value.decode())


@pytest.mark.parametrize(
    ("timestamp_ms", "text"), [(-1, "-"), (0, "1970-01-01T00:00:00.000Z"), (2**62, str(2**62))]
)
def test_a_time_that_no_calendar_holds_is_shown_as_a_number(timestamp_ms: int, text: str) -> None:
    assert format_time(timestamp_ms) == text
