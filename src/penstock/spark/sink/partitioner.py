"""Chooses the partition of each record as Kafka's own clients do.

The murmur2 hash of a key decides, so that all clients write records of one key to one partition. Records without a key
stay on one partition for a while and then move to the next (KIP-480: fuller batches).
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.client.partitioner import MURMUR2_M, MURMUR2_SEED, murmur2

Int32s = npt.NDArray[np.int32]

_VECTOR_BYTES_MAX: Final = 128  # longer keys are rare, and one would slow down all others
KEYLESS_ROWS: Final = 1000
"""The number of records without a key that go to one partition before the next."""


def murmur2_of(keys: pa.BinaryArray) -> npt.NDArray[np.uint32]:
    """Return the hash of every key; undefined for null keys."""
    count = len(keys)
    if not count:
        return np.zeros(0, np.uint32)
    _, offset_buffer, data_buffer = (memoryview(each or b"") for each in keys.buffers())
    offsets = np.frombuffer(offset_buffer, np.int32)[keys.offset : keys.offset + count + 1].astype(np.int64)
    lengths = offsets[1:] - offsets[:-1]
    # Padded, so that the four bytes at any position within a key can be read as one word.
    data = np.concatenate([np.frombuffer(data_buffer, np.uint8), np.zeros(4, np.uint8)])
    order = np.argsort(-lengths, kind="stable")  # longest first: those with another word are always a prefix
    longest_first = lengths[order]
    starts = offsets[:-1][order]
    is_long = int(np.searchsorted(-longest_first, -_VECTOR_BYTES_MAX, side="left"))
    h = np.uint32(MURMUR2_SEED) ^ longest_first.astype(np.uint32)
    m = np.uint32(MURMUR2_M)
    words = longest_first // 4
    for word in range(int(words[is_long]) if is_long < count else 0):
        end = int(np.searchsorted(-words, -word, side="left"))
        k = _word_at(data, starts[is_long:end] + 4 * word) * m
        k = (k ^ k >> np.uint32(24)) * m
        h[is_long:end] = h[is_long:end] * m ^ k
    tails = longest_first % 4
    tail = _word_at(data, starts + 4 * words) & (
        (np.uint32(1) << (8 * tails).astype(np.uint32)) - np.uint32(1)
    )
    h = np.where(tails > 0, (h ^ tail) * m, h)
    h = (h ^ h >> np.uint32(13)) * m
    h ^= h >> np.uint32(15)
    for index in range(is_long):
        start = int(starts[index])
        h[index] = murmur2(data[start : start + int(longest_first[index])].tobytes())
    hashes = np.empty(count, np.uint32)
    hashes[order] = h
    return hashes


def _word_at(data: npt.NDArray[np.uint8], positions: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    last = len(data) - 4
    at = np.minimum(positions, last)  # a key that ends at a word's border has no tail to read
    word = data[at].astype(np.uint32)
    for byte in range(1, 4):
        word |= data[at + byte].astype(np.uint32) << np.uint32(8 * byte)
    return word


class Partitioner:
    """Keeps, for each topic, the current partition for records without a key."""

    def __init__(self, first: int) -> None:
        self._first = first  # tasks begin at different partitions
        self._keyless: dict[str, int] = {}

    def partitions(self, topic: str, keys: pa.BinaryArray | None, rows: int, partition_count: int) -> Int32s:
        """Return the partition of every row of a topic; `keys` is None if there is no column of keys."""
        is_null = np.ones(rows, bool) if keys is None else keys.is_null().to_numpy(zero_copy_only=False)
        chosen = np.zeros(rows, np.int32)
        if keys is not None and not is_null.all():
            positive = (murmur2_of(keys) & np.uint32(0x7FFFFFFF)).astype(np.int64)
            chosen = (positive % partition_count).astype(np.int32)
        keyless = int(is_null.sum())
        if keyless:
            before = self._keyless.get(topic, 0)
            self._keyless[topic] = before + keyless
            turns = self._first + (before + np.arange(keyless)) // KEYLESS_ROWS
            chosen[is_null] = turns % partition_count
        return chosen
