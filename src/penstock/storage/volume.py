"""The file system of a data directory as a whole: with Linux's `syncfs` one call makes all files on it durable."""

import ctypes
import errno
import functools
import os
import re
import sys
from collections.abc import Callable

_KNOWN = frozenset({"btrfs", "ext3", "ext4", "xfs"})
"""Their `syncfs` waits for all writes, has the disk write its cache, and reports what failed.

On FUSE, `syncfs` does not even ask the server.
"""


class RealVolume:
    """Opened before anything is written: `sync` reports failed writes since then, and earlier unreported ones."""

    def __init__(self, directory: str, fd: int, syncfs: Callable[[int], int]) -> None:
        self._directory = directory
        self._fd = fd
        self._syncfs = syncfs
        self._device = os.fstat(fd).st_dev

    def holds(self, directory: str) -> bool:
        try:
            return os.stat(directory).st_dev == self._device
        except OSError:
            return False

    def sync(self) -> None:
        if self._syncfs(self._fd) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), self._directory)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def open_volume(directory: str) -> RealVolume | None:
    """None where `syncfs` cannot be relied on."""
    syncfs = find_syncfs()
    if syncfs is None:
        return None
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if _type_of(fd) in _KNOWN:
        return RealVolume(directory, fd, syncfs)
    os.close(fd)
    return None


@functools.cache
def find_syncfs() -> Callable[[int], int] | None:
    """Linux's `syncfs`; None where it is missing, not allowed, or does not report all failed writes (before 5.17)."""
    if sys.platform != "linux" or _kernel_version() < (5, 17):
        return None
    syncfs: Callable[[int], int] | None = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    is_there = syncfs is not None and syncfs(-1) != 0 and ctypes.get_errno() == errno.EBADF
    return syncfs if is_there else None


def _kernel_version() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])


def _type_of(fd: int) -> str | None:
    """The type of the file system that an open file is on, by its mount: two of them may have one device number."""
    try:
        with (
            open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as info,
            open("/proc/self/mountinfo", "rb") as mounts,
        ):
            return type_in(info.read(), mounts.read().decode(errors="replace"))
    except OSError:
        return None


def type_in(fdinfo: str, mountinfo: str) -> str | None:
    """No I/O: see proc(5). The type is the first field after a lone hyphen."""
    found = re.search(r"^mnt_id:\s*(\d+)$", fdinfo, re.MULTILINE)
    for line in mountinfo.splitlines():
        fields = line.split()
        if found is not None and fields[:1] == [found[1]] and "-" in fields[:-1]:
            return fields[fields.index("-") + 1]
    return None
