"""The file system as one log may use it: until the log is closed.

Paths are names, and a name can later refer to another log: a topic is deleted and recreated. Code that still holds the
old log, on the event loop or on a thread, must not reach the files of the new one. So a log and all its parts use the
file system only through this class, which rejects every call after `close`, whatever the caller has checked before.
"""

import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

from penstock.storage.errors import LogClosed
from penstock.storage.files import File, FileSystem, Usage, Volume

T = TypeVar("T")


class LogFiles:
    """A `FileSystem`. All methods may be called from any thread, and raise `LogClosed` after `close`."""

    __slots__ = ("_files", "_lock", "refusal")

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self._lock = threading.Lock()
        self.refusal: LogClosed | None = None

    def close(self, refusal: LogClosed) -> None:
        """Refuse everything from now on. When this returns, no thread is between its check and its use of a path."""
        with self._lock:
            if self.refusal is None:
                self.refusal = refusal

    def _checked(self, use: Callable[[], T]) -> T:
        with self._lock:
            if self.refusal is not None:
                raise self.refusal.with_traceback(None)
            return use()

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        return self._checked(lambda: self._files.open(path, create=create, writable=writable))

    def exists(self, path: str) -> bool:
        return self._checked(lambda: self._files.exists(path))

    def list(self, path: str) -> list[str]:
        return self._checked(lambda: self._files.list(path))

    def size(self, path: str) -> int:
        return self._checked(lambda: self._files.size(path))

    def modified_ms(self, path: str) -> int:
        return self._checked(lambda: self._files.modified_ms(path))

    def usage(self, path: str) -> Usage:
        return self._files.usage(path)

    def make_dirs(self, path: str) -> None:
        self._checked(lambda: self._files.make_dirs(path))

    def restrict(self, path: str) -> int | None:
        return self._checked(lambda: self._files.restrict(path))

    def rename(self, source: str, target: str) -> None:
        self._checked(lambda: self._files.rename(source, target))

    def remove(self, path: str) -> None:
        self._checked(lambda: self._files.remove(path))

    def remove_tree(self, path: str) -> None:
        self._checked(lambda: self._files.remove_tree(path))

    def sync_dir(self, path: str) -> None:
        """Not refused: it takes long, and at worst makes another log's files durable sooner than they need be."""
        self._files.sync_dir(path)

    def open_volume(self, directory: str) -> Volume | None:
        return self._checked(lambda: self._files.open_volume(directory))

    def lock(self, path: str) -> contextlib.AbstractContextManager[None]:
        return self._checked(lambda: self._files.lock(path))
