"""Confluent's framing, byte by byte."""

import pytest

from penstock.spark.decode.batch import Rejected
from penstock.spark.decode.framing import split_frame, split_indexes


def test_the_id_and_the_body_are_taken_apart() -> None:
    assert split_frame(b"\x00\x00\x00\x01\x02body") == (258, b"body")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"", "empty value"),
        (b"\x01\x00\x00\x00\x01", "unknown magic byte 1"),
        (b'{"a":1}', "unknown magic byte 123"),
        (b"\x00\x00\x00", "truncated: 3 bytes"),
    ],
)
def test_a_value_without_framing_is_rejected_with_the_reason(value: bytes, expected: str) -> None:
    with pytest.raises(Rejected, match=expected):
        split_frame(value)


@pytest.mark.parametrize(
    ("rest", "path"),
    [(b"\x00body", (0,)), (b"\x02\x00body", (0,)), (b"\x02\x02body", (1,)), (b"\x04\x02\x06body", (1, 3))],
)
def test_message_indexes_are_a_path(rest: bytes, path: tuple[int, ...]) -> None:
    assert split_indexes(rest) == (path, b"body")


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (b"", "truncated"),
        (b"\x04\x02", "truncated"),
        (b"\x01", "-1 message indexes"),
        (b"\xff\xff\xff\xff\x0f", "message indexes"),
        (b"\xff" * 19, "do not end"),
    ],
)
def test_bad_message_indexes_are_rejected_with_the_reason(rest: bytes, expected: str) -> None:
    with pytest.raises(Rejected, match=expected):
        split_indexes(rest)
