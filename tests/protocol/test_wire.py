"""The primitive types, byte by byte."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol import wire
from penstock.protocol.errors import ProtocolError

UNSIGNED_VARINTS = [
    (0, b"\x00"),
    (127, b"\x7f"),
    (128, b"\x80\x01"),
    (300, b"\xac\x02"),
    (16_384, b"\x80\x80\x01"),
    (0xFFFFFFFF, b"\xff\xff\xff\xff\x0f"),
]

Reader = Callable[[wire.Buffer, int], tuple[Any, int]]
SIZED_READERS: list[Reader] = [
    wire.read_string,
    wire.read_nullable_string,
    wire.read_compact_string,
    wire.read_compact_nullable_string,
    wire.read_bytes,
    wire.read_nullable_bytes,
    wire.read_compact_bytes,
    wire.read_compact_nullable_bytes,
    wire.read_records,
    wire.read_nullable_records,
    wire.read_compact_records,
    wire.read_compact_nullable_records,
]


@pytest.mark.parametrize(("value", "data"), UNSIGNED_VARINTS)
def test_an_unsigned_varint_has_seven_bits_in_a_byte_lowest_first(value: int, data: bytes) -> None:
    out = bytearray()
    wire.write_uvarint(out, value)
    assert out == data
    assert wire.read_uvarint(b"?" + data, 1) == (value, 1 + len(data))


@pytest.mark.parametrize(
    "data", [b"", b"\x80", b"\xff" * 4, b"\xff" * 5, b"\x80" * 64, b"\xff\xff\xff\xff\x1f"]
)
def test_a_varint_that_never_ends_or_is_too_large_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        wire.read_uvarint(data, 0)


@pytest.mark.parametrize("value", [-1, 1 << 32])
def test_a_number_that_no_varint_can_hold_is_refused(value: int) -> None:
    with pytest.raises(ProtocolError):
        wire.write_uvarint(bytearray(), value)


@given(st.text(max_size=300))
def test_a_string_round_trips(value: str) -> None:
    for write, read in (
        (wire.write_string, wire.read_string),
        (wire.write_compact_string, wire.read_compact_string),
    ):
        out = bytearray()
        write(out, value)
        assert read(out, 0) == (value, len(out))
        assert read(memoryview(out), 0) == (value, len(out))


def test_strings_and_bytes_have_the_lengths_that_kafka_gives_them() -> None:
    out = bytearray()
    wire.write_string(out, "é")
    wire.write_compact_string(out, "é")
    wire.write_nullable_string(out, None)
    wire.write_compact_nullable_string(out, None)
    wire.write_bytes(out, b"z")
    wire.write_compact_bytes(out, b"z")
    wire.write_nullable_bytes(out, None)
    wire.write_compact_nullable_bytes(out, None)
    assert out == b"\x00\x02\xc3\xa9\x03\xc3\xa9\xff\xff\x00\x00\x00\x00\x01z\x02z\xff\xff\xff\xff\x00"


@pytest.mark.parametrize("read", SIZED_READERS)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\x7f",
        b"\x7f\xff",
        b"\x7f\xff\xff",
        b"\x7f\xff\xff\xff!",
        b"\x80\x01!",
        b"\xff\xff\xff\xff\x07!",
    ],
)
def test_a_length_beyond_the_end_of_the_frame_is_refused(read: Reader, data: bytes) -> None:
    if read.__name__.startswith("read_compact_nullable") and data == b"\x00":
        assert read(data, 0) == (None, 1)
    elif read is wire.read_nullable_string and data[:2] == b"\xff\xff":
        assert read(data, 0) == (None, 2)
    elif read.__name__.startswith("read_nullable") and data[:4] == b"\xff\xff\xff\xff":
        assert read(data, 0) == (None, 4)
    else:
        with pytest.raises(ProtocolError):
            read(data, 0)


@pytest.mark.parametrize(
    "read", [wire.read_nullable_string, wire.read_nullable_bytes, wire.read_nullable_records]
)
def test_a_negative_length_other_than_minus_one_is_refused(read: Reader) -> None:
    with pytest.raises(ProtocolError):
        read(b"\xff\xff\xff\xfe" if read is not wire.read_nullable_string else b"\xff\xfe", 0)


def test_a_string_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(ProtocolError, match="UTF-8"):
        wire.read_string(b"\x00\x02\xc3\x28", 0)
    with pytest.raises(ProtocolError, match="UTF-8"):
        wire.read_compact_string(b"\x03\xc3\x28", 0)
    with pytest.raises(ProtocolError, match="surrogate"):
        wire.write_string(bytearray(), "\ud800")


def test_a_string_longer_than_an_int16_is_refused_in_both_forms() -> None:
    longest = "x" * 0x7FFF
    out = bytearray()
    wire.write_compact_string(out, longest)
    assert wire.read_compact_string(out, 0) == (longest, len(out))
    for write in (wire.write_string, wire.write_compact_string):
        with pytest.raises(ProtocolError, match="longer than"):
            write(bytearray(), longest + "x")
    out = bytearray()
    wire.write_compact_bytes(out, b"x" * 0x8000)
    with pytest.raises(ProtocolError, match="longer than"):
        wire.read_compact_nullable_string(out, 0)


@pytest.mark.parametrize("element_size_min", [1, 4, 9])
def test_an_array_is_refused_unless_its_elements_can_all_be_there(element_size_min: int) -> None:
    body = bytes(3 * element_size_min)
    assert wire.read_array_length(b"\x00\x00\x00\x03" + body, 0, element_size_min) == (3, 4)
    assert wire.read_compact_array_length(b"\x04" + body, 0, element_size_min) == (3, 1)
    for read, head in (
        (wire.read_array_length, b"\x00\x00\x00\x04"),
        (wire.read_nullable_array_length, b"\x00\x00\x00\x04"),
        (wire.read_compact_array_length, b"\x05"),
        (wire.read_compact_nullable_array_length, b"\x05"),
    ):
        with pytest.raises(ProtocolError, match="cannot fit"):
            read(head + body, 0, element_size_min)


def test_a_null_array_is_minus_one_where_it_may_be_null() -> None:
    assert wire.read_nullable_array_length(b"\xff\xff\xff\xff", 0, 1) == (-1, 4)
    assert wire.read_compact_nullable_array_length(b"\x00", 0, 1) == (-1, 1)
    for read, data in (
        (wire.read_array_length, b"\xff\xff\xff\xff"),
        (wire.read_compact_array_length, b"\x00"),
        (wire.read_nullable_array_length, b"\xff\xff\xff\xfe"),
    ):
        with pytest.raises(ProtocolError):
            read(data, 0, 1)


@pytest.mark.parametrize(
    ("write", "read", "numbers"),
    [
        (wire.write_int8s, wire.read_int8s, [-128, 127]),
        (wire.write_int16s, wire.read_int16s, [-(2**15), 2**15 - 1]),
        (wire.write_int32s, wire.read_int32s, [-(2**31), 2**31 - 1]),
        (wire.write_int64s, wire.read_int64s, [-(2**63), 2**63 - 1]),
    ],
)
def test_numbers_round_trip_and_are_never_read_past_the_end(
    write: Callable[[bytearray, list[int]], None],
    read: Callable[[wire.Buffer, int, int], tuple[list[int], int]],
    numbers: list[int],
) -> None:
    out = bytearray()
    write(out, numbers)
    assert read(out, 0, 2) == (numbers, len(out))
    with pytest.raises(ProtocolError):
        read(out, 0, 3)


def test_uuids_are_sixteen_bytes_each() -> None:
    uuids = [wire.ZERO_UUID, bytes(range(16))]
    out = bytearray()
    wire.write_uuids(out, uuids)
    assert wire.read_uuids(memoryview(out), 0, 2) == (uuids, 32)
    with pytest.raises(ProtocolError):
        wire.read_uuids(out, 1, 2)


@pytest.mark.parametrize(
    "data", [b"\x01", b"\x01\x00\x05abc", b"\x02\x00\x00", b"\xff\xff\xff\xff\x0f\x00\x00"]
)
def test_tagged_fields_that_do_not_fit_the_frame_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        wire.skip_tagged_fields(data, 0)


def test_skipping_tagged_fields_consumes_exactly_their_bytes() -> None:
    out = bytearray()
    wire.write_tagged_fields(out, [(3, bytearray(b"abc")), (300, bytearray(b""))])
    assert out == b"\x02\x03\x03abc\xac\x02\x00"
    assert wire.skip_tagged_fields(out, 0) == len(out)
