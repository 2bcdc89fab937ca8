"""Open files, shared by all logs and bounded: files not used recently are closed first.

A file that a thread is using (a sync, a cold read) is pinned and not closed meanwhile: its descriptor number could be
reused for another file. Only the event loop calls this; a thread gets the `File` itself.

Each log has its own view of the cache, which ends with the log: another log may get its paths soon after.

Connections need descriptors too. When the process has no more of them, the cache keeps fewer open from then on.
"""

import errno
import logging
from collections import OrderedDict
from collections.abc import Iterable

from penstock.storage.errors import LogClosed
from penstock.storage.files import File, FileSystem
from penstock.storage.log_files import LogFiles

_NO_MORE_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)

_log = logging.getLogger(__name__)


class Handle:
    """One open file, and how many threads are using it."""

    __slots__ = ("file", "is_forgotten", "is_recent", "path", "pin_count")

    def __init__(self, path: str, file: File) -> None:
        self.path = path
        self.file = file
        self.pin_count = 0
        self.is_forgotten = False
        """Whether it is closed, or will be once no caller uses it."""
        self.is_recent = False
        """Whether it was used since the last eviction scan, which then spares it."""


class _Limit:
    """The maximum number of open files."""

    __slots__ = ("open_files_max",)

    def __init__(self, open_files_max: int) -> None:
        self.open_files_max = open_files_max


class FileCache:
    def __init__(self, files: FileSystem, open_files_max: int = 1000) -> None:
        self.files = files
        self._limit = _Limit(open_files_max)
        self._handles: OrderedDict[str, Handle] = OrderedDict()

    def for_log(self) -> "LogFileCache":
        """The same open files under the same limit, for one log."""
        return LogFileCache(LogFiles(self.files), self._handles, self._limit)

    def __len__(self) -> int:
        return len(self._handles)

    def file(self, path: str, *, create: bool = False) -> File:
        """The open file at `path`, opened now if needed. Valid until the next call into the cache."""
        return self.handle(path, create=create).file

    def handle(self, path: str, *, create: bool = False) -> Handle:
        """Like `file`. It may be kept and used until it is forgotten; set `is_recent` at each use."""
        handle = self._handles.get(path) or self._open(path, create=create)
        handle.is_recent = True
        return handle

    def pin(self, path: str) -> Handle:
        """Like `file`, for use on a thread: stays open until `unpin`."""
        handle = self._handles.get(path) or self._open(path, create=False)
        handle.pin_count += 1
        return handle

    def pin_all(self, paths: Iterable[str]) -> list[Handle]:
        """All of them or, with an `OSError`, none."""
        handles: list[Handle] = []
        try:
            for path in paths:
                handles.append(self.pin(path))  # noqa: PERF401  those before a failure must be known
        except OSError:
            for handle in handles:
                self.unpin(handle)
            raise
        return handles

    def unpin(self, handle: Handle) -> None:
        handle.pin_count -= 1
        if handle.is_forgotten and handle.pin_count == 0:
            handle.file.close()

    def forget(self, path: str) -> None:
        """Close the file at `path`, before it is renamed or removed; a pinned one when its user is done."""
        handle = self._handles.pop(path, None)
        if handle is None:
            return
        handle.is_forgotten = True
        if handle.pin_count == 0:
            handle.file.close()

    def close(self) -> None:
        for path in list(self._handles):
            self.forget(path)

    def _open(self, path: str, *, create: bool) -> Handle:
        try:
            file = self.files.open(path, create=create)
        except OSError as error:
            if error.errno not in _NO_MORE_DESCRIPTORS or not self._lower_limit():
                raise
            file = self.files.open(path, create=create)
        handle = Handle(path, file)
        self._handles[path] = handle
        excess = len(self._handles) - self._limit.open_files_max
        if excess > 0:
            self._evict(excess, spared=path)
        return handle

    def _lower_limit(self) -> bool:
        """Close some of the files and never keep this many open again. Returns True if any could be closed."""
        count_before = len(self._handles)
        self._evict(max(1, count_before // 8))
        self._limit.open_files_max = max(1, len(self._handles))
        _log.warning(
            "Reached the limit of open files (ulimit -n): keeping fewer open. before=%d limit=%d",
            count_before,
            self._limit.open_files_max,
        )
        return len(self._handles) < count_before

    def _evict(self, count: int, spared: str | None = None) -> None:
        """Close unused files, in the order in which they were opened, except that files used since are spared once."""
        handles = self._handles
        for _ in range(2 * len(handles)):
            if count == 0:
                return
            path, handle = next(iter(handles.items()))
            if handle.pin_count or handle.is_recent or path == spared:
                handle.is_recent = False
                handles.move_to_end(path)
            else:
                self.forget(path)
                count -= 1


class LogFileCache(FileCache):
    """The cache as one log uses it, until the log is closed."""

    def __init__(self, files: LogFiles, handles: OrderedDict[str, Handle], limit: _Limit) -> None:
        """Use `FileCache.for_log`."""
        super().__init__(files)
        self._log_files = files
        self._handles = handles
        self._limit = limit

    def end(self, refusal: LogClosed) -> None:
        """Open no more files for this log. Pinned files stay open until they are unpinned."""
        self._log_files.close(refusal)
        self._handles = OrderedDict()

    @property
    def refusal(self) -> LogClosed | None:
        """The error for further calls, once the log is closed."""
        return self._log_files.refusal
