import pytest

from penstock.protocol.compression import Codec
from penstock.protocol.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    advance_sequence,
    compute_crc,
    crc_is_valid,
    iter_batches,
    iter_batches_strict,
    parse_header,
    set_base_offset_and_epoch,
    set_max_timestamp,
)
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import decode_records


def batch_of(count: int, base_offset: int = 0) -> bytes:
    return build_batch([NewRecord(b"k", b"v", (), 1000 + n) for n in range(count)], base_offset=base_offset)


def header_with(**fields: int) -> BatchHeader:
    values = dict.fromkeys(BatchHeader.__struct_fields__, 0) | fields
    return BatchHeader(**values)


def test_every_header_field_is_parsed() -> None:
    batch = build_batch(
        [NewRecord(b"k", b"v", (), 1000), NewRecord(b"k", b"v", (), 1500), NewRecord(b"k", b"v", (), 1200)],
        base_offset=70,
        codec=Codec.ZSTD,
        producer_id=9_000_000_000,
        producer_epoch=3,
        base_sequence=17,
        is_transactional=True,
        leader_epoch=8,
    )
    header = parse_header(b"padding" + batch, 7)
    assert header.base_offset == 70
    assert header.batch_length == len(batch) - 12
    assert header.leader_epoch == 8
    assert header.magic == 2
    assert header.crc == compute_crc(batch, 0, len(batch))
    assert header.last_offset_delta == 2
    assert header.base_timestamp == 1000
    assert header.max_timestamp == 1500
    assert header.producer_id == 9_000_000_000
    assert header.producer_epoch == 3
    assert header.base_sequence == 17
    assert header.record_count == 3
    assert header.size_bytes == len(batch)
    assert (header.last_offset, header.next_offset) == (72, 73)
    assert header.last_sequence == 19
    assert header.codec is Codec.ZSTD
    assert header.is_compressed
    assert header.is_transactional
    assert not header.is_control
    assert not header.is_log_append_time
    assert header.has_producer_id
    assert header.delete_horizon_ms is None


def test_a_delete_horizon_is_stored_in_the_base_timestamp() -> None:
    assert header_with(attributes=0x40, base_timestamp=77).delete_horizon_ms == 77


def test_a_header_cut_short_is_corrupt() -> None:
    with pytest.raises(CorruptRecords):
        parse_header(batch_of(1)[: HEADER_SIZE - 1])


def test_a_codec_that_does_not_exist_is_corrupt() -> None:
    with pytest.raises(CorruptRecords, match="codec 5"):
        _ = header_with(attributes=5).codec


@pytest.mark.parametrize(
    ("sequence", "increment", "expected"),
    [(0, 0, 0), (5, 3, 8), (2**31 - 1, 0, 2**31 - 1), (2**31 - 1, 1, 0), (2**31 - 3, 10, 7)],
)
def test_sequences_start_over_at_zero_after_the_greatest_int32(
    sequence: int, increment: int, expected: int
) -> None:
    assert advance_sequence(sequence, increment) == expected
    assert header_with(base_sequence=sequence, last_offset_delta=increment).last_sequence == expected


def test_a_batch_without_sequence_has_no_last_sequence() -> None:
    assert header_with(base_sequence=-1, last_offset_delta=4).last_sequence == -1


def test_batches_are_found_one_after_the_other() -> None:
    first, second = batch_of(3), batch_of(2, base_offset=3)
    found = [(position, header.base_offset) for position, header in iter_batches(memoryview(first + second))]
    assert found == [(0, 0), (len(first), 3)]


@pytest.mark.parametrize("left", [1, 12, HEADER_SIZE - 1, HEADER_SIZE, HEADER_SIZE + 1])
def test_a_partial_last_batch_ends_the_iteration_and_is_an_error_when_strict(left: int) -> None:
    whole = batch_of(3)
    torn = whole + batch_of(2)[:left]
    assert [position for position, _ in iter_batches(torn)] == [0]
    with pytest.raises(CorruptRecords, match=f"{left} bytes after"):
        list(iter_batches_strict(torn))


def test_strict_iteration_returns_whole_batches() -> None:
    assert [position for position, _ in iter_batches_strict(batch_of(1) * 2)] == [0, len(batch_of(1))]
    assert list(iter_batches_strict(b"")) == []


@pytest.mark.parametrize(("position", "value"), [(16, 1), (16, 255), (8, 0xFF), (11, 0)])
def test_an_impossible_magic_or_length_is_corrupt(position: int, value: int) -> None:
    batch = bytearray(batch_of(1))
    batch[8:12] = batch[8:12] if position == 16 else bytes(4)
    batch[position] = value
    with pytest.raises(CorruptRecords):
        list(iter_batches(batch))


def test_the_crc_detects_a_flip_of_any_bit_that_it_covers() -> None:
    batch = bytearray(batch_of(2))
    assert crc_is_valid(batch, 0, len(batch))
    for position in range(17, len(batch)):
        batch[position] ^= 0x10
        assert not crc_is_valid(batch, 0, len(batch))
        batch[position] ^= 0x10


def test_a_size_that_does_not_fit_has_no_valid_crc() -> None:
    batch = batch_of(1)
    assert not crc_is_valid(batch, 0, len(batch) + 1)
    assert not crc_is_valid(batch, 0, HEADER_SIZE - 1)


def test_offset_and_epoch_are_patched_without_touching_the_crc() -> None:
    buffer = bytearray(b"xx" + batch_of(3))
    set_base_offset_and_epoch(memoryview(buffer), 2, 1_000_000, 7)
    header = parse_header(buffer, 2)
    assert (header.base_offset, header.leader_epoch) == (1_000_000, 7)
    assert crc_is_valid(buffer, 2, header.size_bytes)
    assert [record.offset for record in decode_records(buffer, pos=2)] == [1_000_000, 1_000_001, 1_000_002]


def test_log_append_time_is_patched_with_a_new_crc_and_dates_every_record() -> None:
    buffer = bytearray(b"xx" + batch_of(3) + b"behind")
    set_max_timestamp(buffer, 2, is_log_append_time=True, max_timestamp=5000)
    header = parse_header(buffer, 2)
    assert header.is_log_append_time
    assert crc_is_valid(buffer, 2, header.size_bytes)
    assert {record.timestamp for record in decode_records(buffer, pos=2)} == {5000}
    set_max_timestamp(buffer, 2, is_log_append_time=False, max_timestamp=1002)
    assert bytes(buffer[2:-6]) == batch_of(3)
