"""Offset checkpoints of a data directory, in Kafka's text format: an offset for each of its partitions.

Files `recovery-point-offset-checkpoint` (recovery need not check records below), `log-start-offset-checkpoint` (records
below were deleted), `replication-offset-checkpoint` (high watermarks) and `cleaner-offset-checkpoint` (compacted up to
there, see `cleaner`), each:

    0                        version
    2                        number of entries
    orders 0 1042            topic, partition, offset
    orders 1 998

They are replaced as a whole: a crash leaves the old file or the new one.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock.storage.files import FileSystem, read_whole, write_atomically

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
CLEANED: Final = "cleaner-offset-checkpoint"

_VERSION: Final = "0"


class PartitionName(NamedTuple):
    """A partition by the name of its topic. In the file system: `<topic>-<partition>`."""

    topic: str
    partition: int

    @property
    def directory(self) -> str:
        return f"{self.topic}-{self.partition}"

    @classmethod
    def parse(cls, directory: str) -> "PartitionName | None":
        """The partition whose log a directory of this name holds; None for any other directory."""
        topic, _, number = directory.rpartition("-")
        if not topic or not number.isdecimal() or (number != "0" and number.startswith("0")):
            return None
        return cls(topic, int(number))


class CorruptCheckpointFile(Exception):
    """The file is not an offset checkpoint."""


def encode_offsets(offsets: Mapping[PartitionName, int]) -> bytes:
    """The content of the file."""
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    return "\n".join([_VERSION, str(len(lines)), *lines, ""]).encode()


def decode_offsets(content: bytes) -> dict[PartitionName, int]:
    """The offsets in a file's content; none in an empty file. Raises `CorruptCheckpointFile`."""
    lines = content.decode("utf-8", "replace").splitlines()
    if not lines:
        return {}
    if lines[0] != _VERSION:
        raise CorruptCheckpointFile(f"version {lines[0]!r} is not known")
    offsets: dict[PartitionName, int] = {}
    for line in lines[2:]:
        fields = line.split()
        if len(fields) != 3 or not fields[1].isdecimal() or not fields[2].isdecimal():
            raise CorruptCheckpointFile(f"malformed line {line!r}")
        offsets[PartitionName(fields[0], int(fields[1]))] = int(fields[2])
    if len(lines) < 2 or lines[1] != str(len(offsets)):
        raise CorruptCheckpointFile(f"{len(offsets)} entries where {lines[1:2]} are announced")
    return offsets


def read_offsets(files: FileSystem, path: str) -> dict[PartitionName, int] | None:
    """The offsets in the file at `path`, None when there is none. Raises `CorruptCheckpointFile`."""
    try:
        return decode_offsets(read_whole(files, path))
    except FileNotFoundError:
        return None


def write_offsets(files: FileSystem, path: str, offsets: Mapping[PartitionName, int]) -> None:
    """Replace the file at `path`. Waits for the disk."""
    write_atomically(files, path, encode_offsets(offsets))
