"""The latest offset of each key in the dirty part of a log, in bounded memory.

Keys are stored as 16-byte digests, as in Kafka: if two keys had the same digest, the older record would be lost, but at
128 bits that does not happen. A dictionary entry costs up to 176 bytes, measured while the dictionary grows.
"""

from hashlib import blake2b

ENTRY_BYTES = 176
_DIGEST_BYTES = 16


class KeyOffsets:
    __slots__ = ("_entry_count_max", "_offsets", "latest_offset")

    def __init__(self, memory_bytes_max: int) -> None:
        self._entry_count_max = max(1, memory_bytes_max // ENTRY_BYTES)
        self._offsets: dict[bytes, int] = {}
        self.latest_offset = -1
        """Records after this offset were not looked at, and say nothing about their keys."""

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def is_full(self) -> bool:
        return len(self._offsets) >= self._entry_count_max

    def put(self, key: bytes, offset: int) -> None:
        """Offsets come in ascending order."""
        self._offsets[blake2b(key, digest_size=_DIGEST_BYTES).digest()] = offset

    def newest(self, key: bytes) -> int:
        """The newest known offset of `key`, or -1."""
        return self._offsets.get(blake2b(key, digest_size=_DIGEST_BYTES).digest(), -1)
