"""How a share fetch interprets the batches that were read."""

import struct

from penstock.server.handlers.shared.share_read import _batches_in
from penstock.share.partition.values import OffsetRange
from tests.server.live import batch

_LAST_OFFSET_DELTA_POSITION = 23
FIRST_OFFSETS = (10, 12, 13)
END_OFFSET = 15


def read(*, rotten: int | None = None) -> bytes:
    """Batches of two, one and two records; the last offset of one of them is corrupt."""
    parts = []
    for number, (first_offset, count) in enumerate(zip(FIRST_OFFSETS, (2, 1, 2), strict=True)):
        part = bytearray(batch(*[b"v"] * count))
        struct.pack_into(">q", part, 0, first_offset)
        if number == rotten:
            part[_LAST_OFFSET_DELTA_POSITION + 1] ^= 8  # half a million offsets
        parts.append(bytes(part))
    return b"".join(parts)


def test_batches_are_found_at_the_offsets_in_their_headers() -> None:
    positions, batches = _batches_in(read(), 1000, END_OFFSET)
    assert batches == [OffsetRange(10, 11), OffsetRange(12, 12), OffsetRange(13, 14)]
    assert (positions[0], positions[-1], len(positions)) == (0, len(read()), 4)


def test_a_corrupted_batch_does_not_take_the_offsets_of_others() -> None:
    for rotten in range(3):
        _, batches = _batches_in(read(rotten=rotten), 1000, END_OFFSET)
        assert batches == [OffsetRange(10, 11), OffsetRange(12, 12), OffsetRange(13, 14)]
