import pytest

from penstock.storage.batch_scan import CHUNK_BYTES, BatchScan
from tests.storage.logs import batch_of


def scan(content: bytes, *, check_crc: bool = True, position: int = 0, next_offset: int = 0) -> BatchScan:
    def read(size_bytes: int, at: int) -> bytes:
        return content[at : at + size_bytes]

    return BatchScan(read, position, len(content), next_offset, check_crc=check_crc)


def offsets(scanned: BatchScan) -> list[int]:
    return [header.base_offset for _, header in scanned]


BATCHES = [
    bytes(batch_of("a", "b")),
    bytes(batch_of("c", base_offset=2)),
    bytes(batch_of("d", base_offset=7)),
]
WHOLE = b"".join(BATCHES)


def test_all_batches_and_the_end_of_the_segment_are_found() -> None:
    scanned = scan(WHOLE)
    assert offsets(scanned) == [0, 2, 7]
    assert (scanned.position, scanned.next_offset, scanned.reason) == (len(WHOLE), 8, None)


def test_the_bytes_of_each_batch_are_available() -> None:
    scanned = scan(WHOLE)
    assert [bytes(scanned.batch(header)) for _, header in scanned] == BATCHES


@pytest.mark.parametrize("left", [1, 20, 60, 65])
def test_a_torn_batch_ends_the_scan(left: int) -> None:
    scanned = scan(WHOLE[: len(WHOLE) - len(BATCHES[2]) + left])
    assert offsets(scanned) == [0, 2]
    assert scanned.reason is not None
    assert (scanned.position, scanned.next_offset) == (len(BATCHES[0]) + len(BATCHES[1]), 3)


def test_a_bad_checksum_ends_the_scan_only_if_checksums_are_verified() -> None:
    damaged = bytearray(WHOLE)
    damaged[len(BATCHES[0]) + 65] ^= 1
    scanned = scan(bytes(damaged))
    assert offsets(scanned) == [0]
    assert scanned.bad_header is not None
    assert scanned.bad_header.base_offset == 2
    assert offsets(scan(bytes(damaged), check_crc=False)) == [0, 2, 7]


def test_decreasing_offsets_end_the_scan() -> None:
    scanned = scan(BATCHES[1] + BATCHES[0])
    assert offsets(scanned) == [2]
    assert scanned.reason is not None


def test_zeros_are_distinguished_from_torn_records() -> None:
    zeros, torn = scan(WHOLE + bytes(100)), scan(WHOLE + b"\x00\x01" * 50)
    for scanned in (zeros, torn):
        assert offsets(scanned) == [0, 2, 7]
    assert (zeros.is_zeros, torn.is_zeros) == (True, False)


def test_batches_larger_than_a_chunk_are_read_completely() -> None:
    large = bytes(batch_of("x" * (CHUNK_BYTES + 5)))
    scanned = scan(large + BATCHES[1])
    assert offsets(scanned) == [0, 2]
    assert scanned.reason is None
