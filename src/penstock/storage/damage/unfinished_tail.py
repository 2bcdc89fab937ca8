"""Whether the last bytes of a segment are a batch still being written, or a damaged batch.

A write puts the bytes of a batch in order, into zeros or after the end of the file. A batch that is being written is
therefore a prefix followed by nothing but zeros. No I/O except for the `read` function that it is given.
"""

from typing import Final

from penstock.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    BatchHeader,
)
from penstock.protocol.records.crc import crc32c
from penstock.storage.damage.damage import Read

_TRAILING_ZEROS_MAX: Final = 16
"""The last record of a batch may end in zeros: they do not show that a batch is unfinished."""
_WINDOW_BYTES: Final = 1 << 20


def is_unfinished(read: Read, position: int, size_bytes: int) -> bool:
    """Whether the bytes from `position` can be a batch that is being written. No valid batch is known to be there."""
    end = _end_of_content(read, position, size_bytes)
    if end - position < HEADER_SIZE:
        return True
    header = BatchHeader(*HEADER.unpack_from(read(HEADER_SIZE, position), 0))
    if header.magic != MAGIC or header.batch_length < HEADER_SIZE - LOG_OVERHEAD:
        return False
    is_missing_bytes = position + header.size_bytes > end + _TRAILING_ZEROS_MAX
    return is_missing_bytes and not _is_whole(read, position, end, header.crc)


def _is_whole(read: Read, position: int, end: int, crc: int) -> bool:
    """Whether the checksum matches with another length than the header's: then the length is corrupt."""
    content = bytes(read(end - position - ATTRIBUTES_POSITION, position + ATTRIBUTES_POSITION))
    return any(crc32c(content + bytes(zeros)) == crc for zeros in range(_TRAILING_ZEROS_MAX + 1))


def _end_of_content(read: Read, position: int, size_bytes: int) -> int:
    """The position from which on the file has only zeros."""
    end = position
    while position < size_bytes:
        chunk = bytes(read(min(_WINDOW_BYTES, size_bytes - position), position))
        if not chunk:
            break
        if content := chunk.rstrip(b"\0"):
            end = position + len(content)
        position += len(chunk)
    return end
