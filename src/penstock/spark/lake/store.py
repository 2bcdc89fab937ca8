"""Files below a table's root or a checkpoint's, in a directory or in an object store.

Paths are relative to the root, with slashes. The libraries of the formats read and write their metadata by themselves;
all other access goes through here. A seam: tests stop between any two steps.
"""

import abc
import functools
from collections.abc import Iterable, Iterator
from typing import IO

import msgspec

from penstock.spark.lake.location import Location


class FileInfo(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    size_bytes: int
    modified_ms: int


class NewFile(abc.ABC):
    """A file that is being written. Readers see nothing of it before `close`."""

    file: IO[bytes]

    @abc.abstractmethod
    def close(self) -> int:
        """Make the file durable and visible; return its size in bytes."""

    @abc.abstractmethod
    def discard(self) -> None: ...


class Store(abc.ABC):
    """A change is durable when its method returns."""

    @abc.abstractmethod
    def read(self, path: str) -> bytes | None:
        """Return the content; None if there is no such file."""

    @abc.abstractmethod
    def write(self, path: str, content: bytes) -> None:
        """Replace the whole file at once."""

    @abc.abstractmethod
    def create(self, path: str, content: bytes) -> bool:
        """Write a file that must not exist; return false if it does. One of several writers succeeds."""

    @abc.abstractmethod
    def new_file(self, path: str) -> NewFile: ...

    @abc.abstractmethod
    def remove(self, paths: Iterable[str]) -> None:
        """Remove files; missing ones are ignored."""

    @abc.abstractmethod
    def files(self, directory: str = "") -> Iterator[FileInfo]:
        """Yield all files below a directory, in no order; a missing one is empty."""

    @abc.abstractmethod
    def exists(self, path: str) -> bool:
        """Say whether there is such a file, or a directory with files."""

    @abc.abstractmethod
    def verify(self) -> None:
        """Check that files can be listed, created once and removed; raise StorageError with the reason if not."""


@functools.lru_cache(maxsize=64)
def open_store(location: Location) -> Store:
    """Open the store of a location, which need not exist. One for each location in a process: it keeps connections."""
    if location.is_remote:
        from penstock.spark.lake.objects import ObjectFiles  # noqa: PLC0415 - needs another library

        return ObjectFiles(location)
    from penstock.spark.lake.disk import Disk  # noqa: PLC0415 - it implements this module's interface

    return Disk(location.path)
