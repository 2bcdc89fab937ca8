import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol.compression import Codec
from penstock.protocol.records.batch import NO_TIMESTAMP
from penstock.protocol.records.builder import (
    NewRecord,
    assemble_batch,
    build_batch,
    encode_record,
    encode_varint,
)
from penstock.protocol.records.errors import CorruptRecords, DecompressedTooLarge
from penstock.protocol.records.record import Record, decode_records, iter_records, read_varint, read_varlong
from tests.protocol.records.strategies import record_lists


def batch_around(section: bytes, count: int) -> bytes:
    return assemble_batch(
        section,
        base_offset=0,
        leader_epoch=-1,
        attributes=0,
        last_offset_delta=count - 1,
        base_timestamp=1000,
        max_timestamp=1000,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=count,
    )


@given(records=record_lists, codec=st.sampled_from(list(Codec)), base_offset=st.integers(0, 2**62))
def test_records_round_trip(records: list[NewRecord], codec: Codec, base_offset: int) -> None:
    decoded = decode_records(build_batch(records, codec=codec, base_offset=base_offset))
    expected = [
        Record(base_offset + index, r.timestamp, r.key, r.value, r.headers) for index, r in enumerate(records)
    ]
    assert decoded == expected


@given(st.integers(-(2**31), 2**31 - 1))
def test_varints_round_trip(value: int) -> None:
    encoded = encode_varint(value)
    assert read_varint(encoded, 0, len(encoded)) == (value, len(encoded))


@given(st.integers(-(2**63), 2**63 - 1))
def test_varlongs_round_trip(value: int) -> None:
    encoded = encode_varint(value)
    assert read_varlong(encoded, 0, len(encoded)) == (value, len(encoded))


@pytest.mark.parametrize("encoded", [b"", b"\x80", b"\x80\x80\x80\x80\x80", b"\xff\xff\xff\xff\xff\x01"])
def test_a_varint_that_does_not_end_in_time_is_corrupt(encoded: bytes) -> None:
    with pytest.raises(CorruptRecords):
        read_varint(encoded, 0, len(encoded))


def test_a_varlong_of_eleven_bytes_is_corrupt() -> None:
    with pytest.raises(CorruptRecords):
        read_varlong(b"\x80" * 10 + b"\x01", 0, 11)


GOOD = encode_record(0, 0, b"key", b"value", [("h", b"x")])


@pytest.mark.parametrize(
    ("section", "count"),
    [
        (GOOD, 2),
        (GOOD, 0),
        (GOOD, -1),
        (GOOD[:-1], 1),
        (GOOD + b"\x00", 1),
        (encode_varint(-5) + GOOD[1:], 1),
        (b"\x00", 1),
        (encode_varint(len(GOOD) - 2) + GOOD[1:], 1),
        (encode_varint(len(GOOD)) + GOOD[1:] + b"\x00", 1),
        (encode_varint(7) + b"\x00\x00\x00" + encode_varint(50) + b"abc", 1),  # a key beyond its record
        (encode_varint(6) + b"\x00\x00\x00\x01\x01" + encode_varint(-1), 1),  # a negative count of headers
        (encode_varint(6) + b"\x00\x00\x00\x01\x01" + encode_varint(30), 1),  # more headers than bytes
        (
            encode_varint(8) + b"\x00\x00\x00\x01\x01\x02" + encode_varint(-1) + b"\x01",
            1,
        ),  # a header without key
    ],
)
def test_a_malformed_section_is_corrupt(section: bytes, count: int) -> None:
    with pytest.raises(CorruptRecords):
        decode_records(batch_around(section, count))


def test_an_empty_batch_as_compaction_leaves_it_has_no_records() -> None:
    assert decode_records(batch_around(b"", 0)) == []


def test_records_before_a_malformed_one_are_still_seen_by_the_iterator() -> None:
    records = iter_records(batch_around(GOOD + b"\x00", 2))
    assert next(records).value == b"value"
    with pytest.raises(CorruptRecords):
        next(records)


def test_a_header_key_that_is_not_utf8_is_replaced_as_java_does() -> None:
    section = (
        encode_varint(11)
        + b"\x00\x00\x00\x01\x01\x02"
        + encode_varint(2)
        + b"\xffa"
        + encode_varint(1)
        + b"v"
    )
    assert decode_records(batch_around(section, 1))[0].headers == (("�a", b"v"),)


def test_a_batch_of_another_magic_or_beyond_its_buffer_is_corrupt() -> None:
    batch = bytearray(batch_around(GOOD, 1))
    batch[16] = 1
    with pytest.raises(CorruptRecords, match="magic 1"):
        decode_records(batch)
    with pytest.raises(CorruptRecords, match="does not fit"):
        decode_records(batch_around(GOOD, 1)[:-1])


def test_the_bound_on_decompressed_bytes_holds() -> None:
    batch = build_batch([NewRecord(None, bytes(10_000))], codec=Codec.GZIP)
    with pytest.raises(DecompressedTooLarge):
        decode_records(batch, decompressed_bytes_max=5_000)


def test_a_timestamp_that_overflows_wraps_as_in_java() -> None:
    section = encode_record(2**63 - 1, 0, None, None)
    assert decode_records(batch_around(section, 1))[0].timestamp == 1000 + 2**63 - 1 - 2**64


def test_records_without_a_timestamp_have_none() -> None:
    assert decode_records(build_batch([NewRecord(b"k", b"v")]))[0].timestamp == NO_TIMESTAMP
