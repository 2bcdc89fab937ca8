"""Read a data directory without its broker: its partitions, their segments, their batches.

Opens files for reading only. A broker may be running on the directory: its newest segment may then end in a partial
batch, and in preallocated zeros.
"""

import fcntl
import os
import re
from collections.abc import Callable, Iterator

import msgspec

from penstock.cli.errors import CommandError
from penstock.protocol.records.batch import BatchHeader, crc_is_valid
from penstock.storage.batch_scan import BatchScan
from penstock.storage.files import Buffer, RealFileSystem

_PARTITION_NAME = re.compile(r"(.+)-(\d+)")
_SEGMENT_NAME = re.compile(r"(\d{20})\.log")
_LOCK_NAME = ".lock"
_ZERO_CHECK_BYTES = 1 << 20


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    base_offset: int
    size_bytes: int


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    partition: int
    path: str
    segments: tuple[Segment, ...]

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """A place where the bytes are not those that were written; offset -1 where it is unknown."""

    file: str
    position: int
    offset: int
    reason: str


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    position: int
    header: BatchHeader
    data: Buffer
    is_crc_valid: bool


def find_partitions(path: str, topic: str | None = None, partition: int | None = None) -> list[Partition]:
    """List the partitions of a data directory, or the one of a partition's directory; topic and number select."""
    if not os.path.isdir(path):
        raise CommandError(
            f"{path} is not a directory: give the broker's data directory (`penstock up --data`)"
        )
    found = list_partitions(path)
    if not found:
        raise CommandError(f"{path} has no partitions: give a broker's data directory, or one partition's")
    chosen = [p for p in found if topic in (None, p.topic) and partition in (None, p.partition)]
    if not chosen:
        wanted = topic or "any topic"
        wanted += f", partition {partition}" if partition is not None else ""
        names = [each.name for each in found]
        some = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        raise CommandError(f"{path} has nothing of {wanted}: it has {some}")
    return chosen


def list_partitions(path: str) -> list[Partition]:
    """List all partitions, even if there are none."""
    try:
        itself = _partition_at(path, os.path.basename(os.path.abspath(path)))
        if itself is not None and itself.segments:
            return [itself]
        entries = ((os.path.join(path, name), name) for name in os.listdir(path))
        found = [_partition_at(child, name) for child, name in entries if os.path.isdir(child)]
    except OSError as error:
        raise CommandError(f"cannot read {error.filename or path}: {error.strerror}") from None
    return sorted((p for p in found if p is not None), key=lambda p: (p.topic, p.partition))


def _partition_at(path: str, name: str) -> Partition | None:
    match = _PARTITION_NAME.fullmatch(name)
    if match is None:
        return None
    segments = []
    for file in sorted(os.listdir(path)):
        if (base := _SEGMENT_NAME.fullmatch(file)) is not None:
            full = os.path.join(path, file)
            segments.append(Segment(path=full, base_offset=int(base[1]), size_bytes=os.path.getsize(full)))
    return Partition(topic=match[1], partition=int(match[2]), path=path, segments=tuple(segments))


def is_in_use(path: str) -> bool:
    """Whether a broker has locked the directory, or the data directory of a partition's directory."""
    for directory in (path, os.path.dirname(os.path.abspath(path))):
        try:
            fd = os.open(os.path.join(directory, _LOCK_NAME), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # Kafka's
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
    return False


class SegmentReader:
    """Iterates over the batches of a segment; afterwards `position` and `reason` say where and why it ended."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self.position = 0
        self.next_offset = segment.base_offset
        self.reason: str | None = None
        """None when batches fill the file, or only zeros follow them."""

    def __iter__(self) -> Iterator[Batch]:
        segment = self._segment
        file = RealFileSystem().open(segment.path, writable=False)
        try:
            scan = BatchScan(file.read, 0, file.size(), segment.base_offset, check_crc=False)
            for position, header in scan:
                data = scan.batch(header)
                is_valid = crc_is_valid(data, 0, header.size_bytes)
                yield Batch(position=position, header=header, data=data, is_crc_valid=is_valid)
            self.position, self.next_offset, self.reason = scan.position, scan.next_offset, scan.reason
            if self.reason is not None and is_zero_from(file.read, self.position):
                self.reason = None
        finally:
            file.close()


def is_zero_from(read: Callable[[int, int], Buffer], position: int) -> bool:
    """Whether only zeros follow, up to the end of the file."""
    while chunk := read(_ZERO_CHECK_BYTES, position):
        if bytes(chunk).strip(b"\0"):
            return False
        position += len(chunk)
    return True
