import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol.records.batch import HEADER_SIZE
from penstock.protocol.records.builder import (
    NewRecord,
    assemble_batch,
    build_batch,
    encode_record,
    encode_varint,
)
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import decode_records
from penstock.protocol.records.walk import walk_records
from tests.protocol.records.strategies import record_lists


def section_of(records: list[NewRecord]) -> bytes:
    return build_batch(records)[HEADER_SIZE:]


def oracle(section: bytes, count: int) -> tuple[int, int, bool] | None:
    """The result of the plain decoder for the same bytes; None if it refuses them."""
    batch = assemble_batch(
        section,
        base_offset=0,
        leader_epoch=-1,
        attributes=0,
        last_offset_delta=count - 1,
        base_timestamp=0,
        max_timestamp=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=count,
    )
    try:
        records = decode_records(batch)
    except CorruptRecords:
        return None
    if not records or [record.offset for record in records] != list(range(len(records))):
        return None
    stamps = [record.timestamp for record in records]
    return min(stamps), max(stamps), any(record.key is None for record in records)


def walked(section: bytes, count: int) -> tuple[int, int, bool] | None:
    try:
        return walk_records(section, count)
    except CorruptRecords:
        return None


@given(records=record_lists)
def test_the_walk_agrees_with_the_decoder(records: list[NewRecord]) -> None:
    section = section_of(records)
    assert walk_records(section, len(records)) == oracle(section, len(records))


@given(records=record_lists, data=st.data())
def test_the_walk_and_the_decoder_refuse_the_same_bytes(
    records: list[NewRecord], data: st.DataObject
) -> None:
    section = bytearray(section_of(records))
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(section) - 1))
        section[position] = data.draw(st.integers(0, 255))
    count = len(records) + data.draw(st.sampled_from([0, 0, 0, 1, -1]))
    assert walked(bytes(section), count) == oracle(bytes(section), count)


def test_every_structural_byte_of_a_run_of_equal_records_is_checked() -> None:
    rng = random.Random(7)
    for key in (None, b"k" * 5):
        stamps = [0, 3, 1, 70, 5000] if key else [0]
        for stamp in stamps:
            records = [NewRecord(key, b"v" * 9, (), 1000)] + [
                NewRecord(key, b"v" * 9, (), 1000 + stamp)
            ] * 199
            section = section_of(records)
            assert walked(section, 200) == (0, stamp, key is None)
            for _ in range(400):
                mutated = bytearray(section)
                mutated[rng.randrange(len(mutated))] = rng.choice(
                    [0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)]
                )
                assert walked(bytes(mutated), 200) == oracle(bytes(mutated), 200)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 8191, 8192, 8193, 8300])
def test_offset_deltas_of_every_width_are_walked(count: int) -> None:
    section = b"".join(encode_record(n % 3, n, None, b"xy") for n in range(count))
    assert walk_records(section, count) == (0, min(count - 1, 2), True)


@pytest.mark.parametrize("wrong", [5, 63, 64, 150, 199])
@pytest.mark.parametrize("size", [3, 80])
def test_a_wrong_offset_delta_is_found_at_any_position(wrong: int, size: int) -> None:
    deltas = list(range(200))
    deltas[wrong] -= 1
    section = b"".join(encode_record(0, n, b"k", bytes(size)) for n in deltas)
    with pytest.raises(CorruptRecords, match=f"record {wrong} "):
        walk_records(section, 200)


def test_timestamp_deltas_of_all_widths_and_signs_count() -> None:
    deltas = [0, -1, 63, -64, 64, 8191, -8192, 2**40, -(2**40), 5]
    section = b"".join(encode_record(delta, n, b"k", b"v") for n, delta in enumerate(deltas))
    assert walk_records(section, len(deltas)) == (-(2**40), 2**40, False)


@pytest.mark.parametrize("first", [0, 70])
def test_timestamp_deltas_within_a_run_count(first: int) -> None:
    deltas = [first] * 5 + [first + n for n in (1, 2, 30, 3, 9)] + [first] * 50
    section = b"".join(encode_record(delta, n, b"k", b"v" * 20) for n, delta in enumerate(deltas))
    assert walk_records(section, len(deltas)) == (first, first + 30, False)


def test_negative_timestamp_deltas_within_a_run_count() -> None:
    deltas = [0] * 5 + [-7, 4, -2] + [0] * 50
    section = b"".join(encode_record(delta, n, b"k", b"v" * 20) for n, delta in enumerate(deltas))
    assert walk_records(section, len(deltas)) == (-7, 4, False)


def test_one_null_key_after_many_keys_is_noticed() -> None:
    keys: list[bytes | None] = [b"k"] * 40
    section = b"".join(encode_record(0, n, key, b"v") for n, key in enumerate([*keys, None]))
    assert walk_records(section, 41) == (0, 0, True)
    assert walk_records(section[: -len(encode_record(0, 40, None, b"v"))], 40) == (0, 0, False)


@pytest.mark.parametrize("count", [0, -1, 2**31 - 1])
def test_an_impossible_count_is_refused_before_the_walk(count: int) -> None:
    with pytest.raises(CorruptRecords):
        walk_records(encode_record(0, 0, None, b"v"), count)


def test_a_record_size_near_the_limit_of_int32_is_refused() -> None:
    with pytest.raises(CorruptRecords):
        walk_records(encode_varint(2**31 - 1) + bytes(100), 1)


@pytest.mark.parametrize("size", [3, 80])
@pytest.mark.parametrize("claimed", [9, 30, 98, 99, 101, 102])
def test_a_count_that_is_not_the_number_of_equal_records_is_refused(claimed: int, size: int) -> None:
    section = b"".join(encode_record(0, n, b"k", bytes(size)) for n in range(100))
    assert walk_records(section, 100) == (0, 0, False)
    with pytest.raises(CorruptRecords):
        walk_records(section, claimed)
