"""Snapshots of the metadata: files beside the log, in KRaft's form (KIP-630).

    <20 digits of the end offset>-<10 digits of the epoch>.checkpoint        whole, and never changed
    <...>.checkpoint.part                                                    being written, or fetched from the leader

The content is record batches, numbered from 0 in the snapshot's epoch:

    control batches     SnapshotHeader, KRaftVersion, KRaftVoters
    batches             the state, as metadata records
    control batch       SnapshotFooter

A file gets its final name when its bytes are durable: a file with that name is complete.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import Final

from penstock.cluster.raft.records import kraft_version_batch, number_batches, voter_sets_in, voters_batch
from penstock.cluster.raft.values import LogPosition
from penstock.cluster.raft.voters import VoterSet
from penstock.protocol.messages import snapshot_footer_record, snapshot_header_record
from penstock.protocol.records.batch import HEADER_SIZE, crc_is_valid, iter_batches, parse_header
from penstock.protocol.records.control import ControlType, build_control_batch
from penstock.protocol.records.errors import CorruptRecords
from penstock.storage.errors import LogCorrupt
from penstock.storage.files import FileSystem

SUFFIX: Final = ".checkpoint"
PARTIAL: Final = ".part"
_NAME: Final = re.compile(r"^(\d{20})-(\d{10})\.checkpoint$")
_PARTIAL_NAME: Final = re.compile(r"^(\d{20})-(\d{10})\.checkpoint\.part$")
_READ_BYTES: Final = 1 << 20
REMEDY: Final = (
    "With other voters, remove this node from the quorum and start it with an empty data directory to join again; "
    "else restore the data directory from a backup"
)


def file_name(snapshot: LogPosition) -> str:
    return f"{snapshot.offset:020d}-{snapshot.epoch:010d}{SUFFIX}"


def snapshot_batches(
    snapshot: LogPosition, voters: VoterSet | None, state: Iterable[bytes], *, timestamp: int
) -> Iterator[bytes]:
    """The content of a snapshot file; `state` is batches of metadata records, with any offsets."""
    epoch = snapshot.epoch
    header = snapshot_header_record.encode(
        snapshot_header_record.SnapshotHeaderRecord(version=0, last_contained_log_timestamp=timestamp), 0
    )
    yield build_control_batch(
        ControlType.SNAPSHOT_HEADER, header, timestamp=timestamp, base_offset=0, leader_epoch=epoch
    )
    offset = 1
    if voters is not None:
        yield kraft_version_batch(offset=1, epoch=epoch, timestamp=timestamp)
        yield voters_batch(voters, offset=2, epoch=epoch, timestamp=timestamp)
        offset = 3
    for batches in state:
        numbered, offset = number_batches(batches, offset=offset, epoch=epoch)
        yield bytes(numbered)
    footer = snapshot_footer_record.encode(snapshot_footer_record.SnapshotFooterRecord(version=0), 0)
    yield build_control_batch(
        ControlType.SNAPSHOT_FOOTER, footer, timestamp=timestamp, base_offset=offset, leader_epoch=epoch
    )


class SnapshotFiles:
    """All methods block and raise `OSError`; those that read batches raise `LogCorrupt`."""

    def __init__(self, files: FileSystem, directory: str) -> None:
        self._files = files
        self._directory = directory
        self._writing: LogPosition | None = None
        """The snapshot that another thread may be writing."""

    def list(self) -> list[LogPosition]:
        """The complete snapshots, oldest first."""
        return sorted(self._found(_NAME), key=lambda each: each.offset)

    def _found(self, pattern: re.Pattern[str]) -> Iterator[LogPosition]:
        for name in self._files.list(self._directory):
            match = pattern.match(name)
            if match:
                yield LogPosition(int(match[2]), int(match[1]))

    def remove_partial(self, before: LogPosition | None = None) -> None:
        """Remove partial files that will not be finished: all of them, or those below a complete snapshot."""
        for each in self._found(_PARTIAL_NAME):
            if each != self._writing and (before is None or each.offset < before.offset):
                with contextlib.suppress(FileNotFoundError):  # it was completed just now
                    self._files.remove(self._path(each) + PARTIAL)

    def write(self, snapshot: LogPosition, parts: Iterable[bytes]) -> None:
        """Write a snapshot, then rename it to its final name."""
        self._writing = snapshot
        try:
            position = 0
            self.write_chunk(snapshot, 0, b"")
            for part in parts:
                self.write_chunk(snapshot, position, part)
                position += len(part)
            self.finish(snapshot)
        finally:
            self._writing = None

    def write_chunk(self, snapshot: LogPosition, position: int, data: bytes) -> None:
        """Write bytes of a partial file; at position 0 the file starts again."""
        file = self._files.open(self._path(snapshot) + PARTIAL, create=True)
        try:
            if position == 0:
                file.truncate(0)
            if data:
                file.write([data], position)
        finally:
            file.close()

    def finish(self, snapshot: LogPosition) -> None:
        """Sync a complete file and rename it to its final name."""
        path = self._path(snapshot)
        file = self._files.open(path + PARTIAL)
        try:
            file.sync()
        finally:
            file.close()
        self._files.rename(path + PARTIAL, path)
        self._files.sync_dir(self._directory)

    def read(self, snapshot: LogPosition, position: int, max_bytes: int) -> tuple[bytes, int]:
        """Bytes of a snapshot, and its size."""
        file = self._files.open(self._path(snapshot), writable=False)
        try:
            return file.read(max_bytes, position), file.size()
        finally:
            file.close()

    def verify_partial(self, snapshot: LogPosition) -> None:
        """Check a fetched snapshot before it gets its name. Raises `LogCorrupt`."""
        for _ in self.batches(snapshot, PARTIAL):
            pass

    def batches(self, snapshot: LogPosition, suffix: str = "") -> Iterator[bytes]:
        """Its content in pieces of whole batches."""
        path = self._path(snapshot) + suffix
        file = self._files.open(path, writable=False)  # once: it may be removed meanwhile
        try:
            position, size_bytes = 0, file.size()
            read_bytes = _READ_BYTES
            while position < size_bytes:
                data = file.read(read_bytes, position)
                end = self._end_of_intact(snapshot, data, position)
                if end == 0:  # a batch is larger than the bytes read; a torn batch ends the loop by raising
                    if len(data) < HEADER_SIZE or position + parse_header(data).size_bytes > size_bytes:
                        raise self._damaged(snapshot, position)
                    read_bytes = parse_header(data).size_bytes
                    continue
                yield data[:end]
                position += end
        finally:
            file.close()

    def _end_of_intact(self, snapshot: LogPosition, data: bytes, position: int) -> int:
        """The end of the complete batches in `data`. Raises `LogCorrupt` if one does not match its checksum."""
        end = 0
        try:
            for end_before, header in iter_batches(data):
                end = end_before
                if not crc_is_valid(data, end, header.size_bytes):
                    raise self._damaged(snapshot, position + end)
                end += header.size_bytes
        except CorruptRecords as error:
            raise self._damaged(snapshot, position + end) from error
        return end

    def _damaged(self, snapshot: LogPosition, position: int) -> LogCorrupt:
        return LogCorrupt(
            f"{self._path(snapshot)}, the snapshot of the metadata up to offset {snapshot.offset}, is damaged at byte "
            f"{position}: its records are not what was written. {REMEDY}"
        )

    def voters(self, snapshot: LogPosition) -> VoterSet | None:
        """The voter set in it."""
        for data in self.batches(snapshot):
            for pos, header in iter_batches(data):
                if not header.is_control:
                    return None
                for _, voters in voter_sets_in(data, pos, header):
                    return voters
        return None

    def remove_before(self, snapshot: LogPosition) -> None:
        self.remove_partial(before=snapshot)
        for each in self.list():
            if each.offset < snapshot.offset:
                self._files.remove(self._path(each))

    def _path(self, snapshot: LogPosition) -> str:
        return f"{self._directory}/{file_name(snapshot)}"
