"""The checkpoint of a query in an object store, with a copy on this machine in which Spark works.

    <checkpoints>/<query>/offsets, commits, state, sources, metadata   as Spark writes them
    <checkpoints>/<query>/_owner.json                                  Owner: the run that may write
    <copy>/.owner.json, .stored.json                                   of the copy: the run, and what it has stored

The store is the checkpoint; the copy may be lost. Before a batch writes its first output, all that the batch builds on
is stored, and then its offsets file, by a conditional put. So another machine that starts from the store replays this
batch with the same offsets, and the outputs that have it skip it. Of two runs one stores the offsets of a batch, and
the other stops before it has written anything of it (docs/adr/0029-object-stores.md).
"""

import os
import shutil
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import msgspec

from penstock.spark.lake.store import Store

OWNER = "_owner.json"
_LOCAL_OWNER = ".owner.json"
_STORED = ".stored.json"
_OFFSETS, _COMMITS = "offsets/", "commits/"
_TRANSFERS_MAX = 8


class CheckpointTaken(Exception):
    """Another run continues from this checkpoint."""


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    run: str
    host: str
    pid: int


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """A local file is stored again when this changes. Spark replaces files, and writes into none."""

    size_bytes: int
    modified_ns: int


class CheckpointCopy:
    """`run` is the name of this run of the pipeline, new for each process."""

    def __init__(self, store: Store, directory: str, run: str, where: str) -> None:
        self._store = store
        self._directory = directory
        self._owner = msgspec.json.encode(Owner(run=run, host=socket.gethostname(), pid=os.getpid()))
        self._where = where
        self._stored: dict[str, Version] = {}
        self._is_taken = False

    # -- starting

    def open(self) -> None:
        """Make the copy that of the store, and this run the owner. Raises CheckpointTaken if it was that before."""
        if self._is_taken or self._read_local(_LOCAL_OWNER) == self._owner:
            self._check_owner()
            return
        is_current = self._is_current()
        self._store.write(OWNER, self._owner)  # first: from now on the run before stores no other batch
        if is_current:
            self._stored = msgspec.json.decode(self._read_local(_STORED) or b"{}", type=dict[str, Version])
        else:
            self._download()
        self._write_local(_LOCAL_OWNER, self._owner)

    def _is_current(self) -> bool:
        """Say whether no other run has written since this machine's last one."""
        owner = self._store.read(OWNER)
        return owner is not None and owner == self._read_local(_LOCAL_OWNER)

    def _download(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)
        os.makedirs(self._directory)

        def fetch(path: str) -> None:
            content = self._store.read(path)
            if content is not None:
                self._write_local(path, content)
                self._note_stored(path)

        self._stored = {}
        _in_parallel(fetch, (file.path for file in self._store.files() if file.path != OWNER))
        self._write_stored()

    # -- batches

    def before_batch(self, batch_id: int) -> None:
        """Store what the batch builds on, then its offsets. Nothing of the batch may be written before."""
        self._check_owner()
        self._store_changes()
        path = f"{_OFFSETS}{batch_id}"
        content = self._read_local(path)
        assert content is not None, "Spark plans a batch before it runs it"
        if not self._store.create(path, content) and self._store.read(path) != content:
            self._check_owner()
            self._remove_local(_LOCAL_OWNER)  # the copy was made while the run before stored its last batch
            raise CheckpointTaken(f"the run before has stored batch {batch_id} of {self._where} meanwhile")
        self._note_stored(path)

    def close(self) -> None:
        """Store the end of the last batch, so that the next run need not replay it."""
        if not self._is_taken and os.path.isdir(self._directory):
            self._check_owner()
            self._store_changes()

    def _check_owner(self) -> None:
        found = self._store.read(OWNER)
        if found == self._owner:
            return
        self._is_taken = True
        self._remove_local(_LOCAL_OWNER)  # what another run did is not in the copy
        owner = msgspec.json.decode(found, type=Owner) if found else None
        by = f"a run on {owner.host} (process {owner.pid})" if owner else "another run"
        raise CheckpointTaken(f"the checkpoint {self._where} was taken over by {by}: stop one of the two")

    def _store_changes(self) -> None:
        """Store new files: state, then what Spark finished with it. Offsets are stored by their batch alone."""
        found = {path: version for path, version in self._local_files() if not path.startswith(_OFFSETS)}
        changed = [path for path, version in found.items() if self._stored.get(path) != version]
        _in_parallel(self._store_file, (path for path in changed if not path.startswith(_COMMITS)))
        _in_parallel(self._store_file, (path for path in changed if path.startswith(_COMMITS)))
        gone = [path for path in self._stored if not os.path.exists(self._local(path))]
        self._store.remove(gone)  # Spark keeps the last hundred batches
        for path in gone:
            del self._stored[path]
        self._write_stored()

    def _store_file(self, path: str) -> None:
        version, content = self._version(path), self._read_local(path)
        if content is not None and version is not None:  # else Spark has removed it
            self._store.write(path, content)
            self._stored[path] = version

    def _note_stored(self, path: str) -> None:
        if version := self._version(path):
            self._stored[path] = version

    # -- the copy

    def _local_files(self) -> Iterator[tuple[str, Version]]:
        """Yield the complete files. Names with a dot are checksums, files that are being written, and our own."""
        for place, _, names in os.walk(self._directory):
            for name in names:
                path = os.path.relpath(os.path.join(place, name), self._directory)
                if not name.startswith(".") and (version := self._version(path)) is not None:
                    yield path, version

    def _version(self, path: str) -> Version | None:
        try:
            found = os.stat(self._local(path))
        except FileNotFoundError:
            return None
        return Version(size_bytes=found.st_size, modified_ns=found.st_mtime_ns)

    def _read_local(self, path: str) -> bytes | None:
        try:
            with open(self._local(path), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def _write_local(self, path: str, content: bytes) -> None:
        os.makedirs(os.path.dirname(self._local(path)), exist_ok=True)
        temporary = f"{self._local(path)}.tmp"
        with open(temporary, "wb") as file:
            file.write(content)
        os.replace(temporary, self._local(path))

    def _write_stored(self) -> None:
        self._write_local(_STORED, msgspec.json.encode(self._stored))

    def _remove_local(self, path: str) -> None:
        if os.path.exists(self._local(path)):
            os.unlink(self._local(path))

    def _local(self, path: str) -> str:
        return os.path.join(self._directory, path)


def _in_parallel(work: Callable[[str], None], paths: Iterable[str]) -> None:
    with ThreadPoolExecutor(_TRANSFERS_MAX) as pool:
        for _ in pool.map(work, paths):
            """The first error is raised."""
