"""Open files, shared by all logs and bounded: the file used longest ago is closed first.

A file that a thread is using (a sync, a cold read) is pinned and never closed under it: its descriptor number
could be given to another file meanwhile. Only the event loop calls this; a thread gets the `File` itself.
"""

from collections import OrderedDict

from penstock.storage.files import File, FileSystem


class Handle:
    """One open file, and how many threads are using it."""

    __slots__ = ("file", "is_forgotten", "path", "pin_count")

    def __init__(self, path: str, file: File) -> None:
        self.path = path
        self.file = file
        self.pin_count = 0
        self.is_forgotten = False


class FileCache:
    def __init__(self, files: FileSystem, open_files_max: int = 1000) -> None:
        self.files = files
        self._open_files_max = open_files_max
        self._handles: OrderedDict[str, Handle] = OrderedDict()

    def __len__(self) -> int:
        return len(self._handles)

    def file(self, path: str, *, create: bool = False) -> File:
        """The open file at `path`, opened now if need be. Valid until the next call into the cache."""
        handle = self._handles.get(path)
        if handle is None:
            return self._open(path, create=create).file
        self._handles.move_to_end(path)
        return handle.file

    def pin(self, path: str) -> Handle:
        """Like `file`, for use on a thread: stays open until `unpin`."""
        handle = self._handles.get(path) or self._open(path, create=False)
        handle.pin_count += 1
        return handle

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
        handle = Handle(path, self.files.open(path, create=create))
        self._handles[path] = handle
        if len(self._handles) > self._open_files_max:
            self._evict()
        return handle

    def _evict(self) -> None:
        """Close the least recently used file that nobody uses, never the newest."""
        newest = next(reversed(self._handles))
        for path, handle in self._handles.items():
            if handle.pin_count == 0 and path != newest:
                self.forget(path)
                return
