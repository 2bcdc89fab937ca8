"""What is written to a journal file is read back, and nothing else is."""

import pytest

from penstock.storage.journal.entries import (
    ENTRY_BYTES,
    DurableSegments,
    FileHeader,
    Kind,
    NotAJournal,
    Start,
    decode_entry,
    decode_header,
    decode_segments,
    decode_start,
    encode_entry,
    encode_header,
    encode_segments,
    encode_start,
)

TOPIC_ID = bytes(range(16))
NONCE = bytes(range(100, 116))


def entry(header_crc: int, payload: bytes, round_number: int = 1) -> bytes:
    return (
        encode_entry(
            header_crc, Kind.APPEND, round_number, TOPIC_ID, 3, 7, 100, 110, (payload,), len(payload)
        )
        + payload
    )


def test_an_entry_is_read_as_it_was_written() -> None:
    _, crc = encode_header(5, NONCE)
    found = decode_entry(memoryview(entry(crc, b"batches", 9)), 0, crc)
    assert found is not None
    assert (found.kind, found.round, found.topic_id, found.partition) == (Kind.APPEND, 9, TOPIC_ID, 3)
    assert (found.leader_epoch, found.base_offset, found.end_offset) == (7, 100, 110)
    assert bytes(found.payload) == b"batches"


def test_a_header_is_read_as_it_was_written() -> None:
    data, crc = encode_header(5, NONCE)
    assert decode_header(data) == FileHeader(number=5, crc=crc)


def test_a_header_with_one_damaged_copy_is_read_from_the_other() -> None:
    data, crc = encode_header(5, NONCE)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1
        assert decode_header(damaged) == FileHeader(number=5, crc=crc), position


def test_a_header_with_both_copies_damaged_is_refused() -> None:
    data = bytearray(encode_header(5, NONCE)[0])
    data[20] ^= 1
    data[532] ^= 1
    with pytest.raises(NotAJournal):
        decode_header(data)


def test_a_header_write_that_is_torn_at_any_byte_leaves_the_old_header_or_the_new_one() -> None:
    old, old_crc = encode_header(5, NONCE)
    new, new_crc = encode_header(9, NONCE)
    for size in range(len(new) + 1):
        found = decode_header(new[:size] + old[size:])
        assert found in (FileHeader(number=5, crc=old_crc), FileHeader(number=9, crc=new_crc)), size


def test_the_start_of_a_file_is_read_as_it_was_written() -> None:
    _, crc = encode_header(5, NONCE)
    found = decode_entry(memoryview(encode_start(crc, 9, Start(3, 4, 1234, 5))), 0, crc)
    assert found is not None
    assert decode_start(found) == Start(oldest_number=3, previous_number=4, previous_bytes=1234, file_count=5)


def test_partitions_with_durable_segments_are_read_as_they_were_written() -> None:
    _, crc = encode_header(5, NONCE)
    segments = [DurableSegments(TOPIC_ID, number, 100 + number) for number in range(3)]
    found = decode_entry(memoryview(encode_segments(crc, 9, segments)), 0, crc)
    assert found is not None
    assert list(decode_segments(found)) == segments


def test_an_entry_with_any_byte_flipped_is_not_taken() -> None:
    _, crc = encode_header(5, NONCE)
    sound = entry(crc, b"batches")
    for position in range(len(sound)):
        damaged = bytearray(sound)
        damaged[position] ^= 0x10
        assert decode_entry(memoryview(damaged), 0, crc) is None, position


def test_an_entry_that_ends_before_its_payload_is_not_taken() -> None:
    _, crc = encode_header(5, NONCE)
    sound = entry(crc, b"batches")
    for size in range(len(sound)):
        assert decode_entry(memoryview(sound)[:size], 0, crc) is None, size


def test_an_entry_of_an_earlier_use_of_the_file_is_not_taken() -> None:
    _, earlier = encode_header(5, NONCE)
    _, now = encode_header(5, bytes(16))
    assert decode_entry(memoryview(entry(earlier, b"batches")), 0, now) is None
    assert decode_entry(memoryview(bytes(ENTRY_BYTES)), 0, now) is None
