"""Real files of a node that may be killed while its process lives on.

The kernel closes the descriptors of a process that dies; here they are tracked and closed.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence

from penstock.storage.files import FILE_MODE, Buffer, File, RealFile, RealFileSystem, Volume
from penstock.testing.memory_files import PowerCut


class ClosableFiles(RealFileSystem):
    """`is_cut`: writes fail with `PowerCut`. `error`: the errno of every write and sync, if not 0."""

    def __init__(self) -> None:
        self.is_cut = False
        self.error = 0
        self._open: dict[int, _ClosableFile] = {}
        self._locks: set[int] = set()

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        if create and not os.path.exists(path):
            self.check()
        flags = os.O_CLOEXEC | (os.O_RDWR if writable else os.O_RDONLY) | (os.O_CREAT if create else 0)
        file = _ClosableFile(os.open(path, flags, FILE_MODE), self)
        self._open[id(file)] = file
        return file

    def open_volume(self, directory: str) -> Volume | None:  # noqa: ARG002 - the kernel knows nothing of injected faults
        return None

    def rename(self, source: str, target: str) -> None:
        self.check()
        super().rename(source, target)

    def remove(self, path: str) -> None:
        self.check()
        super().remove(path)

    @contextlib.contextmanager
    def lock(self, path: str) -> Iterator[None]:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        self._locks.add(fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            self._unlock(fd)

    def _unlock(self, fd: int) -> None:
        if fd in self._locks:
            self._locks.discard(fd)
            os.close(fd)

    def check(self) -> None:
        if self.is_cut:
            raise PowerCut
        if self.error:
            raise OSError(self.error, os.strerror(self.error))

    def forget(self, file: "_ClosableFile") -> None:
        self._open.pop(id(file), None)

    def close_all(self) -> None:
        """No thread may use a file any more: its descriptor is reused at once."""
        for file in list(self._open.values()):
            file.close()
        for fd in list(self._locks):
            self._unlock(fd)


class _ClosableFile(RealFile):
    __slots__ = ("_files",)

    def __init__(self, fd: int, files: ClosableFiles) -> None:
        super().__init__(fd)
        self._files = files

    def write(self, buffers: Sequence[Buffer], position: int) -> None:
        self._files.check()
        super().write(buffers, position)

    def truncate(self, size_bytes: int) -> None:
        self._files.check()
        super().truncate(size_bytes)

    def sync(self) -> None:
        self._files.check()
        super().sync()

    @property
    def descriptor(self) -> int | None:  # type: ignore[override]  # as `File` has it
        """None if faults are injected: the kernel's syncs would not see them."""
        return None if self._files.is_cut or self._files.error else super().descriptor

    def close(self) -> None:
        self._files.forget(self)
        super().close()
