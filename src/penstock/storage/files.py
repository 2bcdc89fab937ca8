"""The disk as an argument: every byte that storage reads or writes goes through a `FileSystem`.

`RealFileSystem` is the machine's. `penstock_simulation.disk` has a file system that loses unsynced writes, tears them,
fails syncs and runs full. Paths are plain strings; errors are `OSError` with the errno the kernel would return.

Created files belong to the broker's user alone, whatever the umask: records, and in the metadata the credentials.
"""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from penstock.storage.volume import open_volume

Buffer = bytes | bytearray | memoryview

FILE_MODE = 0o600
_DIRECTORY_MODE = 0o700
_OTHERS = 0o077


class Usage(NamedTuple):
    """The space of the file system that a path is on; `free_bytes` is the space that this process may still use."""

    total_bytes: int
    free_bytes: int


class File(Protocol):
    """An open file. Positions are explicit: nothing depends on a shared cursor."""

    def write(self, buffers: Sequence[Buffer], position: int) -> None:
        """Write all buffers one after the other at `position`, or raise: a partial write is never reported as done."""
        ...

    def read(self, size_bytes: int, position: int) -> bytes:
        """Up to `size_bytes` from `position`; shorter only at the end of the file. May wait for the disk."""
        ...

    def read_cached(self, size_bytes: int, position: int) -> Buffer | None:
        """Like `read`, but never waits: None when any of it is not in memory."""
        ...

    def size(self) -> int: ...

    def truncate(self, size_bytes: int) -> None: ...

    def sync(self) -> None:
        """Make every byte written so far survive a power cut. May take milliseconds: call it off the loop."""
        ...

    @property
    def descriptor(self) -> int | None:
        """The descriptor for a sync by the kernel (io_uring); None where only `sync` works."""
        ...

    def close(self) -> None: ...


class Volume(Protocol):
    """A whole file system, held open: it reports failures from then on, even if another process has seen them."""

    def holds(self, directory: str) -> bool:
        """Whether a directory is on it, and no other file system is mounted there."""
        ...

    def sync(self) -> None:
        """Make all files and names on it survive a power cut. Takes long."""
        ...

    def close(self) -> None: ...


class FileSystem(Protocol):
    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File: ...

    def exists(self, path: str) -> bool: ...

    def list(self, path: str) -> list[str]:
        """Names in a directory, sorted."""
        ...

    def size(self, path: str) -> int: ...

    def modified_ms(self, path: str) -> int: ...

    def usage(self, path: str) -> Usage:
        """May take long where the file system is remote: call it off the loop."""
        ...

    def make_dirs(self, path: str) -> None: ...

    def restrict(self, path: str) -> int | None:
        """Restrict a directory to its owner. Returns the previous mode, None if others had no access."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Atomic; replaces `target`. Durable only after `sync_dir` of the directory."""
        ...

    def remove(self, path: str) -> None: ...

    def remove_tree(self, path: str) -> None: ...

    def sync_dir(self, path: str) -> None:
        """Make creations, renames and removals in this directory survive a power cut."""
        ...

    def open_volume(self, directory: str) -> Volume | None:
        """The file system that a directory lies on; None if its files must be synced individually."""
        ...

    def lock(self, path: str) -> contextlib.AbstractContextManager[None]:
        """Hold an exclusive lock; raises `BlockingIOError` when another process has it, be it Kafka."""
        ...


_BUFFERS_MAX = os.sysconf("SC_IOV_MAX")  # the kernel rejects more than that in one call


class RealFile:
    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, buffers: Sequence[Buffer], position: int) -> None:
        if len(buffers) == 1:  # as nearly always; it is the cheaper call
            total = len(buffers[0])
            written = os.pwrite(self._fd, buffers[0], position)
        else:
            if len(buffers) > _BUFFERS_MAX:
                buffers = (b"".join(buffers),)
            total = sum(map(len, buffers))
            written = os.pwritev(self._fd, buffers, position)
        if written == total:
            return
        rest = memoryview(b"".join(buffers))  # rare: a full disk, or more than the kernel takes at once
        while written < total:
            count = os.pwrite(self._fd, rest[written:], position + written)
            if count == 0:
                raise OSError(errno.EIO, "write made no progress")
            written += count

    def read(self, size_bytes: int, position: int) -> bytes:
        data = os.pread(self._fd, size_bytes, position)
        if len(data) == size_bytes or not data:
            return data
        parts = [data]
        got = len(data)
        while got < size_bytes and (data := os.pread(self._fd, size_bytes - got, position + got)):
            parts.append(data)
            got += len(data)
        return b"".join(parts)

    def read_cached(self, size_bytes: int, position: int) -> Buffer | None:
        data = bytearray(size_bytes)
        try:
            got = os.preadv(self._fd, [data], position, os.RWF_NOWAIT)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno in (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
                return None  # a filesystem without NOWAIT: every read takes the thread
            raise
        if got < size_bytes and position + got < self.size():
            return None
        return data if got == size_bytes else memoryview(data)[:got]

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def truncate(self, size_bytes: int) -> None:
        os.ftruncate(self._fd, size_bytes)

    def sync(self) -> None:
        os.fdatasync(self._fd)

    @property
    def descriptor(self) -> int:
        return self._fd

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class RealFileSystem:
    """The machine's own files."""

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        flags = os.O_CLOEXEC | (os.O_RDWR if writable else os.O_RDONLY) | (os.O_CREAT if create else 0)
        return RealFile(os.open(path, flags, FILE_MODE))

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def list(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def usage(self, path: str) -> Usage:
        found = os.statvfs(path)
        return Usage(found.f_frsize * found.f_blocks, found.f_frsize * found.f_bavail)

    def make_dirs(self, path: str) -> None:
        if os.path.isdir(path):
            return
        parent = os.path.dirname(path)
        if parent:
            self.make_dirs(parent)  # `os.makedirs` makes the parents with the umask's mode
        try:
            os.mkdir(path, _DIRECTORY_MODE)
        except FileExistsError:
            if not os.path.isdir(path):
                raise

    def restrict(self, path: str) -> int | None:
        mode = os.stat(path).st_mode
        if not mode & _OTHERS:
            return None
        if mode & stat.S_ISVTX:
            raise PermissionError(errno.EPERM, "it is shared by many, like /tmp")
        os.chmod(path, stat.S_IMODE(mode) & ~_OTHERS)
        return stat.S_IMODE(mode)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def remove_tree(self, path: str) -> None:
        for name in os.listdir(path):
            child = os.path.join(path, name)
            if os.path.isdir(child) and not os.path.islink(child):
                self.remove_tree(child)
            else:
                os.unlink(child)
        os.rmdir(path)

    def sync_dir(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def open_volume(self, directory: str) -> Volume | None:
        return open_volume(directory)

    @contextlib.contextmanager
    def lock(self, path: str) -> Iterator[None]:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # Java's kind, which does not see the other
            yield
        finally:
            os.close(fd)


TEMPORARY = ".tmp"


def write_atomically(files: FileSystem, path: str, content: bytes) -> None:
    """Replace a small file so that a crash leaves the old content or the new, never a mixture."""
    write_temporary(files, path, content)
    files.rename(path + TEMPORARY, path)
    files.sync_dir(os.path.dirname(path))


def write_temporary(files: FileSystem, path: str, content: bytes) -> None:
    """The first step of `write_atomically`: the content is durable beside the file, under a temporary name."""
    file = files.open(path + TEMPORARY, create=True)
    try:
        file.truncate(0)
        file.write([content], 0)
        file.sync()
    finally:
        file.close()


def end_of_data(file: File, position: int) -> int:
    """The end of the bytes that were written at or after `position`: the rest of the file is zeros.

    Asks the file system for the file's holes, and reads nothing. Returns the end of the file if they are not known.
    """
    size_bytes, descriptor = file.size(), file.descriptor
    if descriptor is None:
        return size_bytes
    try:
        while position < size_bytes:
            position = os.lseek(descriptor, os.lseek(descriptor, position, os.SEEK_DATA), os.SEEK_HOLE)
    except OSError as error:
        return position if error.errno == errno.ENXIO else size_bytes
    return size_bytes


def read_whole(files: FileSystem, path: str) -> bytes:
    file = files.open(path, writable=False)
    try:
        return file.read(file.size(), 0)
    finally:
        file.close()
