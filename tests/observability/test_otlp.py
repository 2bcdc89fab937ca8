import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.observability.otlp import NotOtlp, Point, parse


def field(number: int, payload: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def attribute(number: int, key: str, value: str) -> bytes:
    return field(number, field(1, key.encode()) + field(2, field(1, value.encode())))


def data(*metrics: bytes) -> bytes:
    return field(1, field(2, b"".join(field(2, metric) for metric in metrics)))


DOUBLE = b"\x21"  # field 4, eight bytes
FIXED = b"\x31"  # field 6, eight bytes
SUM_OF_HISTOGRAM = b"\x29"  # field 5, eight bytes


def test_gauges_and_sums_are_read_with_their_attributes() -> None:
    gauge = field(1, b"a.b") + field(
        5, field(1, DOUBLE + struct.pack("<d", 2.5) + attribute(7, "node", "1") + attribute(7, "a", "z"))
    )
    total = field(1, b"c") + field(7, field(1, FIXED + struct.pack("<q", -3)) + b"\x10\x01")
    assert list(parse(data(gauge, total))) == [
        Point(name="a.b", kind="gauge", attributes=(("a", "z"), ("node", "1")), value=2.5, is_delta=False),
        Point(name="c", kind="counter", attributes=(), value=-3.0, is_delta=True),
    ]


def test_a_histogram_is_its_count_and_its_sum() -> None:
    point = DOUBLE + struct.pack("<q", 4) + SUM_OF_HISTOGRAM + struct.pack("<d", 1.5)
    histogram = field(1, b"h") + field(9, field(1, point) + b"\x10\x02")
    assert [(p.name, p.value, p.is_delta) for p in parse(data(histogram))] == [
        ("h.count", 4.0, False),
        ("h.sum", 1.5, False),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        b"\x0a",
        b"\x0a\x05abc",
        b"\x0a" + b"\xff" * 11,
        b"\x0f",
        b"\x08\x01",
        data(field(1, b"\xff")),
        data(field(5, field(1, b"\x21\x00"))),
    ],
)
def test_malformed_metrics_are_refused(wrong: bytes) -> None:
    with pytest.raises(NotOtlp):
        list(parse(wrong))


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_decoded_or_refused(anything: bytes) -> None:
    with contextlib.suppress(NotOtlp):
        list(parse(anything))
