"""The partition of a key, as Kafka's own clients choose it."""

from typing import Final

MURMUR2_SEED: Final = 0x9747B28C
MURMUR2_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def partition_of(key: bytes, partition_count: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


def murmur2(key: bytes) -> int:
    """The hash of Kafka's default partitioner, without a sign."""
    h = MURMUR2_SEED ^ len(key)
    whole = len(key) & ~3
    for position in range(0, whole, 4):
        k = int.from_bytes(key[position : position + 4], "little") * MURMUR2_M & _MASK
        k = (k ^ k >> 24) * MURMUR2_M & _MASK
        h = (h * MURMUR2_M & _MASK) ^ k
    if len(key) > whole:
        h = (h ^ int.from_bytes(key[whole:], "little")) * MURMUR2_M & _MASK
    h = (h ^ h >> 13) * MURMUR2_M & _MASK
    return h ^ h >> 15
