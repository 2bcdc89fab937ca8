"""The storage of an embedded node: in memory, or in a directory.

`kill` has an effect on each. In memory it is a power cut: data that was not synced is lost. In a directory it is the
end of a process: the kernel keeps what was written, and closes the files.
"""

import errno
from typing import Protocol

from penstock.embedded.closable_files import ClosableFiles
from penstock.embedded.memory_disk import MemoryDisk
from penstock.runtime.clock import Clock
from penstock.runtime.offload import ThreadOffload
from penstock.storage.files import FileSystem
from penstock.testing.offload import LoopOffload

_IN_MEMORY = "/data"


class NodeStorage(Protocol):
    """The storage of one node, over all its restarts."""

    directory: str

    @property
    def files(self) -> FileSystem: ...

    def offload(self, thread_count_max: int, name: str) -> ThreadOffload: ...

    def cut(self) -> None:
        """The node was killed: its further writes have no effect."""
        ...

    def recover(self) -> None:
        """The killed node has ended, and the next may start."""
        ...

    def fail(self) -> None:
        """Make every write and sync fail until `repair`."""
        ...

    def repair(self) -> None: ...


class MemoryStorage:
    """A disk in memory. It never blocks, so there are no threads."""

    def __init__(self, clock: Clock) -> None:
        self.directory = _IN_MEMORY
        self._disk = MemoryDisk(clock)
        self._next = self._disk

    @property
    def files(self) -> FileSystem:
        return self._disk

    def offload(self, thread_count_max: int, name: str) -> ThreadOffload:  # noqa: ARG002 - no threads
        return LoopOffload()

    def cut(self) -> None:
        self._next = self._disk.crash()

    def recover(self) -> None:
        self._disk = self._next

    def fail(self) -> None:
        self._disk.fail(errno.EIO)

    def repair(self) -> None:
        self._disk.repair()


class DirectoryStorage:
    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._files = ClosableFiles()

    @property
    def files(self) -> FileSystem:
        return self._files

    def offload(self, thread_count_max: int, name: str) -> ThreadOffload:
        return ThreadOffload(thread_count_max, name)

    def cut(self) -> None:
        self._files.is_cut = True

    def recover(self) -> None:
        self._files.close_all()
        self._files = ClosableFiles()

    def fail(self) -> None:
        self._files.error = errno.EIO

    def repair(self) -> None:
        self._files.error = 0
