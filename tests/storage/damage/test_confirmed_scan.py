"""Corrupted offsets and epochs, which no checksum covers."""

import pytest

from penstock.storage.damage.confirmed_scan import ConfirmedScan
from tests.storage.logs import batch_of

EPOCHS = (3, 3, 5, 5, 5, 6)
COUNT = len(EPOCHS)
SIZE = len(batch_of("0", "0"))
OFFSET, EPOCH = 0, 12


def segment() -> bytearray:
    """Batches of two records each."""
    batches = [
        batch_of("0", "0", base_offset=2 * number, leader_epoch=epoch) for number, epoch in enumerate(EPOCHS)
    ]
    return bytearray(b"".join(batches))


def scan_of(data: bytearray, *, end_offset: int | None = None, has_gaps: bool = False) -> ConfirmedScan:
    def read(size_bytes: int, position: int) -> bytes:
        return bytes(data[position : position + size_bytes])

    return ConfirmedScan(read, 0, len(data), 0, epoch=2, end_offset=end_offset, has_gaps=has_gaps)


def flip(data: bytearray, number: int, field: int, bit: int) -> None:
    """`bit` counts from the lowest of a field."""
    size_bytes = 8 if field == OFFSET else 4
    data[number * SIZE + field + size_bytes - 1 - bit // 8] ^= 1 << bit % 8


def test_undamaged_batches_are_all_returned() -> None:
    scan = scan_of(segment())
    assert [batch.position for batch in scan] == [number * SIZE for number in range(COUNT)]
    assert (scan.position, scan.next_offset, scan.reason) == (COUNT * SIZE, 2 * COUNT, None)


@pytest.mark.parametrize("number", range(COUNT - 1))
def test_a_flip_of_any_bit_of_an_offset_is_found(number: int) -> None:
    for bit in range(64):
        data = segment()
        flip(data, number, OFFSET, bit)
        scan = scan_of(data)
        assert len(list(scan)) == number
        assert (scan.position, scan.next_offset) == (number * SIZE, 2 * number)
        assert scan.reason is not None
        assert scan.behind in (None, ((number + 1) * SIZE, 2 * number + 2))


@pytest.mark.parametrize("end_offset", [None, 2 * COUNT])
def test_a_corrupted_offset_at_the_end_of_a_segment_is_found(end_offset: int | None) -> None:
    data = segment()
    flip(data, COUNT - 1, OFFSET, 7)
    scan = scan_of(data, end_offset=end_offset)
    assert len(list(scan)) == COUNT - 1
    assert scan.next_offset == 2 * COUNT - 2
    assert scan.behind == (None if end_offset is None else (COUNT * SIZE, end_offset))


def test_a_gap_is_not_damage_in_a_compacted_log() -> None:
    data = segment()
    flip(data, COUNT - 1, OFFSET, 7)
    scan = scan_of(data, has_gaps=True)
    assert len(list(scan)) == COUNT
    assert scan.reason is None


@pytest.mark.parametrize("number", range(COUNT - 1))
def test_an_epoch_that_is_too_high_is_found(number: int) -> None:
    for bit in range(3, 31):
        data = segment()
        flip(data, number, EPOCH, bit)
        scan = scan_of(data)
        assert len(list(scan)) == number
        assert scan.next_offset == 2 * number
        assert scan.behind == (
            (number + 2) * SIZE,
            2 * number + 4,
        )  # the next could be the one that is too low


@pytest.mark.parametrize(("number", "given"), [(1, 0), (3, 2), (4, 4)])
def test_an_epoch_that_is_too_low_is_found(number: int, given: int) -> None:
    data = segment()
    flip(
        data, number, EPOCH, 0
    )  # 3 becomes 2, and 5 becomes 4: the one before may be the one that is too high
    scan = scan_of(data)
    assert len(list(scan)) == given
    assert scan.next_offset == 2 * given
    assert scan.behind == (None if given == number else ((number + 1) * SIZE, 2 * number + 2))
