"""Temporary directories that do not outlive their process for long, however it ends.

They are named `penstock-*`. The file `owner` in each is locked (flock) as long as its process lives: the kernel takes
the lock back when the process dies, so the next process can find and remove directories that a crash has left. Process
ids are no alternative: they are reused, and containers have their own.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile

_PREFIX = "penstock-"
_OWNER = "owner"


class TemporaryDirectory:
    """Created at once, removed by `remove`."""

    def __init__(self, parent: str | None = None) -> None:
        parent = parent or tempfile.gettempdir()
        remove_abandoned(parent)
        while True:
            self.path = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
            lock = _take(os.path.join(self.path, _OWNER), os.O_CREAT)
            if lock is not None:
                break  # else another process removed it as abandoned before it was locked
        self._lock = lock

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_abandoned(parent: str) -> None:
    """Remove the directories that crashed processes have left in `parent`."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(parent):
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                lock = _take(os.path.join(entry.path, _OWNER))
                if lock is not None:
                    shutil.rmtree(entry.path, ignore_errors=True)
                    os.close(lock)


def _take(path: str, flags: int = 0) -> int | None:
    """The locked file; None when it is not there, is another's, or was removed meanwhile."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(fd).st_nlink > 0:
            return fd
    except OSError:
        pass
    os.close(fd)
    return None
