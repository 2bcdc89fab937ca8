"""Reads a journal after a crash: its records for each partition, and the torn or damaged parts.

Files are read in the order of their numbers. Entries that a later RESET invalidates are left out.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec

from penstock.storage.errors import DirectoryMismatch
from penstock.storage.files import Buffer, FileSystem, read_whole
from penstock.storage.journal.entries import (
    ENTRY_MAGIC,
    HEADER_BYTES,
    Entry,
    FileHeader,
    Kind,
    NotAJournal,
    Start,
    decode_entry,
    decode_header,
    decode_start,
)

PREFIX = ".journal."
TEMPORARY = ".tmp"
"""The suffix of a file that is being created; all others end in a number."""


NO_NUMBER = -1
"""The number of a file whose header cannot be read."""


class PartitionId(NamedTuple):
    topic_id: bytes
    partition: int


class Piece(msgspec.Struct, gc=False):
    """Records of one partition: the batches in `records` that lie below `end_offset`."""

    file_number: int
    leader_epoch: int
    base_offset: int
    end_offset: int
    records: Buffer
    is_damaged: bool = False
    """The journal had records here that are lost."""


class FoundFile(msgspec.Struct, frozen=True):
    """A journal file on disk."""

    path: str
    size_bytes: int
    number: int


class JournalDamage(NamedTuple):
    """A place in a journal file that cannot be read though it was durable."""

    path: str
    position: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path} {self.reason}"


class FoundJournal(msgspec.Struct):
    files: list[FoundFile] = msgspec.field(default_factory=list)
    """In the order of their numbers."""
    written: set[int] = msgspec.field(default_factory=set)
    """The numbers of the files that hold valid entries, or may."""
    pieces: dict[PartitionId, list[Piece]] = msgspec.field(default_factory=dict)
    damage: list[JournalDamage] = msgspec.field(default_factory=list)
    missing_count: int = 0
    """The number of files that were removed."""
    last_number: int = 0
    last_bytes: int = 0
    """The position at which the entries of the last file end."""
    last_round: int = 0
    complete_round: int = 0
    """The last round that is not torn."""


def list_files(files: FileSystem, directory: str) -> list[str]:
    names = [name for name in files.list(directory) if name.startswith(PREFIX)]
    return [f"{directory}/{name}" for name in names if name.removeprefix(PREFIX).isdecimal()]


def slot_of(path: str) -> int:
    """The number in the name of a journal file."""
    return int(path.rpartition(".")[2])


def read_journal(
    files: FileSystem, directory: str, *, directory_id: bytes | None = None, headers_only: bool = False
) -> FoundJournal:
    """Read the journal files of a data directory. Waits for the disk.

    `headers_only`: after a clean stop their content is obsolete. Raises `DirectoryMismatch` for a file of a directory
    other than `directory_id`.
    """
    found = FoundJournal()
    written: list[_File] = []
    for path in list_files(files, directory):
        number = NO_NUMBER
        try:
            data = memoryview(_read_start(files, path) if headers_only else read_whole(files, path))
            header = decode_header(data)
        except (NotAJournal, OSError) as error:
            if not headers_only:
                found.written.add(number)
                found.damage.append(JournalDamage(path, 0, f"cannot be read: {error}"))
        else:
            _require_own(path, header, directory_id)
            number = header.number
            if not headers_only:
                written.append(_File(path, number, len(data), find_entries(data, header.crc)))
        found.files.append(FoundFile(path, files.size(path), number))
    found.files.sort(key=lambda each: each.number)
    found.last_number = max([0, *(each.number for each in found.files)])
    _read_entries(found, directory, written)
    return found


def _read_start(files: FileSystem, path: str) -> bytes:
    file = files.open(path, writable=False)
    try:
        return file.read(HEADER_BYTES, 0)
    finally:
        file.close()


def _require_own(path: str, header: FileHeader, directory_id: bytes | None) -> None:
    if directory_id is not None and header.directory_id != directory_id:
        raise DirectoryMismatch(
            f"{path} is a journal file of another data directory, and its records would get into the partitions of "
            "this one: put it back where it belongs"
        )


def find_entries(data: memoryview, header_crc: int) -> list[tuple[int, Entry]]:
    """All entries of a file, and their positions."""
    entries: list[tuple[int, Entry]] = []
    position = HEADER_BYTES
    content: bytes | None = None
    while position >= 0:
        entry = decode_entry(data, position, header_crc)
        if entry is not None:
            entries.append((position, entry))
            position += entry.size_bytes
            continue
        if content is None:
            content = bytes(data)  # a memoryview cannot search
        position = content.find(ENTRY_MAGIC, position + 1)
    return entries


class _File(msgspec.Struct):
    """A journal file with a header, and the entries in it with their positions."""

    path: str
    number: int
    size_bytes: int
    entries: list[tuple[int, Entry]]

    @property
    def start(self) -> Start | None:
        return decode_start(self.entries[0][1]) if self.entries else None

    @property
    def is_torn_at_start(self) -> bool:
        """Whether its first round was not completed, and so no other was begun."""
        return self.start is None and len({entry.round for _, entry in self.entries}) <= 1


def _read_entries(found: FoundJournal, directory: str, files: list[_File]) -> None:
    files = sorted(files, key=lambda each: each.number)
    while files and files[-1].is_torn_at_start:
        files.pop()  # it counts as never used
    starts = [start for each in files if (start := each.start) is not None]
    oldest = max((start.oldest_number for start in starts), default=0)
    files = [each for each in files if each.number >= oldest]
    if not files:
        return
    found.written.update(each.number for each in files)
    torn = _note_rounds(found, files)
    _find_damage(found, files, torn)
    _check_count(found, directory, starts)
    for file in files:
        for _, entry in file.entries:
            if entry.is_sound or entry.round not in torn:
                _apply(found, file.number, entry)
    position, last = files[-1].entries[-1]
    found.last_bytes = min(position + last.size_bytes, files[-1].size_bytes)


def _note_rounds(found: FoundJournal, files: Sequence[_File]) -> set[int]:
    """The rounds that may be incomplete: the last one, and those that were the last before an earlier crash."""
    entries = [entry for file in files for _, entry in file.entries]
    found.last_round = max(entry.round for entry in entries)
    last = [entry for entry in entries if entry.round == found.last_round and entry.is_sound]
    is_complete = bool(last) and len(last) == last[0].count
    found.complete_round = found.last_round - (not is_complete)
    torn = {found.last_round}
    for entry in entries:
        start = decode_start(entry)
        if start is not None:
            torn.update(range(start.complete_round + 1, entry.round))
    return torn


def _find_damage(found: FoundJournal, files: Sequence[_File], torn: Collection[int]) -> None:
    """Record the first position in each file that lacks a part of a complete round."""
    for path, position in _damaged_places(files, torn):
        if path not in {each.path for each in found.damage}:
            found.damage.append(JournalDamage(path, position, f"is damaged at byte {position}"))


def _damaged_places(files: Sequence[_File], torn: Collection[int]) -> Iterator[tuple[str, int]]:
    before: Entry | None = None
    end_before = ("", 0)
    for file in files:
        position = HEADER_BYTES
        if not file.entries:
            yield file.path, position  # later ones were used
        for begin, entry in file.entries:
            if _is_missing_between(before, entry, torn):
                is_behind = begin == position or entry.kind is Kind.START
                yield end_before if is_behind and before is not None else (file.path, position)
            elif not entry.is_sound and entry.round not in torn:
                yield file.path, begin
            before = entry
            position = begin + entry.size_bytes
            end_before = file.path, position


def _is_missing_between(before: Entry | None, entry: Entry, torn: Collection[int]) -> bool:
    """Whether an entry of a round that was complete should lie between these two."""
    if before is None:
        return entry.kind is not Kind.START
    if before.round == entry.round:
        return entry.index != before.index + 1 and entry.round not in torn
    return (
        (before.index + 1 < before.count and before.round not in torn)
        or (entry.index > 0 and entry.round not in torn)
        or any(number not in torn for number in range(before.round + 1, entry.round))
    )


def _apply(found: FoundJournal, file_number: int, entry: Entry) -> None:
    if entry.kind is Kind.START:
        return
    key = PartitionId(entry.topic_id, entry.partition)
    if entry.kind is Kind.RESET:
        found.pieces.pop(key, None)
        return
    pieces = found.pieces.setdefault(key, [])
    if pieces and pieces[-1].end_offset > entry.base_offset:
        pieces[:] = _below(pieces, entry.base_offset)
    records = entry.payload if entry.is_sound else b""
    pieces.append(
        Piece(
            file_number,
            entry.leader_epoch,
            entry.base_offset,
            entry.end_offset,
            records,
            is_damaged=not entry.is_sound,
        )
    )


def _below(pieces: list[Piece], end_offset: int) -> list[Piece]:
    """The pieces that remain after a truncation to `end_offset`."""
    kept = [each for each in pieces if each.base_offset < end_offset]
    for each in kept:
        each.end_offset = min(each.end_offset, end_offset)
    return kept


def first_unsynced(pieces: Sequence[Piece], committed_offset: int, *, is_damaged: bool) -> int | None:
    """The offset from which the segments of a partition may not be durable, judging by the journal.

    Records are journaled when everything before them is durable. So the segments were synced up to a piece that does
    not begin where the previous one ends, and up to the offset committed after the last piece; unless pieces may have
    been lost.
    """
    if not pieces:
        return None
    if is_damaged:
        return pieces[0].base_offset
    if committed_offset > pieces[-1].end_offset:
        return None
    begin = pieces[0].base_offset
    end = begin
    for piece in pieces:
        if piece.base_offset > end:
            begin = piece.base_offset
        end = piece.end_offset
    return begin


def _check_count(found: FoundJournal, directory: str, starts: Sequence[Start]) -> None:
    """A missing file may have held any records. Files are numbered from 0 in their names."""
    slots = [slot_of(each.path) for each in found.files]
    count = max([starts[-1].file_count, *(slot + 1 for slot in slots)]) if starts else 0
    if starts and starts[-1].file_count and len(slots) < count:
        found.missing_count = count - len(slots)
        reason = f"has {len(slots)} of {count} journal files: the others were removed"
        found.damage.append(JournalDamage(directory, 0, reason))
