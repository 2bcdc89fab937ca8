"""Reading a journal after a crash: what it holds for each partition, and what in it is torn or damaged.

Files are read in the order of their numbers. What a later entry has undone (a truncation, a partition that was deleted
or starts over) is left out.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from penstock.storage.files import Buffer, FileSystem, read_whole
from penstock.storage.journal.entries import (
    ENTRY_BYTES,
    ENTRY_MAGIC,
    HEADER_BYTES,
    Entry,
    Kind,
    NotAJournal,
    Start,
    decode_entry,
    decode_header,
    decode_segments,
    decode_start,
    guess_entry,
)

PREFIX = ".journal."
TEMPORARY = ".tmp"
"""Behind the name of a file that is being made; all others end in a number."""


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
    is_damaged: bool = False
    """The journal had records here that it has no more."""
    is_truncation: bool = False
    """The log was going to be truncated, and may have been."""


class FoundFile(msgspec.Struct, frozen=True):
    """A journal file on disk; its number is -1 when it was never used or its header cannot be read."""

    path: str
    size_bytes: int
    number: int
    is_written: bool
    """Whether it holds an entry."""


class JournalDamage(NamedTuple):
    """A place in a journal file that cannot be read though it was durable."""

    path: str
    position: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path} {self.reason}"


class FoundJournal(msgspec.Struct):
    files: list[FoundFile] = msgspec.field(default_factory=list)
    pieces: dict[PartitionId, list[Piece]] = msgspec.field(default_factory=dict)
    damage: list[JournalDamage] = msgspec.field(default_factory=list)
    last_number: int = 0
    last_bytes: int = 0
    """Where the entries of the last file end."""
    last_round: int = 0


def list_files(files: FileSystem, directory: str) -> list[str]:
    names = [name for name in files.list(directory) if name.startswith(PREFIX)]
    return [f"{directory}/{name}" for name in names if name.removeprefix(PREFIX).isdecimal()]


def read_journal(files: FileSystem, directory: str, *, headers_only: bool = False) -> FoundJournal:
    """Read the journal files of a data directory. Waits for the disk.

    `headers_only`: after a clean stop nothing in them means anything any more.
    """
    found = FoundJournal()
    written: list[_File] = []
    for path in list_files(files, directory):
        data = memoryview(b"")
        header = None
        try:
            data = memoryview(_read_start(files, path) if headers_only else read_whole(files, path))
            header = decode_header(data)
        except (NotAJournal, OSError) as error:
            if not headers_only:
                found.damage.append(JournalDamage(path, 0, f"cannot be read: {error}"))
        entries = [] if headers_only or header is None else find_entries(data, header.crc)
        number = -1 if header is None else header.number
        found.files.append(FoundFile(path, files.size(path), number, bool(entries)))
        found.last_number = max(found.last_number, number)
        if entries:
            written.append(_File(path, number, data, entries))
    starts = [each.start for each in written if each.start is not None]
    oldest = max((start.oldest_number for start in starts), default=0)
    written = sorted((each for each in written if each.number >= oldest), key=lambda each: each.number)
    for number, each in enumerate(written, start=1):
        _read_file(found, each, written[number] if number < len(written) else None)
    _check_count(found, directory, starts)
    return found


def _read_start(files: FileSystem, path: str) -> bytes:
    file = files.open(path, writable=False)
    try:
        return file.read(HEADER_BYTES, 0)
    finally:
        file.close()


class _File(msgspec.Struct):
    """A file that was used, and what stands in it."""

    path: str
    number: int
    data: memoryview
    entries: list[tuple[int, Entry]]
    """The sound ones, and where they begin. What is between them is torn, or damaged."""

    @property
    def start(self) -> Start | None:
        return decode_start(self.entries[0][1])


def _read_file(found: FoundJournal, file: _File, following: _File | None) -> None:
    """Apply the entries of a file. Behind a bad spot it is what comes later that tells a torn round from damage."""
    durable_bytes = 0
    start = None if following is None else following.start
    if start is not None and start.previous_number == file.number:
        durable_bytes = start.previous_bytes
    sound: list[Entry] = []
    rest: list[tuple[Entry, bool]] = []
    bad_at: int | None = None
    position = HEADER_BYTES
    for begin, entry in file.entries:
        if durable_bytes and begin >= durable_bytes:
            break  # it was torn by an earlier crash
        if begin != position:
            bad_at = position if bad_at is None else bad_at
            rest += _guess(file.data, position)
        position = begin + ENTRY_BYTES + len(entry.payload)
        if bad_at is None:
            sound.append(entry)
        else:
            rest.append((entry, False))
    if position < durable_bytes:
        bad_at = position if bad_at is None else bad_at
        rest += _guess(file.data, position)
    rounds = {entry.round for entry, is_damaged in rest if not is_damaged}
    is_last_round = len(rounds) <= 1 and all(each <= sound[-1].round + 1 for each in rounds if sound)
    if bad_at is not None and following is None and is_last_round:
        position, rest = bad_at, []
    elif bad_at is not None:
        found.damage.append(JournalDamage(file.path, bad_at, f"is damaged at byte {bad_at}"))
    for entry in sound:
        _apply(found, file.number, entry)
    for entry, is_damaged in rest:
        _apply(found, file.number, entry, is_damaged=is_damaged)
    found.last_bytes = position
    found.last_round = max([found.last_round, *(entry.round for entry in sound), *rounds])


def _guess(data: memoryview, position: int) -> list[tuple[Entry, bool]]:
    """The records that a damaged entry held, if it can be told."""
    entry = guess_entry(data, position)
    return [] if entry is None else [(entry, True)]


def find_entries(data: memoryview, header_crc: int) -> list[tuple[int, Entry]]:
    """All sound entries of a file, and where they begin."""
    entries: list[tuple[int, Entry]] = []
    position = HEADER_BYTES
    content: bytes | None = None
    while position >= 0:
        entry = decode_entry(data, position, header_crc)
        if entry is not None:
            entries.append((position, entry))
            position += ENTRY_BYTES + len(entry.payload)
            continue
        if content is None:
            content = bytes(data)  # a memoryview cannot search
        position = content.find(ENTRY_MAGIC, position + 1)
    return entries


def _apply(found: FoundJournal, file_number: int, entry: Entry, *, is_damaged: bool = False) -> None:
    if entry.kind is Kind.START:
        return
    if entry.kind is Kind.SEGMENTS:
        for topic_id, partition, end_offset in decode_segments(entry):
            key = PartitionId(topic_id, partition)
            kept = [each for each in found.pieces.get(key, ()) if each.end_offset > end_offset]
            found.pieces[key] = [*kept, Piece(file_number, -1, 0, end_offset, b"")]
    else:
        _apply_to_one(found, file_number, entry, is_damaged=is_damaged)


def _apply_to_one(found: FoundJournal, file_number: int, entry: Entry, *, is_damaged: bool) -> None:
    key = PartitionId(entry.topic_id, entry.partition)
    before = found.pieces.pop(key, [])
    if entry.kind is Kind.RESET:
        return
    kept = [] if entry.kind is Kind.TRUNCATION else _below(before, entry.base_offset)
    records = b"" if is_damaged else entry.payload
    kept.append(
        Piece(
            file_number,
            entry.leader_epoch,
            entry.base_offset,
            entry.end_offset,
            records,
            is_damaged,
            is_truncation=entry.kind is Kind.TRUNCATION,
        )
    )
    found.pieces[key] = kept


def _below(pieces: list[Piece], end_offset: int) -> list[Piece]:
    """What is left of them when the log was truncated there."""
    kept = [each for each in pieces if each.base_offset < end_offset]
    for each in kept:
        each.end_offset = min(each.end_offset, end_offset)
    return kept


def _check_count(found: FoundJournal, directory: str, starts: Sequence[Start]) -> None:
    """A file that is missing may have had anything in it. Files are numbered from 0 in their names."""
    slots = [int(each.path.rpartition(".")[2]) for each in found.files]
    count = max([*(start.file_count for start in starts), *(slot + 1 for slot in slots)], default=0)
    if starts and len(slots) < count:
        reason = f"has {len(slots)} of {count} journal files: the others were removed"
        found.damage.append(JournalDamage(directory, 0, reason))
