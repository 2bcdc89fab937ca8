import pytest

from penstock.protocol.compression import Codec
from penstock.protocol.records.batch import HEADER_SIZE, crc_is_valid, parse_header
from penstock.protocol.records.builder import BatchBuilder, NewRecord, build_batch, encode_varint
from penstock.protocol.records.record import Record, decode_records


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, b"\x00"),
        (-1, b"\x01"),
        (63, b"\x7e"),
        (-64, b"\x7f"),
        (64, b"\x80\x01"),
        (-65, b"\x81\x01"),
        (2**31 - 1, b"\xfe\xff\xff\xff\x0f"),
        (-(2**63), b"\xff" * 9 + b"\x01"),
    ],
)
def test_varints_are_zigzag(value: int, encoded: bytes) -> None:
    assert encode_varint(value) == encoded


def test_the_builder_knows_its_size_before_it_builds() -> None:
    builder = BatchBuilder()
    assert builder.size_bytes == HEADER_SIZE
    assert [builder.append(b"k", b"v" * n, timestamp=5) for n in (1, 200)] == [0, 1]
    assert len(builder) == 2
    assert len(builder.build()) == builder.size_bytes


def test_gaps_between_offsets_are_kept_as_compaction_leaves_them() -> None:
    records = [Record(10, 1, b"a", b"1"), Record(13, 2, b"b", b"2"), Record(19, 3, b"c", b"3")]
    batch = build_batch(records, base_offset=10)
    assert decode_records(batch) == records
    assert parse_header(batch).last_offset == 19
    assert parse_header(batch).record_count == 3


def test_an_offset_that_does_not_grow_is_a_bug_of_the_caller() -> None:
    builder = BatchBuilder(5)
    builder.append(b"k", b"v", offset=7)
    with pytest.raises(ValueError, match="offset 7"):
        builder.append(b"k", b"v", offset=7)


def test_timestamps_may_go_backwards_within_a_batch() -> None:
    batch = build_batch([NewRecord(b"k", b"v", (), stamp) for stamp in (1000, 400, 1200)])
    assert [record.timestamp for record in decode_records(batch)] == [1000, 400, 1200]
    assert parse_header(batch).base_timestamp == 1000
    assert parse_header(batch).max_timestamp == 1200


def test_log_append_time_dates_all_records() -> None:
    batch = build_batch([NewRecord(b"k", b"v", (), stamp) for stamp in (1000, 400)], append_timestamp=9000)
    assert parse_header(batch).is_log_append_time
    assert [record.timestamp for record in decode_records(batch)] == [9000, 9000]


@pytest.mark.parametrize("codec", list(Codec))
def test_a_built_batch_has_a_valid_crc(codec: Codec) -> None:
    batch = build_batch([NewRecord(b"k", b"v" * 500)] * 20, codec=codec)
    assert crc_is_valid(batch, 0, len(batch))
    assert parse_header(batch).codec is codec
