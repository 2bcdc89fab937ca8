"""Partitions as Kafka's clients choose them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.partitioner import murmur2
from penstock.spark.sink.partitioner import KEYLESS_ROWS, Partitioner, murmur2_of


@pytest.mark.parametrize(
    ("key", "expected"),
    [  # the values of Kafka's own test of its hash
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_hashes_are_those_of_kafkas_default_partitioner(key: bytes, expected: int) -> None:
    assert murmur2(key) == expected & 0xFFFFFFFF
    assert murmur2_of(pa.array([key]))[0] == expected & 0xFFFFFFFF


@given(st.lists(st.binary(max_size=300) | st.none(), max_size=40), st.integers(0, 5))
def test_many_keys_at_once_hash_as_each_alone(keys: list[bytes | None], start: int) -> None:
    column = pa.array(keys, pa.binary()).slice(min(start, len(keys)))
    hashes = murmur2_of(column)
    for hash_, key in zip(hashes.tolist(), column.to_pylist(), strict=True):
        assert key is None or hash_ == murmur2(key)


def test_a_key_always_goes_to_the_same_partition_and_rows_without_one_take_turns() -> None:
    partitioner = Partitioner(first=2)
    keys = pa.array([b"foobar", None, b"foobar", None], pa.binary())
    first = partitioner.partitions("t", keys, 4, 3)
    assert first[0] == first[2] == (murmur2(b"foobar") & 0x7FFFFFFF) % 3
    assert first[1] == first[3] == 2, "they stay together, beginning where the task says"
    rest = partitioner.partitions("t", None, KEYLESS_ROWS, 3)
    assert rest.tolist() == [2] * (KEYLESS_ROWS - 2) + [0, 0]


def test_rows_without_keys_spread_over_all_partitions() -> None:
    chosen = Partitioner(first=0).partitions("t", None, 6 * KEYLESS_ROWS, 3)
    assert np.bincount(chosen).tolist() == [2 * KEYLESS_ROWS] * 3
