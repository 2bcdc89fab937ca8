"""Maps a group or transactional id to a partition of the coordinator's topic."""

import functools
import struct

_INT32_MIN_BITS = 1 << 31


@functools.lru_cache(maxsize=512)
def partition_for(key: str, partition_count: int) -> int:
    """The partition of a group or transactional id: the absolute value of Java's String.hashCode, as in Kafka."""
    units = key.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for unit in struct.unpack(f">{len(units) // 2}H", units):
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    if hashed == _INT32_MIN_BITS:  # it has no absolute value: Kafka takes 0
        return 0
    return min(hashed, (1 << 32) - hashed) % partition_count
