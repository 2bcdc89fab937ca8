"""Where an embedded node keeps its data: in memory, in a temporary directory, or in a directory of the user's.

A death has to mean something in each. In memory it is a power cut: what was not synced is lost, and the rest is there
when the node starts again. In a directory it is the end of a process: the kernel keeps what was written, and what the
node had open is closed.
"""

import errno
from typing import Protocol

from penstock.embedded.closable_files import ClosableFiles
from penstock.embedded.memory_disk import MemoryDisk
from penstock.observability.clock import Clock
from penstock.observability.offload import ThreadOffload
from penstock.storage.files import FileSystem
from penstock.testing.offload import LoopOffload

_IN_MEMORY = "/data"


class Place(Protocol):
    """Where one node keeps its data, from its first start until the end."""

    directory: str

    @property
    def files(self) -> FileSystem: ...

    def offload(self, thread_count_max: int, name: str) -> ThreadOffload: ...

    def cut(self) -> None:
        """The node dies: nothing that it still does has an effect on the data."""
        ...

    def recover(self) -> None:
        """Nothing of the dead node runs any more, and the next may start."""
        ...

    def fail(self) -> None:
        """Let every write and sync fail from now on."""
        ...

    def mend(self) -> None: ...


class Memory:
    """A disk in memory. Nothing of it outlives the process, and as it makes nobody wait there are no threads."""

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

    def mend(self) -> None:
        self._disk.mend()


class Directory:
    """A directory of the machine's."""

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

    def mend(self) -> None:
        self._files.error = 0
