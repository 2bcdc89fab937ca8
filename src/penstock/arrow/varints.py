"""Decodes varints of many records at once.

The size of a record determines the start of the next one, so finding the starts takes one step, a table look-up, for
each record. All other fields are then read by columns, in numpy.
"""

import struct
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.wire import Buffer

Bytes: TypeAlias = npt.NDArray[np.uint8]
Numbers: TypeAlias = npt.NDArray[np.int64]

VARLONG_BYTES_MAX: Final = 10
_VARINT_BYTES_MAX: Final = 5
_TWO_BYTES: Final = struct.Struct("<H").unpack_from


def _step_table() -> tuple[int, ...]:
    """Map the first two bytes of a record to its length with the size field; 0 if the size has more bytes."""
    steps = [0] * 65_536
    for high in range(256):
        for low in range(0, 256, 2):  # an odd number is a negative size
            if low < 0x80:
                steps[high << 8 | low] = 1 + (low >> 1)
            elif high < 0x80:
                steps[high << 8 | low] = 2 + ((high << 7 | low & 0x7F) >> 1)
    return tuple(steps)


_STEPS: Final = _step_table()


def add_record_starts(starts: list[int], data: Buffer, position: int, end: int, count: int) -> None:
    """Add the positions of `count` records that must fill `data` from `position` to `end` exactly."""
    add = starts.append
    steps = _STEPS
    two_bytes = _TWO_BYTES
    try:
        for _ in range(count):
            add(position)
            position += steps[two_bytes(data, position)[0]] or _long_step(data, position)
    except struct.error:
        position = -1
    if position != end:
        raise CorruptRecords(f"{count} records do not fill their batch exactly")


def _long_step(data: Buffer, position: int) -> int:
    """Return the length of a record of 8 KiB or more, with its size field."""
    size = 0
    for width in range(_VARINT_BYTES_MAX):
        if position + width >= len(data):
            break
        byte = data[position + width]
        size |= (byte & 0x7F) << (7 * width)
        if byte < 0x80:
            if size & 1:
                break
            return width + 1 + (size >> 1)
    raise CorruptRecords("a record has an impossible size")


def read_varints(data: Bytes, at: Numbers) -> tuple[Numbers, Numbers]:
    """Return the zigzag varint at each position, and the positions after them.

    Positions beyond the data read its last byte: callers check where the last field ends.
    """
    low = data.take(at, mode="clip")
    is_long = low >= 0x80
    if not is_long.any():
        return _unzigzag(low.astype(np.uint64)), at + 1
    high = data.take(at + 1, mode="clip")
    high *= is_long
    raw = (low & 0x7F).astype(np.uint64)
    raw |= (high & 0x7F).astype(np.uint64) << np.uint64(7)
    after = at + 1
    after += is_long
    rest = np.flatnonzero(high >= 0x80)
    for width in range(2, VARLONG_BYTES_MAX + 1):
        if not rest.size:
            return _unzigzag(raw), after
        byte = data.take(at[rest] + width, mode="clip")
        raw[rest] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * width)
        after[rest] += 1
        rest = rest[byte >= 0x80]
    raise CorruptRecords("a varint is too long")


def _unzigzag(raw: npt.NDArray[np.uint64]) -> Numbers:
    return ((raw >> np.uint64(1)) ^ (np.uint64(0) - (raw & np.uint64(1)))).view(np.int64)
