"""Entries and headers of a journal file are read back as written, and damaged ones are not."""

import pytest

from penstock.protocol.records.crc import crc32c
from penstock.storage.files import Buffer
from penstock.storage.journal import entries
from penstock.storage.journal.entries import (
    ENTRY_BYTES,
    FileHeader,
    Kind,
    NotAJournal,
    Start,
    decode_entry,
    decode_header,
    decode_start,
    encode_entry,
    encode_header,
    encode_start,
)
from penstock.storage.journal.reading import find_entries

TOPIC_ID = bytes(range(16))
NONCE = bytes(range(100, 116))
DIRECTORY_ID = bytes(range(50, 66))


def entry(header_crc: int, payload: bytes, round_number: int = 1) -> bytes:
    return (
        encode_entry(
            header_crc, Kind.APPEND, round_number, 1, 2, TOPIC_ID, 3, 7, 100, 110, (payload,), len(payload)
        )
        + payload
    )


def test_an_entry_is_read_as_it_was_written() -> None:
    _, crc = encode_header(5, NONCE, DIRECTORY_ID)
    found = decode_entry(memoryview(entry(crc, b"batches", 9)), 0, crc)
    assert found is not None
    assert (found.kind, found.round, found.topic_id, found.partition) == (Kind.APPEND, 9, TOPIC_ID, 3)
    assert (found.index, found.count) == (1, 2)
    assert (found.leader_epoch, found.base_offset, found.end_offset) == (7, 100, 110)
    assert bytes(found.payload) == b"batches"


def test_a_header_is_read_as_it_was_written() -> None:
    data, crc = encode_header(5, NONCE, DIRECTORY_ID)
    assert decode_header(data) == FileHeader(5, crc, DIRECTORY_ID)


def test_a_header_with_one_damaged_copy_is_read_from_the_other() -> None:
    data, crc = encode_header(5, NONCE, DIRECTORY_ID)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1
        assert decode_header(damaged) == FileHeader(5, crc, DIRECTORY_ID), position


def test_a_header_with_both_copies_damaged_is_refused() -> None:
    data = bytearray(encode_header(5, NONCE, DIRECTORY_ID)[0])
    data[20] ^= 1
    data[532] ^= 1
    with pytest.raises(NotAJournal):
        decode_header(data)


def test_a_header_write_that_is_torn_at_any_byte_leaves_the_old_header_or_the_new_one() -> None:
    old, old_crc = encode_header(5, NONCE, DIRECTORY_ID)
    new, new_crc = encode_header(9, NONCE, DIRECTORY_ID)
    for size in range(len(new) + 1):
        found = decode_header(new[:size] + old[size:])
        assert found in (FileHeader(5, old_crc, DIRECTORY_ID), FileHeader(9, new_crc, DIRECTORY_ID)), size


def test_the_start_of_a_file_is_read_as_it_was_written() -> None:
    _, crc = encode_header(5, NONCE, DIRECTORY_ID)
    found = decode_entry(memoryview(encode_start(crc, 9, 2, Start(3, 8, 5))), 0, crc)
    assert found is not None
    assert decode_start(found) == Start(oldest_number=3, complete_round=8, file_count=5)


def test_an_entry_with_any_flipped_byte_is_skipped_or_reports_a_damaged_payload() -> None:
    _, crc = encode_header(5, NONCE, DIRECTORY_ID)
    sound = entry(crc, b"batches")
    for position in range(len(sound)):
        damaged = bytearray(sound)
        damaged[position] ^= 0x10
        found = decode_entry(memoryview(damaged), 0, crc)
        assert (found is None) == (position < ENTRY_BYTES), position
        assert found is None or (not found.is_sound and found.end_offset == 110), position


def test_an_entry_with_a_short_payload_is_damaged() -> None:
    _, crc = encode_header(5, NONCE, DIRECTORY_ID)
    sound = entry(crc, b"batches")
    for size in range(len(sound)):
        found = decode_entry(memoryview(sound)[:size], 0, crc)
        assert (found is None) == (size < ENTRY_BYTES), size
        assert found is None or not found.is_sound, size


def test_records_that_look_like_entries_are_skipped_without_reading_their_claimed_payload() -> None:
    """A client may put any bytes into its records. Each candidate costs only the check of its header."""
    header, crc = encode_header(5, NONCE, DIRECTORY_ID)
    _, other_crc = encode_header(6, NONCE, DIRECTORY_ID)
    crafted = encode_entry(other_crc, Kind.APPEND, 1, 0, 1, TOPIC_ID, 0, 0, 0, 1, (), 1 << 20)
    data = header + crafted * 20_000
    read_bytes = 0

    def counting(part: Buffer, seed: int = 0) -> int:
        nonlocal read_bytes
        read_bytes += len(part)
        return crc32c(part, seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entries, "crc32c", counting)
        assert find_entries(memoryview(data), crc) == []
    assert read_bytes <= len(data)


def test_an_entry_of_an_earlier_use_of_the_file_is_ignored() -> None:
    _, earlier = encode_header(5, NONCE, DIRECTORY_ID)
    _, now = encode_header(5, bytes(16), DIRECTORY_ID)
    assert decode_entry(memoryview(entry(earlier, b"batches")), 0, now) is None
    assert decode_entry(memoryview(bytes(ENTRY_BYTES)), 0, now) is None
