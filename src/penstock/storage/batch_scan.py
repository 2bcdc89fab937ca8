"""Iterates over all batches of a segment, with or without checking their checksums.

The iteration ends at the first byte that cannot be the batch following the previous one; `reason` then says why. No I/O
except for the `read` function that it is given, which may wait for the disk: run it at start-up or on a thread.
"""

from collections.abc import Callable, Iterator
from typing import Final

from penstock.protocol.records.batch import (
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    BatchHeader,
    crc_is_valid,
)
from penstock.storage.files import Buffer

CHUNK_BYTES: Final = 1 << 20
_FIRST_CHUNK_BYTES: Final = (
    1 << 16
)  # many segments hold little data: the rest is space preallocated for future batches
_LENGTH_MIN: Final = HEADER_SIZE - LOG_OVERHEAD


class BatchScan:
    """Iterate for (position, header); afterwards `position` and `next_offset` say how far the batches go.

    During the iteration `batch()` returns the bytes of the batch just yielded.
    """

    __slots__ = (
        "_check_crc",
        "_chunk",
        "_chunk_bytes",
        "_chunk_position",
        "_read",
        "_size_bytes",
        "bad_header",
        "is_zeros",
        "next_offset",
        "position",
        "reason",
    )

    def __init__(
        self,
        read: Callable[[int, int], Buffer],
        position: int,
        size_bytes: int,
        next_offset: int,
        *,
        check_crc: bool,
    ) -> None:
        """Scan [position, size_bytes); offsets must not be below `next_offset`."""
        self._read = read
        self._size_bytes = size_bytes
        self._check_crc = check_crc
        self._chunk: Buffer = b""
        self._chunk_bytes = _FIRST_CHUNK_BYTES
        self._chunk_position = position
        self.position = position
        self.next_offset = next_offset
        self.reason: str | None = None
        """Why the iteration ended before the end of the range, if it did."""
        self.bad_header: BatchHeader | None = None
        """The header of the batch at which the iteration ended, if only the batch's content is corrupt."""
        self.is_zeros = False
        """Whether the iteration ended at a run of zeros: space preallocated for future batches."""

    def __iter__(self) -> Iterator[tuple[int, BatchHeader]]:
        while self.position < self._size_bytes and self.reason is None:
            header = self._next_header()
            if header is None:
                return
            position = self.position
            yield position, header
            self.position = position + LOG_OVERHEAD + header.batch_length
            self.next_offset = header.base_offset + header.last_offset_delta + 1

    def batch(self, header: BatchHeader) -> Buffer:
        """The bytes of the batch at the current position."""
        at = self._have(header.size_bytes)
        return memoryview(self._chunk)[at : at + header.size_bytes]

    def _next_header(self) -> BatchHeader | None:
        left = self._size_bytes - self.position
        at = self._have(min(HEADER_SIZE, left))
        if len(self._chunk) - at < HEADER_SIZE:
            self.reason = f"{left} bytes are too few for a batch header"
            return None
        header = BatchHeader(*HEADER.unpack_from(self._chunk, at))
        if header.magic != MAGIC or header.batch_length < _LENGTH_MIN:
            self.reason = f"no batch begins here (magic {header.magic}, length {header.batch_length})"
            self.is_zeros = not any(self._chunk[at : at + HEADER_SIZE])
        elif LOG_OVERHEAD + header.batch_length > left:
            self.reason = f"a batch of {LOG_OVERHEAD + header.batch_length} bytes does not fit in {left}"
        elif header.base_offset < self.next_offset or header.last_offset_delta < 0:
            self.reason = f"offset {header.base_offset} where {self.next_offset} or more belongs"
        elif self._check_crc:
            at = self._have(header.size_bytes)
            if not crc_is_valid(self._chunk, at, header.size_bytes):
                self.reason = "the checksum does not match"
                self.bad_header = header
        return header if self.reason is None else None

    def _have(self, size_bytes: int) -> int:
        """Load this many bytes from the current position into the chunk. Returns where in the chunk they begin."""
        at = self.position - self._chunk_position
        if at + size_bytes > len(self._chunk):
            wanted = max(size_bytes, min(self._chunk_bytes, self._size_bytes - self.position))
            self._chunk_bytes = min(2 * self._chunk_bytes, CHUNK_BYTES)
            self._chunk = self._read(wanted, self.position)
            self._chunk_position = self.position
            return 0
        return at
