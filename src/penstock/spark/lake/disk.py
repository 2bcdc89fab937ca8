"""The filesystem operations of tables. A seam: tests stop between any two steps."""

import contextlib
import fcntl
import os
import uuid
from collections.abc import Iterator


class Disk:
    """The local filesystem. Each change is synced to the disk when its method returns."""

    def read(self, path: str) -> bytes | None:
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def write(self, path: str, content: bytes) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.{uuid.uuid4()}.tmp"
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_directory(path)

    def link(self, path: str, new_path: str) -> bool:
        """Give the file a second name; return false if that exists."""
        os.makedirs(os.path.dirname(new_path), exist_ok=True)
        try:
            os.link(path, new_path)
        except FileExistsError:
            return False
        _sync_directory(new_path)
        return True

    def move(self, path: str, new_path: str) -> None:
        """Move a file; a missing one was moved before."""
        os.makedirs(os.path.dirname(new_path), exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.rename(path, new_path)
            _sync_directory(new_path)

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def names(self, directory: str) -> list[str]:
        """List a directory, sorted; a missing one is empty."""
        try:
            return sorted(name for name in os.listdir(directory) if not name.endswith(".tmp"))
        except FileNotFoundError:
            return []

    def modified_ms(self, path: str) -> int:
        """Return when the file was last written; a very late time if it no longer exists."""
        try:
            return int(os.stat(path).st_mtime * 1000)
        except FileNotFoundError:
            return 1 << 62

    @contextlib.contextmanager
    def locked(self, path: str) -> Iterator[None]:
        """Hold an exclusive lock, which the system releases when the process dies."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _sync_directory(path: str) -> None:
    handle = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
