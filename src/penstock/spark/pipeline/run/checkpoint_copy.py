"""The checkpoint of a query in an object store, with a copy on this machine in which Spark works.

    <checkpoints>/<query>/offsets, commits, state, sources, metadata   as Spark writes them
    <checkpoints>/<query>/_owner.json                                  Owner: the run that may write
    <checkpoints>/_source.<source>/query/…                             the same of outputs that share their reads
    <checkpoints>/_source.<source>/_log/<number>                       LogEntry: what the group's outputs have decided
    <copy>/.owner.json, .stored.json                                   of the copy: the run, and what it has stored

The store is the checkpoint; the copy may be lost. Before a batch writes its first output, all that the batch builds on
is stored, and then its offsets file, by a conditional put. So another machine that starts from the store replays this
batch with the same offsets, and the outputs that have it skip it. Of two runs one stores the offsets of a batch, and
the other stops before it has written anything of it (docs/adr/0029-object-stores.md).

Outputs that share their reads also decide by their positions (`group_state`). The log puts these decisions and the
beginnings of batches in one order: each is stored as the next entry, by a conditional put, before anything follows from
it. So a run only acts on what it knows to be the newest state. The newest entry has all positions.
"""

import os
import shutil
import socket
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import msgspec

from penstock.spark.lake.disk import Disk
from penstock.spark.lake.store import Store

OWNER = "_owner.json"
LOG = "_log"
_LOCAL_OWNER = ".owner.json"
_STORED = ".stored.json"
_TRANSFERS_MAX = 8
_ENTRIES_KEPT = 100  # as many as Spark keeps batches


class CheckpointTaken(Exception):
    """Another run continues from this checkpoint."""


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    run: str
    host: str
    pid: int
    boot: str  # of the machine, which may have lost files in a power cut


class LogEntry(msgspec.Struct, frozen=True, kw_only=True):
    run: str
    batch: int | None = None  # begins with this entry
    files: Mapping[str, str]  # all files that do not come from Spark, as they are from this entry on


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """A local file is stored again when this changes. Spark replaces files, and writes into none."""

    size_bytes: int
    modified_ns: int


class CheckpointCopy:
    """`run` is the name of this run of the pipeline, new for each process. A group's threads use it at once.

    `shared` is the directory of Spark's files in the checkpoint of outputs that share their reads.
    """

    def __init__(self, store: Store, directory: str, run: str, where: str, *, shared: str = "") -> None:
        self._store = store
        self._directory = directory
        self._owner = msgspec.json.encode(
            Owner(run=run, host=socket.gethostname(), pid=os.getpid(), boot=_boot_id())
        )
        self._run = run
        self._where = where
        self._has_log = bool(shared)
        self._offsets, self._commits = os.path.join(shared, "offsets/"), os.path.join(shared, "commits/")
        self._lock = threading.Lock()
        self._entry = 0  # the number of the newest entry that this run knows
        self._logged: dict[str, str] = {}
        self._stored: dict[str, Version] = {}
        self._is_taken = False

    # -- starting

    def open(self) -> None:
        """Make the copy that of the store, and this run the owner. Raises CheckpointTaken if it was that before."""
        with self._lock:
            if self._is_taken or self._read_local(_LOCAL_OWNER) == self._owner:
                self._check_owner()
            else:
                self._take_over()

    def _take_over(self) -> None:
        is_current = self._is_current()
        self._store.write(OWNER, self._owner)  # first: from now on the run before stores no other batch
        if is_current:
            self._stored = msgspec.json.decode(self._read_local(_STORED) or b"{}", type=dict[str, Version])
        else:
            self._download()
        self._read_log()
        self._write_local(_LOCAL_OWNER, self._owner)

    def _is_current(self) -> bool:
        """Say whether no other run has written since this machine's last one, and the machine has not crashed."""
        owner = self._store.read(OWNER)
        if owner is None or owner != self._read_local(_LOCAL_OWNER):
            return False
        return msgspec.json.decode(owner, type=Owner).boot == _boot_id()

    def _download(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)
        os.makedirs(self._directory)

        def fetch(path: str) -> None:
            content = self._store.read(path)
            if content is not None:
                self._write_local(path, content)
                self._note_stored(path)

        self._stored = {}
        found = [file.path for file in self._store.files()]
        _in_parallel(fetch, (path for path in found if path != OWNER and not path.startswith(f"{LOG}/")))
        self._write_stored()

    def _read_log(self) -> None:
        """Know the newest entry. What is in the files may be older: they are written after their entry."""
        if not self._has_log:
            return
        self._entry = max(self._entries(), default=0)
        content = self._store.read(_log_path(self._entry))
        self._logged = {} if content is None else dict(msgspec.json.decode(content, type=LogEntry).files)
        for path, text in self._logged.items():
            self._write_local(path, text.encode())

    def _entries(self) -> list[int]:
        return [int(os.path.basename(file.path)) for file in self._store.files(LOG)]

    # -- files that do not come from Spark

    def read(self, path: str) -> bytes | None:
        return self._read_local(path)

    def names(self, directory: str) -> list[str]:
        return Disk(self._directory).names(directory)

    def write(self, path: str, content: bytes) -> None:
        """Store the file, here and in the store. Raises CheckpointTaken if another run has decided something first."""
        with self._lock:
            self._check_owner()
            self._append_entry({**self._logged, path: content.decode()})
            self._store.write(path, content)  # for a run in which Spark itself reaches the store
            self._write_local(path, content)
            self._note_stored(path)

    def _append_entry(self, files: dict[str, str], batch: int | None = None) -> None:
        number = self._entry + 1
        path, content = (
            _log_path(number),
            msgspec.json.encode(LogEntry(run=self._run, batch=batch, files=files)),
        )
        if not self._store.create(path, content) and self._store.read(path) != content:
            self._fall_behind("has decided about its outputs")
        self._entry, self._logged = number, files
        if number % _ENTRIES_KEPT == 0:
            self._store.remove(
                [_log_path(each) for each in self._entries() if each <= number - _ENTRIES_KEPT]
            )

    def _fall_behind(self, what: str) -> NoReturn:
        """The run before stored something after the copy was made: the query starts again from the store."""
        self._check_owner()
        self._remove_local(_LOCAL_OWNER)
        raise CheckpointTaken(f"the run before {what} of {self._where} meanwhile")

    # -- batches

    def before_batch(self, batch_id: int) -> None:
        """Store what the batch builds on, then its offsets. Nothing of the batch may be written before."""
        with self._lock:
            self._check_owner()
            self._store_changes()
            path = f"{self._offsets}{batch_id}"
            content = self._read_local(path)
            assert content is not None, "Spark plans a batch before it runs it"
            if not self._store.create(path, content) and self._store.read(path) != content:
                self._fall_behind(f"has stored batch {batch_id}")
            self._note_stored(path)
            if self._has_log:
                self._append_entry(self._logged, batch_id)

    def close(self) -> None:
        """Store the end of the last batch, so that the next run need not replay it."""
        with self._lock:
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
        found = {path: version for path, version in self._local_files() if not path.startswith(self._offsets)}
        changed = [path for path, version in found.items() if self._stored.get(path) != version]
        _in_parallel(self._store_file, (path for path in changed if not path.startswith(self._commits)))
        _in_parallel(self._store_file, (path for path in changed if path.startswith(self._commits)))
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


def _log_path(number: int) -> str:
    return f"{LOG}/{number:020}"


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:  # not Linux: copies are not trusted across processes
        return str(uuid.uuid4())


def _in_parallel(work: Callable[[str], None], paths: Iterable[str]) -> None:
    with ThreadPoolExecutor(_TRANSFERS_MAX) as pool:
        for _ in pool.map(work, paths):
            """The first error is raised."""
