"""Varints of many records at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.arrow.varints import add_record_starts, read_varints
from penstock.protocol.records.errors import CorruptRecords


def zigzag(value: int) -> bytes:
    raw = (value << 1) ^ (value >> 63)
    raw &= 2**64 - 1
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-70, 70) | st.integers(0, 9000), min_size=1))
def test_numbers_of_every_width_are_read_side_by_side(values: list[int]) -> None:
    encoded = [zigzag(value) for value in values]
    starts = np.cumsum([0] + [len(each) for each in encoded])
    read, after = read_varints(np.frombuffer(b"".join(encoded), np.uint8), starts[:-1])
    assert read.tolist() == values
    assert after.tolist() == starts[1:].tolist()


def test_a_varint_without_end_is_refused() -> None:
    with pytest.raises(CorruptRecords):
        read_varints(np.frombuffer(b"\xff" * 20, np.uint8), np.array([0]))


@given(st.lists(st.integers(6, 100) | st.integers(8190, 8200) | st.just(70_000), min_size=1, max_size=20))
def test_records_are_found_by_their_sizes(sizes: list[int]) -> None:
    records = [zigzag(size) + bytes(size) for size in sizes]
    data = b"head" + b"".join(records) + b"tail"
    starts: list[int] = [99]
    add_record_starts(starts, data, 4, len(data) - 4, len(records))
    assert starts == [99, *(4 + np.cumsum([0] + [len(record) for record in records[:-1]])).tolist()]


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (zigzag(6) + bytes(6), 2),
        (zigzag(6) + bytes(5), 1),
        (zigzag(6) + bytes(7), 1),
        (zigzag(-6) + bytes(6), 1),
        (b"\xff" * 9, 1),
        (b"", 1),
        (zigzag(10_000) + bytes(50), 1),
    ],
)
def test_records_that_do_not_fill_their_batch_exactly_are_refused(data: bytes, count: int) -> None:
    with pytest.raises(CorruptRecords):
        add_record_starts([], data, 0, len(data), count)
