"""Files in an object store, through `obstore`."""

import contextlib
import itertools
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from typing import IO, cast

import obstore
from obstore import exceptions
from obstore.store import from_url

from penstock.spark.lake.errors import StorageError, TableError, storage_errors
from penstock.spark.lake.location import Location
from penstock.spark.lake.storage_options import RETRIES_MAX, settings_for
from penstock.spark.lake.store import FileInfo, NewFile, Store

_RETRIES_OF_CHECK = 2
_REMOVED_AT_ONCE = 1000


class ObjectFiles(Store):
    def __init__(self, location: Location) -> None:
        self._where = location.path
        self._location = location
        self._store = self._connect(RETRIES_MAX)

    def _connect(self, retries_max: int) -> "obstore.store.ObjectStore":
        settings = settings_for(self._location).for_obstore(retries_max)
        with storage_errors(self._where):
            try:
                return from_url(self._location.path, **settings)
            except exceptions.UnknownConfigurationKeyError as error:
                known = str(error).partition("\n")[0]
                raise TableError(f"{self._where}: {known} Remove the option, or correct its name") from None

    def read(self, path: str) -> bytes | None:
        with storage_errors(self._where), contextlib.suppress(FileNotFoundError):
            return bytes(obstore.get(self._store, path).bytes())
        return None

    def write(self, path: str, content: bytes) -> None:
        with storage_errors(self._where):
            obstore.put(self._store, path, content)

    def create(self, path: str, content: bytes) -> bool:
        """A conditional put: the store refuses it if the object exists."""
        with storage_errors(self._where):
            try:
                obstore.put(self._store, path, content, mode="create")
            except exceptions.AlreadyExistsError:
                return False
        return True

    def new_file(self, path: str) -> NewFile:
        return _Upload(self._where, self._store, path)

    def remove(self, paths: Iterable[str]) -> None:
        with storage_errors(self._where):
            for some in _chunks(paths):
                try:
                    obstore.delete(self._store, some)
                except FileNotFoundError:  # stores without a request for many
                    for path in some:
                        with contextlib.suppress(FileNotFoundError):
                            obstore.delete(self._store, path)

    def files(self, directory: str = "") -> Iterator[FileInfo]:
        with storage_errors(self._where):
            for chunk in obstore.list(self._store, directory or None):
                for found in chunk:
                    modified_ms = int(found["last_modified"].timestamp() * 1000)
                    yield FileInfo(path=found["path"], size_bytes=found["size"], modified_ms=modified_ms)

    def exists(self, path: str) -> bool:
        if next(self.files(path), None) is not None:  # a listing sees only what is below
            return True
        with storage_errors(self._where), contextlib.suppress(FileNotFoundError):
            obstore.head(self._store, path)
            return True
        return False

    def verify(self) -> None:
        with storage_errors(self._where):  # a person waits
            next(iter(obstore.list(self._connect(_RETRIES_OF_CHECK))), None)
        probe = f"_penstock_probe_{uuid.uuid4()}"
        try:
            self.create(probe, b"")
            if self.create(probe, b""):
                raise StorageError(
                    f"{self._where}: the store ignores conditional puts, so two writers could overwrite each other's "
                    "commits: use a store that supports If-None-Match"
                )
        finally:
            with contextlib.suppress(TableError):
                self.remove([probe])


def _chunks(paths: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(paths)
    while some := list(itertools.islice(remaining, _REMOVED_AT_ONCE)):
        yield some


class _Upload(NewFile):
    """Written to a temporary file first: an upload that never completes is then never begun."""

    def __init__(self, where: str, store: "obstore.store.ObjectStore", path: str) -> None:
        self._where, self._store, self._path = where, store, path
        self.file = cast("IO[bytes]", tempfile.TemporaryFile())  # noqa: SIM115 - closed by `close` and `discard`

    def close(self) -> int:
        with self.file as file, storage_errors(self._where):
            size = file.seek(0, 2)
            file.seek(0)
            obstore.put(self._store, self._path, file)
        return size

    def discard(self) -> None:
        self.file.close()
