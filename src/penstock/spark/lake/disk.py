"""Files in a directory of the local filesystem."""

import contextlib
import fcntl
import os
import uuid
from collections.abc import Iterable, Iterator
from typing import IO

from penstock.spark.lake.errors import StorageError
from penstock.spark.lake.store import FileInfo, NewFile, Store

_TEMPORARY = ".tmp"


class Disk(Store):
    """Each change is synced to the disk when its method returns."""

    def __init__(self, root: str) -> None:
        self._root = root

    def _absolute(self, path: str) -> str:
        return os.path.join(self._root, path)

    def read(self, path: str) -> bytes | None:
        try:
            with open(self._absolute(path), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def write(self, path: str, content: bytes) -> None:
        temporary = self._write_temporary(path, content)
        os.replace(temporary, self._absolute(path))
        _sync_directory(self._absolute(path))

    def create(self, path: str, content: bytes) -> bool:
        temporary = self._write_temporary(path, content)
        try:
            os.link(temporary, self._absolute(path))
        except FileExistsError:
            return False
        finally:
            os.unlink(temporary)
        _sync_directory(self._absolute(path))
        return True

    def _write_temporary(self, path: str, content: bytes) -> str:
        temporary = f"{self._absolute(path)}.{uuid.uuid4()}{_TEMPORARY}"
        os.makedirs(os.path.dirname(temporary), exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return temporary

    def new_file(self, path: str) -> NewFile:
        return _LocalFile(self._absolute(path))

    def link(self, path: str, new_path: str) -> bool:
        """Give the file a second name; return false if that exists."""
        target = self._absolute(new_path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        try:
            os.link(self._absolute(path), target)
        except FileExistsError:
            return False
        _sync_directory(target)
        return True

    def move(self, path: str, new_path: str) -> None:
        """Move a file; a missing one was moved before."""
        target = self._absolute(new_path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.rename(self._absolute(path), target)
            _sync_directory(target)

    def remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._absolute(path))

    def names(self, directory: str) -> list[str]:
        """List a directory, sorted; a missing one is empty."""
        try:
            found = os.listdir(self._absolute(directory))
        except FileNotFoundError:
            return []
        return sorted(name for name in found if not name.endswith(_TEMPORARY))

    def files(self, directory: str = "") -> Iterator[FileInfo]:
        for place, _, names in os.walk(self._absolute(directory)):
            for name in names:
                path = os.path.join(place, name)
                with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                    found = os.stat(path)
                    yield FileInfo(
                        path=os.path.relpath(path, self._root),
                        size_bytes=found.st_size,
                        modified_ms=int(found.st_mtime * 1000),
                    )

    def exists(self, path: str) -> bool:
        return os.path.exists(self._absolute(path))

    def verify(self) -> None:
        place = self._root
        while not os.path.exists(place):
            place = os.path.dirname(place)
        if not os.access(place, os.W_OK | os.X_OK):
            raise StorageError(f"{self._root}: this user may not write to {place}")

    def modified_ms(self, path: str) -> int:
        """Return when the file was last written; a very late time if it no longer exists."""
        try:
            return int(os.stat(self._absolute(path)).st_mtime * 1000)
        except FileNotFoundError:
            return 1 << 62

    @contextlib.contextmanager
    def locked(self, path: str) -> Iterator[None]:
        """Hold an exclusive lock, which the system releases when the process dies."""
        os.makedirs(os.path.dirname(self._absolute(path)), exist_ok=True)
        with open(self._absolute(path), "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


class _LocalFile(NewFile):
    def __init__(self, path: str) -> None:
        self._path = path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.file: IO[bytes] = open(path, "wb")  # noqa: SIM115 - closed by `close` and `discard`

    def close(self) -> int:
        with self.file as file:
            file.flush()
            os.fsync(file.fileno())
            return file.tell()

    def discard(self) -> None:
        self.file.close()
        os.unlink(self._path)


def _sync_directory(path: str) -> None:
    handle = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
