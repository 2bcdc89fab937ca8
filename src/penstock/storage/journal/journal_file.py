"""The files of a journal: created once, filled with zeros, then reused."""

import errno
import os
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

from penstock.storage.direct import DIRECT_BLOCK_BYTES, open_direct
from penstock.storage.errors import StorageFailure
from penstock.storage.files import File, FileSystem
from penstock.storage.journal.entries import HEADER_BYTES, Start, encode_header, encode_start
from penstock.storage.journal.reading import (
    NO_NUMBER,
    PREFIX,
    TEMPORARY,
    FoundJournal,
    PartitionId,
    slot_of,
)
from penstock.storage.sync import Syncable

BLOCK_BYTES = 512
"""Of rounds that are written through the page cache."""
_ZEROS = bytes(1 << 20)
_FREE_PART = 10
"""No file is made that would leave less than this part of the disk free, unless nothing else helps."""


class JournaledLog(Syncable, Protocol):
    """A log whose records the journal holds."""

    partition_id: PartitionId
    segments_durable_offset: int
    failure: StorageFailure | None

    @property
    def is_closed(self) -> bool: ...

    @property
    def log_end_offset(self) -> int: ...


class JournalFile:
    __slots__ = (
        "block_bytes",
        "direct",
        "entries_position",
        "file",
        "header_crc",
        "logs",
        "number",
        "partitions",
        "path",
        "size_bytes",
    )

    def __init__(self, path: str, file: File, size_bytes: int) -> None:
        self.path = path
        self.file = file
        self.size_bytes = size_bytes - size_bytes % DIRECT_BLOCK_BYTES
        self.block_bytes = BLOCK_BYTES
        self.entries_position = max(HEADER_BYTES, BLOCK_BYTES)
        """The position of its first round."""
        self.direct: int | None = None
        """The descriptor for rounds that the kernel writes; None if it cannot."""
        self.number = NO_NUMBER
        self.header_crc = 0
        self.logs: dict[JournaledLog, int] = {}
        """The logs whose records it holds, and up to which offset."""
        self.partitions: set[PartitionId] = set()
        """Found in it at the start, and not recovered yet."""

    def open_direct(self) -> None:
        """Waits for the disk. Only while the file's content is obsolete."""
        if self.direct is None and self.size_bytes and (direct := open_direct(self.file)) is not None:
            self.direct = direct
            self.block_bytes = self.entries_position = DIRECT_BLOCK_BYTES

    def close(self) -> None:
        self.file.close()
        if self.direct is not None:
            os.close(self.direct)
            self.direct = None


class JournalFiles:
    """The files in use and the spare ones."""

    def __init__(
        self,
        files: FileSystem,
        directory: str,
        found: FoundJournal,
        new_nonce: Callable[[], bytes],
        directory_id: bytes,
        *,
        is_direct: bool = False,
    ) -> None:
        """Waits for the disk. Raises `OSError`. `is_direct`: open them past the page cache too, where that is possible.

        The files from the first that a recovery needs on are kept until it is done; the others may be used. Damage is
        evidence of lost records: all files that may hold it are kept.
        """
        self._files = files
        self._directory = directory
        self._new_nonce = new_nonce
        self._directory_id = directory_id
        self._is_direct = is_direct
        self._last_number = found.last_number
        self._paths: set[str] = set()
        self.live: deque[JournalFile] = deque()
        """Oldest first."""
        self.spare: deque[JournalFile] = deque()
        self.missing_count = found.missing_count
        needed = [piece.file_number for pieces in found.pieces.values() for piece in pieces]
        oldest = NO_NUMBER if found.damage else min(needed, default=self._last_number + 1)
        for each in found.files:
            journal_file = JournalFile(each.path, self._open(each.path), each.size_bytes)
            journal_file.number = each.number
            is_live = each.number in found.written and each.number >= oldest
            (self.live if is_live else self.spare).append(journal_file)
        for key, pieces in found.pieces.items():
            numbers = {piece.file_number for piece in pieces}
            for journal_file in self.live:
                if journal_file.number in numbers:
                    journal_file.partitions.add(key)
        if found.last_bytes and self.live:
            # A kill may have left its last round in the page cache only; written again, because the kernel takes pages
            # for clean after a sync that failed.
            last = self.live[-1].file
            last.write((last.read(found.last_bytes, 0),), 0)
            last.sync()
        for journal_file in self.spare:
            self.begin_use(journal_file)

    def _open(self, path: str) -> File:
        file = self._files.open(path)
        self._paths.add(path)
        return file

    @property
    def count(self) -> int:
        """How many files there should be, including a file that is neither in use nor free at the moment."""
        return len(self._paths) + self.missing_count

    def make(self, size_bytes: int, *, is_needed: bool = False) -> JournalFile:
        """A file of zeros that are on the disk: space that is only reserved costs an extra sync when it is used.

        Waits for the disk; never two at once. A file gets its name only after it has its header: any other file with
        such a name is damaged.
        """
        usage = self._files.usage(self._directory)
        if not is_needed and usage.free_bytes - size_bytes < usage.total_bytes // _FREE_PART:
            raise OSError(errno.ENOSPC, "little room is left, and records need it more")
        path = self._free_path()
        file = self._files.open(path + TEMPORARY, create=True)
        made = JournalFile(path, file, size_bytes)
        try:
            for position in range(0, made.size_bytes, len(_ZEROS)):
                file.write((_ZEROS[: made.size_bytes - position],), position)
            self.begin_use(made)
            self._files.rename(path + TEMPORARY, path)
            self._files.sync_dir(self._directory)
        except OSError:
            made.close()
            raise
        self._paths.add(path)
        return made

    def _free_path(self) -> str:
        slot = 0
        while (path := f"{self._directory}/{PREFIX}{slot}") in self._paths:
            slot += 1
        return path

    def accept_missing(self, present: Iterable[JournalFile]) -> None:
        """Expect only the files that are present from now on, and number their names without gaps.

        A gap in the names would be reported as damage after the next crash. Waits for the disk. Raises `OSError`.
        """
        self.missing_count = 0
        for journal_file in sorted(present, key=lambda each: slot_of(each.path), reverse=True):
            path = self._free_path()
            if slot_of(path) > slot_of(journal_file.path):
                return
            self._files.rename(journal_file.path, path)
            self._files.sync_dir(self._directory)
            self._paths = self._paths - {journal_file.path} | {path}  # at once: the loop reads their count
            journal_file.path = path

    def begin_use(self, journal_file: JournalFile) -> None:
        """Invalidate its content, durably. Waits for the disk; never two at once."""
        self._last_number += 1
        number = self._last_number
        header, journal_file.header_crc = encode_header(number, self._new_nonce(), self._directory_id)
        journal_file.file.write((header,), 0)
        journal_file.file.sync()
        if self._is_direct:
            journal_file.open_direct()
        journal_file.number = number

    def make_void(self, last: JournalFile, last_round: int) -> None:
        """Mark a file so that everything before it is obsolete. Waits for the disk."""
        self.begin_use(last)
        start = Start(last.number, last_round, file_count=0)
        last.file.write((encode_start(last.header_crc, last_round + 1, 1, start),), last.entries_position)
        last.file.sync()

    def remove(self, last_round: int) -> None:
        """Remove all files, none of which is needed any more. Waits for the disk. Raises `OSError`.

        Oldest first, durably: the last file says that the others are obsolete, so that they are not reported missing.
        """
        if self.spare:
            self.make_void(self.spare[-1], last_round)
        for each in self.spare:
            each.close()
            self._files.remove(each.path)
            self._files.sync_dir(self._directory)
