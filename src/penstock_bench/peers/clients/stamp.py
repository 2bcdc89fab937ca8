"""Messages that carry the time at which they were due, so that the receiver can compute the latency. Pure.

Eight bytes, little-endian: nanoseconds of the monotonic clock, which all processes of a machine share; then padding.
"""

import struct
from typing import Final

_STAMP: Final = struct.Struct("<q")


def stamped(due_s: float, size_bytes: int) -> bytes:
    return _STAMP.pack(int(due_s * 1e9)).ljust(size_bytes, b"x")


def due_s(payload: bytes) -> float:
    return float(_STAMP.unpack_from(payload)[0]) / 1e9
