"""What is written to a journal file is read back, and nothing else is."""

import pytest

from penstock.storage.journal.entries import (
    ENTRY_BYTES,
    Kind,
    NotAJournal,
    decode_entry,
    decode_header,
    encode_entry,
    encode_header,
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
    _, crc = encode_header(5, 4, 9, 0, NONCE)
    found = decode_entry(memoryview(entry(crc, b"batches", 9)), 0, crc)
    assert found is not None
    assert (found.kind, found.round, found.topic_id, found.partition) == (Kind.APPEND, 9, TOPIC_ID, 3)
    assert (found.leader_epoch, found.base_offset, found.end_offset) == (7, 100, 110)
    assert bytes(found.payload) == b"batches"


def test_a_header_is_read_as_it_was_written() -> None:
    data, crc = encode_header(5, 4, 9, 1234, NONCE)
    header = decode_header(data)
    assert (header.number, header.oldest_number, header.first_round) == (5, 4, 9)
    assert (header.bytes_before, header.crc) == (1234, crc)


@pytest.mark.parametrize("position", range(64))
def test_a_header_with_any_byte_flipped_is_refused(position: int) -> None:
    data = bytearray(encode_header(5, 4, 9, 1234, NONCE)[0])
    data[position] ^= 1
    if position in (10, 11):  # reserved
        decode_header(data)
    else:
        with pytest.raises(NotAJournal):
            decode_header(data)


def test_an_entry_with_any_byte_flipped_is_not_taken() -> None:
    _, crc = encode_header(5, 4, 9, 0, NONCE)
    sound = entry(crc, b"batches")
    for position in range(len(sound)):
        damaged = bytearray(sound)
        damaged[position] ^= 0x10
        assert decode_entry(memoryview(damaged), 0, crc) is None, position


def test_an_entry_that_ends_before_its_payload_is_not_taken() -> None:
    _, crc = encode_header(5, 4, 9, 0, NONCE)
    sound = entry(crc, b"batches")
    for size in range(len(sound)):
        assert decode_entry(memoryview(sound)[:size], 0, crc) is None, size


def test_an_entry_of_an_earlier_use_of_the_file_is_not_taken() -> None:
    _, earlier = encode_header(5, 4, 9, 0, NONCE)
    _, now = encode_header(5, 4, 9, 0, bytes(16))
    assert decode_entry(memoryview(entry(earlier, b"batches")), 0, now) is None
    assert decode_entry(memoryview(bytes(ENTRY_BYTES)), 0, now) is None
