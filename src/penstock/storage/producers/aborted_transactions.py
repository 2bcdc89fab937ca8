"""Verifies transaction indexes after a stop: they have no checksum, and without them aborted records look committed.

A clean stop saves the CRC-32 of each index file (`inventory`). A file that differs at the next start is rebuilt
from the batches of the log.
"""

import logging
import zlib
from collections.abc import Collection, Iterable, Sequence

from penstock.storage.files import FileSystem, read_whole
from penstock.storage.producers.replay import AbortedSince, replay
from penstock.storage.producers.state import ProducerStates
from penstock.storage.segment.indexes import TRANSACTION_INDEX
from penstock.storage.segment.segment import Segment

Checksums = tuple[tuple[int, int], ...]
"""Base offsets of segments, and the checksums of their transaction indexes."""

_log = logging.getLogger(__name__)


def index_checksums(files: FileSystem, directory: str, base_offsets: Iterable[int]) -> Checksums:
    """The checksums of the index files that are there. Waits for the disk."""
    found = ((base, _checksum(files, directory, base)) for base in base_offsets)
    return tuple((base, checksum) for base, checksum in found if checksum is not None)


def changed_indexes(files: FileSystem, directory: str, expected: Checksums) -> list[int]:
    """The base offsets of segments whose index is not as expected. Waits for the disk."""
    return [base for base, checksum in expected if _checksum(files, directory, base) != checksum]


def _checksum(files: FileSystem, directory: str, base_offset: int) -> int | None:
    path = f"{directory}/{base_offset:020d}{TRANSACTION_INDEX}"
    return zlib.crc32(read_whole(files, path)) if files.exists(path) else None


def rebuild_indexes_of(
    base_offsets: Collection[int], segments: Sequence[Segment], *, log_start_offset: int, end_offset: int
) -> None:
    """Rebuild the transaction indexes of these segments. Reads the whole log, and waits for the disk."""
    producers, aborted = ProducerStates(), AbortedSince(log_start_offset)
    producers.clear(log_start_offset)
    replay(producers, segments, end_offset, aborted.note)
    for number, segment in enumerate(segments):
        if segment.base_offset not in base_offsets:
            continue
        _log.warning("Rebuilt %s from the log: it was missing or damaged", segment.path(TRANSACTION_INDEX))
        segment.indexes().forget_transactions(segment.base_offset)
        segment_end = segments[number + 1].base_offset if number + 1 < len(segments) else end_offset
        for each in aborted.found:
            if segment.base_offset <= each.last_offset < segment_end:
                segment.note_aborted(each)
