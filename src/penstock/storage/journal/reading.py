"""Reading a journal after a crash: what it holds for each partition, and what in it is torn or damaged.

Files are read in the order of their numbers. What a later entry has undone (a truncation, a partition that was deleted
or starts over) is left out.
"""

import logging
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from penstock.storage.files import Buffer, FileSystem, read_whole
from penstock.storage.journal.entries import (
    ENTRY_BYTES,
    ENTRY_MAGIC,
    HEADER_BYTES,
    Entry,
    FileHeader,
    Kind,
    NotAJournal,
    decode_entry,
    decode_header,
)

_log = logging.getLogger(__name__)

PREFIX = ".journal."


class PartitionId(NamedTuple):
    topic_id: bytes
    partition: int


class Piece(msgspec.Struct, gc=False):
    """Records of one partition: those of the batches in `records` that lie below `end_offset`."""

    file_number: int
    leader_epoch: int
    base_offset: int
    end_offset: int
    records: Buffer
    """Empty where only the partition's segments hold them."""


class FoundFile(msgspec.Struct, frozen=True):
    """A journal file on disk; its number is -1 when it was never used or its header cannot be read."""

    path: str
    size_bytes: int
    number: int


class FoundJournal(msgspec.Struct):
    files: list[FoundFile] = msgspec.field(default_factory=list)
    pieces: dict[PartitionId, list[Piece]] = msgspec.field(default_factory=dict)
    damage: list[str] = msgspec.field(default_factory=list)
    """What cannot be read though it was durable, in words for the log."""
    oldest_number: int = 0
    """Files with lower numbers mean nothing any more."""
    last_number: int = 0
    last_bytes: int = 0
    """Where the entries of the last file end."""
    last_round: int = 0


def list_files(files: FileSystem, directory: str) -> list[str]:
    return [f"{directory}/{name}" for name in files.list(directory) if name.startswith(PREFIX)]


def read_journal(files: FileSystem, directory: str, *, headers_only: bool = False) -> FoundJournal:
    """Read the journal files of a data directory. Waits for the disk.

    `headers_only`: after a clean stop nothing in them means anything any more.
    """
    found = FoundJournal()
    used: list[tuple[FileHeader, str, memoryview]] = []
    for path in list_files(files, directory):
        data = memoryview(_read_start(files, path) if headers_only else read_whole(files, path))
        try:
            header = decode_header(data)
        except NotAJournal as error:
            if any(data[:HEADER_BYTES]):
                _log.warning("%s is not read: %s", path, error)
            found.files.append(FoundFile(path, files.size(path), -1))
            continue
        found.files.append(FoundFile(path, files.size(path), header.number))
        used.append((header, path, data))
    if headers_only:
        found.last_number = max((header.number for header, _, _ in used), default=0)
        return found
    used.sort(key=lambda each: each[0].number)
    for number, (header, path, data) in enumerate(used):
        end = used[number + 1][0].bytes_before if number + 1 < len(used) else 0
        _read_file(found, header, path, data, end)
    _leave_out_checkpointed(found)
    _check_numbers(found)
    return found


def _read_start(files: FileSystem, path: str) -> bytes:
    file = files.open(path, writable=False)
    try:
        return file.read(HEADER_BYTES, 0)
    finally:
        file.close()


def _read_file(
    found: FoundJournal, header: FileHeader, path: str, data: memoryview, durable_bytes: int
) -> None:
    """`durable_bytes` is what the header of the next file says of this one; 0 for the last one."""
    if durable_bytes:
        data = data[:durable_bytes]  # what is behind was torn by an earlier crash
    found.oldest_number = max(found.oldest_number, header.oldest_number)
    last_round = header.first_round - 1
    position = HEADER_BYTES
    damaged_at: int | None = None
    held_back: list[Entry] = []  # behind a spot that is torn, or damaged: what comes later tells which
    for begin, entry in _entries(data, header.crc):
        if begin != position and damaged_at is None:
            damaged_at = position
        position = begin + ENTRY_BYTES + len(entry.payload)
        if damaged_at is None:
            _apply(found, header.number, entry)
            last_round = entry.round
        else:
            held_back.append(entry)
    if damaged_at is None and position < durable_bytes:
        damaged_at = position
    is_torn = not durable_bytes and (not held_back or held_back[-1].round <= last_round + 1)
    if damaged_at is not None and not is_torn:
        found.damage.append(f"{path} is damaged at byte {damaged_at}")
        for entry in held_back:
            _apply(found, header.number, entry)
        damaged_at = None
    found.last_number = header.number
    found.last_bytes = position if damaged_at is None else damaged_at
    found.last_round = max(last_round, *(entry.round for entry in held_back), found.last_round)


def _entries(data: memoryview, header_crc: int) -> Iterator[tuple[int, Entry]]:
    """The sound entries and where they begin. What is between them is torn, or damaged."""
    position = HEADER_BYTES
    content: bytes | None = None
    while True:
        entry = decode_entry(data, position, header_crc)
        if entry is not None:
            yield position, entry
            position += ENTRY_BYTES + len(entry.payload)
            continue
        if content is None:
            content = bytes(data)  # a memoryview cannot search
        position = content.find(ENTRY_MAGIC, position + 1)
        if position < 0:
            return


def _apply(found: FoundJournal, file_number: int, entry: Entry) -> None:
    key = PartitionId(entry.topic_id, entry.partition)
    before = found.pieces.pop(key, [])
    if entry.kind is Kind.RESET:
        return
    if entry.kind is Kind.TRUNCATION:
        kept = []
    elif entry.kind is Kind.SEGMENT:
        kept = [each for each in before if each.end_offset > entry.end_offset]
    else:
        kept = _below(before, entry.base_offset)
    kept.append(Piece(file_number, entry.leader_epoch, entry.base_offset, entry.end_offset, entry.payload))
    found.pieces[key] = kept


def _below(pieces: list[Piece], end_offset: int) -> list[Piece]:
    """What is left of them when the log was truncated there."""
    kept = [each for each in pieces if each.base_offset < end_offset]
    for each in kept:
        each.end_offset = min(each.end_offset, end_offset)
    return kept


def _leave_out_checkpointed(found: FoundJournal) -> None:
    for key, pieces in list(found.pieces.items()):
        kept = [piece for piece in pieces if piece.file_number >= found.oldest_number]
        if kept:
            found.pieces[key] = kept
        else:
            del found.pieces[key]


def _check_numbers(found: FoundJournal) -> None:
    """Every file from the oldest to the last must be there, but for an oldest one that was just being used again."""
    numbers = {each.number for each in found.files}
    missing = [each for each in range(max(found.oldest_number, 1), found.last_number) if each not in numbers]
    if missing == [found.oldest_number] and -1 in numbers:
        return
    if missing:
        found.damage.append(
            f"of the journal, the files with the numbers {', '.join(map(str, missing))} are missing, or their headers "
            "are damaged"
        )
