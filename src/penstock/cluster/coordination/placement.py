"""Which partition of a coordinator's topic an id lives in."""

import struct

_INT32_MIN_BITS = 1 << 31


def home_of(key: str, partition_count: int) -> int:
    """The partition for a group or a transactional id: Java's String.hashCode without its sign, as Kafka has it."""
    units = key.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for unit in struct.unpack(f">{len(units) // 2}H", units):
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    if hashed == _INT32_MIN_BITS:  # it has no positive counterpart: Kafka takes 0
        return 0
    return min(hashed, (1 << 32) - hashed) % partition_count
