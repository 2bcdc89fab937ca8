"""The free space of a data directory, and the space used by individual logs that are not open.

Everything here waits for the disk: call it on a thread.
"""

from collections.abc import Iterable

import msgspec

from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.files import FileSystem, Usage

_LOG = ".log"


class DirectoryUsage(msgspec.Struct, frozen=True, kw_only=True):
    """`size_bytes` of logs counts records, not indexes, as Kafka does."""

    filesystem: Usage
    size_bytes: dict[PartitionName, int]


def measure(files: FileSystem, directory: str, names: Iterable[PartitionName]) -> DirectoryUsage:
    """Look at the file system and at the files of each of these logs. Raises `OSError`."""
    return DirectoryUsage(
        filesystem=files.usage(directory),
        size_bytes={name: _log_size(files, f"{directory}/{name.directory}") for name in names},
    )


def _log_size(files: FileSystem, path: str) -> int:
    try:
        return sum(files.size(f"{path}/{name}") for name in files.list(path) if name.endswith(_LOG))
    except FileNotFoundError:  # deleted meanwhile
        return 0
