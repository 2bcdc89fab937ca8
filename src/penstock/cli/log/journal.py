"""Read a journal without its broker: its entries, and the records in them that the segments lack.

Opens files for reading only.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from penstock.cli.data_directory import Partition, SegmentReader, is_in_use
from penstock.cli.errors import CommandError
from penstock.storage.directory.metadata_files import encode_uuid, read_clean_mark, read_topic_id
from penstock.storage.files import Buffer, RealFileSystem, read_whole
from penstock.storage.journal.entries import (
    HEADER_BYTES,
    Entry,
    Kind,
    NotAJournal,
    decode_header,
    decode_start,
)
from penstock.storage.journal.reading import FoundJournal, PartitionId, Piece, find_entries, read_journal

_NO_ENTRY: Final = "no entry can be read here"
_LEFT_OVER: Final = "left over from an earlier use of the file, or from an incomplete round"


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An entry, whose records may be damaged, or a place without a readable entry."""

    file: str
    file_number: int
    position: int
    size_bytes: int
    crc_valid: bool
    round: int | None = None
    kind: str | None = None
    partition: str | None = None
    leader_epoch: int | None = None
    base_offset: int | None = None
    end_offset: int | None = None
    detail: str | None = None

    def __str__(self) -> str:
        place, size = f"  byte {self.position}: ", f"{self.size_bytes} bytes"
        if self.kind is None:
            return f"{place}{self.detail or ''}, {size}"
        parts = [
            f"{place}round {self.round}",
            self.kind,
            self.partition,
            None if self.leader_epoch is None else f"leader epoch {self.leader_epoch}",
            None if self.end_offset is None else f"offsets {self.base_offset}-{self.end_offset - 1}",
            self.detail,
            size,
            "CRC ok" if self.crc_valid else "CRC WRONG",
        ]
        return ", ".join(part for part in parts if part is not None)


class PartitionNames:
    """The names of partitions, by the topic ids in their directories."""

    def __init__(self, partitions: Sequence[Partition]) -> None:
        files = RealFileSystem()
        self._names: dict[PartitionId, Partition] = {}
        for each in partitions:
            topic_id = read_topic_id(files, each.path)
            if topic_id is not None:
                self._names[PartitionId(topic_id, each.partition)] = each

    def get(self, partition_id: PartitionId) -> Partition | None:
        return self._names.get(partition_id)

    def format(self, partition_id: PartitionId) -> str:
        """Give the name of a partition; one without a directory is named by its topic id."""
        found = self._names.get(partition_id)
        if found is not None:
            return found.name
        return f"topic id {encode_uuid(partition_id.topic_id)} partition {partition_id.partition}"


class JournalFile:
    """Iterates over the entries of a journal file with the records of each, and over gaps between entries."""

    def __init__(self, path: str, names: PartitionNames) -> None:
        try:
            self._data = memoryview(read_whole(RealFileSystem(), path))
            self._header = decode_header(self._data)
        except NotAJournal as error:
            raise CommandError(f"{path} is not a journal file: {error}") from None
        except OSError as error:
            raise CommandError(f"cannot read {path}: {error.strerror}") from None
        self._name = os.path.basename(path)
        self._names = names
        self.number = self._header.number
        self.size_bytes = len(self._data)

    def __iter__(self) -> Iterator[tuple[JournalEntry, Buffer]]:
        position = HEADER_BYTES
        for begin, entry in find_entries(self._data, self._header.crc):
            if begin != position and entry.kind is not Kind.START:  # a block may be larger than the header
                yield self._gap(position, begin, _NO_ENTRY), b""
            yield self._entry(begin, entry), entry.payload if entry.is_sound else b""
            position = begin + entry.size_bytes
        if bytes(self._data[position:]).strip(b"\0"):
            yield self._gap(position, len(self._data), _LEFT_OVER), b""

    def _gap(self, begin: int, end: int, what: str) -> JournalEntry:
        return JournalEntry(
            file=self._name,
            file_number=self.number,
            position=begin,
            size_bytes=end - begin,
            crc_valid=False,
            detail=what,
        )

    def _entry(self, position: int, entry: Entry) -> JournalEntry:
        has_records = entry.kind is Kind.APPEND
        has_partition = entry.kind is not Kind.START
        return JournalEntry(
            file=self._name,
            file_number=self.number,
            position=position,
            size_bytes=entry.size_bytes,
            crc_valid=entry.is_sound,
            round=entry.round,
            kind=entry.kind.name.lower(),
            partition=self._names.format(PartitionId(entry.topic_id, entry.partition))
            if has_partition
            else None,
            leader_epoch=entry.leader_epoch if has_records else None,
            base_offset=entry.base_offset if has_records else None,
            end_offset=entry.end_offset if has_records else None,
            detail=_detail(entry),
        )


def _detail(entry: Entry) -> str | None:
    start = decode_start(entry)
    if start is None:
        return None
    before = f", round {start.complete_round} was the last complete one" if start.complete_round else ""
    return f"file {start.oldest_number} is the oldest" + before


class Unreplayed(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Offsets of a partition that its segments lack; the journal has them, or has lost them."""

    partition: str
    base_offset: int
    end_offset: int
    is_lost: bool
    segment: str
    position: int

    def __str__(self) -> str:
        offsets = f"offsets {self.base_offset}-{self.end_offset - 1} of {self.partition}"
        return f"the journal holds {offsets} beyond the segments"


def read_after_crash(directory: str) -> FoundJournal:
    """Read the journal of a data directory, or of the one above a partition's directory.

    It is empty after a clean shutdown, and while a broker runs.
    """
    files = RealFileSystem()
    path = os.path.abspath(directory)
    if not is_in_use(directory):
        for data_directory in (path, os.path.dirname(path)):
            if files.exists(f"{data_directory}/meta.properties"):
                if read_clean_mark(files, data_directory) is None:
                    return read_journal(files, data_directory)
                break
    return FoundJournal()


def find_unreplayed(found: FoundJournal, partitions: Sequence[Partition]) -> list[Unreplayed]:
    """Find the offsets in the journal after the ends of these partitions."""
    names = PartitionNames(partitions)
    unreplayed: list[Unreplayed] = []
    for partition_id, pieces in found.pieces.items():
        partition = names.get(partition_id)
        if partition is not None and partition.segments:
            unreplayed += _unreplayed(partition, pieces)
    return sorted(unreplayed, key=lambda each: (each.partition, each.base_offset))


def _unreplayed(partition: Partition, pieces: Sequence[Piece]) -> Iterator[Unreplayed]:
    last = partition.segments[-1]
    position, end_offset = _sound_end(partition)

    def part(begin: int, end: int, *, is_lost: bool) -> Unreplayed:
        return Unreplayed(
            partition=partition.name,
            base_offset=begin,
            end_offset=end,
            is_lost=is_lost,
            segment=last.path,
            position=position,
        )

    begin_offset = end_offset
    for piece in pieces:
        if piece.end_offset <= end_offset:
            continue
        if piece.base_offset > end_offset or piece.is_damaged:
            if begin_offset < end_offset:
                yield part(begin_offset, end_offset, is_lost=False)
            lost_until = piece.end_offset if piece.is_damaged else piece.base_offset
            yield part(end_offset, lost_until, is_lost=True)
            begin_offset = lost_until
        end_offset = piece.end_offset
    if begin_offset < end_offset:
        yield part(begin_offset, end_offset, is_lost=False)


def _sound_end(partition: Partition) -> tuple[int, int]:
    """Find the position and the offset at which the valid batches of the last segment end."""
    reader = SegmentReader(partition.segments[-1])
    for batch in reader:
        if not batch.is_crc_valid:
            return batch.position, batch.header.base_offset
    return reader.position, reader.next_offset
