"""Splitting a stream into JSON objects."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.gateway.json_stream import DEPTH_MAX, JsonStream, Malformed

LIMIT = 10_000

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(st.text(), json_values, max_size=4)


def _feed(*pieces: bytes) -> list[bytes | Malformed]:
    stream = JsonStream(LIMIT)
    return [item for piece in pieces for item in stream.feed(piece)]


def _kinds(items: list[bytes | Malformed]) -> list[str]:
    return ["bad" if isinstance(item, Malformed) else "text" for item in items]


def test_one_object_a_line_is_cut_at_its_brace() -> None:
    assert _feed(b'{"a":1}\n{"b":2}\n') == [b'{"a":1}', b'{"b":2}']


def test_an_object_may_be_spread_over_lines() -> None:
    text = b'{\n  "type": "produce",\n  "topic": "orders"\n}'
    assert _feed(text + b"\n" + text) == [text, text]


def test_an_object_needs_no_newline_behind_it() -> None:
    assert _feed(b'{"a":1}{"b":2}') == [b'{"a":1}', b'{"b":2}']


def test_braces_and_escapes_inside_strings_do_not_count() -> None:
    text = rb'{"a":"}{\"\\","b":["}"]}'
    assert _feed(text) == [text]


@given(st.lists(json_objects, max_size=4), st.sampled_from([None, 2]), st.integers(1, 7))
def test_objects_are_found_however_the_stream_is_split(
    objects: list[object], indent: int | None, size: int
) -> None:
    data = "\n".join(json.dumps(each, indent=indent) for each in objects).encode()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    stream = JsonStream(1_000_000)
    found = [item for piece in pieces for item in stream.feed(piece)]
    assert all(isinstance(item, bytes) for item in found)
    assert [json.loads(item) for item in found if isinstance(item, bytes)] == objects
    assert stream.end() is None


@given(st.binary(max_size=200), st.integers(1, 20))
def test_arbitrary_bytes_do_not_prevent_the_next_line(noise: bytes, size: int) -> None:
    stream = JsonStream(LIMIT)
    for at in range(0, len(noise), size):
        stream.feed(noise[at : at + size])
    # A line break ends any string, and a brace at the start of a line ends any object but one that waits for a value.
    found = stream.feed(b'\n]\n\n{"type":"fetch"}\n')
    assert b'{"type":"fetch"}' in found or noise.rstrip().endswith((b":", b"[", b","))


@pytest.mark.parametrize(
    "line",
    [
        b"hello",
        b'"text"',
        b"}",
        b'{"a":"no end of the string',
        b'{"a"]}',
        b'{"a" {"b":1}}',
        b'{"a":1 [2]}',
        b'{"a":' + b"[" * DEPTH_MAX + b"]" * DEPTH_MAX + b"}",
    ],
)
def test_a_bad_line_is_one_error_and_the_next_line_is_read(line: bytes) -> None:
    assert _kinds(_feed(line + b'\n{"good":1}\n')) == ["bad", "text"]


@pytest.mark.parametrize(
    "beginning",
    [
        b"{nonsense",
        b"{type:",
        b'{"type" "produce"',
        b'{"type":produce',
        b'{"type":"produce",}',
        b'{"type":"produce";',
        b'{"offset":1x',
        b'{"offset":01-',
        b'{"list":[1 2',
        b'{"list":[1}',
        b'{"caf\xc3\xa9":\xc3\xa9',
    ],
)
@pytest.mark.parametrize("size", [1, 100])
def test_invalid_json_is_refused_before_its_line_ends(beginning: bytes, size: int) -> None:
    pieces = [beginning[at : at + size] for at in range(0, len(beginning), size)]
    assert _kinds(_feed(*pieces)) == ["bad"]
    assert _kinds(_feed(*pieces, b' more of it"}\n{"good":1}\n')) == ["bad", "text"]


@given(json_objects, st.data())
def test_a_valid_start_of_an_object_waits_for_more(value: dict[str, object], data: st.DataObject) -> None:
    text = json.dumps(value, indent=data.draw(st.sampled_from([None, 1]))).encode()
    cut = data.draw(st.integers(0, len(text) - 1))
    assert _feed(text[:cut]) == []


def test_an_object_without_its_last_brace_ends_at_the_next_request() -> None:
    found = _feed(b'{"type":"produce"\n', b'{"type":"fetch"}\n')
    assert _kinds(found) == ["bad", "text"]
    assert found[1] == b'{"type":"fetch"}'


def test_an_object_on_a_line_of_its_own_inside_another_is_part_of_it() -> None:
    text = b'{"headers":\n{"a":1},\n"list":[\n{"b":2},\n{"c":3}]}'
    assert _feed(text) == [text]


def test_an_endless_request_is_discarded_and_the_next_line_is_read() -> None:
    stream = JsonStream(100)
    found = [item for _ in range(50) for item in stream.feed(b'{"message":"' if _ == 0 else b"x" * 10)]
    assert _kinds(found) == ["bad"]
    assert stream.feed(b'"}\n{"a":1}\n') == [b'{"a":1}']


def test_an_endless_invalid_line_is_not_buffered() -> None:
    stream = JsonStream(100)
    assert _kinds(stream.feed(b"x" * 1000)) == ["bad"]
    assert stream.feed(b"x" * 1000) == []
    assert stream.feed(b'\n{"a":1}') == [b'{"a":1}']


def test_an_unfinished_request_at_the_end_is_an_error() -> None:
    stream = JsonStream(LIMIT)
    assert stream.feed(b'{"a":') == []
    assert stream.end() is not None
