"""A file system in memory: directories, names, and the names that survive a power cut.

A directory has two contents: `entries` is what a listing shows, `durable` is what survives. `pending` holds the
changes since the last `sync_dir`, in order. They survive as a prefix, as on a journalling file system. Each disk
supplies its own files (`penstock_simulation.disk`, `penstock.embedded.memory_disk`).
"""

import contextlib
import errno
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, Literal, Protocol, TypeVar

from penstock.storage.files import File, Volume

# fmt: off
Operation = Literal[
    "open", "create", "read", "write", "truncate", "sync", "rename", "remove", "make_dirs", "sync_dir", "sync_all",
    "list", "stat", "usage",
]
# fmt: on
CHANGING: frozenset[Operation] = frozenset(
    {"create", "write", "truncate", "sync", "rename", "remove", "make_dirs", "sync_dir", "sync_all"}
)


class PowerCut(BaseException):
    """The machine has lost power: every later operation raises this.

    Not an `Exception`: the code that would handle errors is no longer running.
    """


class FileContent(Protocol):
    modified_ms: int

    def size(self) -> int: ...


FileT = TypeVar("FileT", bound=FileContent)


@dataclass(slots=True, kw_only=True, eq=False)
class EntryChange(Generic[FileT]):
    """One atomic change of names: `unlinked` disappears, `linked` appears, or both in a rename."""

    unlinked: "tuple[DirNode[FileT], str] | None" = None
    linked: "tuple[DirNode[FileT], str] | None" = None
    node: "FileT | DirNode[FileT] | None" = None
    done: bool = False

    def apply_durably(self) -> None:
        """Apply the change once: a rename between directories is pending in both."""
        if self.done:
            return
        self.done = True
        if self.unlinked is not None:
            self.unlinked[0].durable.pop(self.unlinked[1], None)
        if self.linked is not None and self.node is not None:
            self.linked[0].durable[self.linked[1]] = self.node


@dataclass(slots=True, eq=False)
class DirNode(Generic[FileT]):
    modified_ms: int
    entries: "dict[str, FileT | DirNode[FileT]]" = field(default_factory=dict)
    durable: "dict[str, FileT | DirNode[FileT]]" = field(default_factory=dict)
    pending: list[EntryChange[FileT]] = field(default_factory=list)

    def make_durable(self) -> None:
        self.cut_power(len(self.pending))

    def cut_power(self, kept_count: int) -> None:
        """Apply the first `kept_count` pending changes and drop the rest."""
        for change in self.pending[:kept_count]:
            change.apply_durably()
        self.pending.clear()


def directories(root: DirNode[FileT]) -> Iterator[DirNode[FileT]]:
    """Yield every directory that has a name now or that a lost removal can bring back, each once."""
    seen: set[int] = set()
    queue = [root]
    while queue:
        directory = queue.pop()
        if id(directory) in seen:
            continue
        seen.add(id(directory))
        yield directory
        pending = (change.node for change in directory.pending)
        nodes = (*directory.entries.values(), *directory.durable.values(), *pending)
        queue.extend(node for node in nodes if isinstance(node, DirNode))


def keep_durable_names(root: DirNode[FileT], kept_of: Callable[[int], int]) -> None:
    """Drop the names that a power cut takes; `kept_of` maps a directory's number of changes to how many survive."""
    everywhere = list(directories(root))
    for directory in everywhere:
        directory.cut_power(kept_of(len(directory.pending)))
    for directory in everywhere:
        directory.entries = dict(directory.durable)


def files_below(root: DirNode[FileT], prefix: str = "") -> Iterator[tuple[str, FileT]]:
    for name, node in root.entries.items():
        path = f"{prefix}/{name}"
        if isinstance(node, DirNode):
            yield from files_below(node, path)
        else:
            yield path, node


class DiskVolume:
    """All of a disk."""

    def __init__(self, disk: "MemoryFiles[FileT]", directory: str) -> None:
        self.sync = partial(disk.sync_all, directory)

    def holds(self, _directory: str) -> bool:
        return True

    def close(self) -> None:
        pass


class MemoryFiles(ABC, Generic[FileT]):
    """A `FileSystem` without `usage`. All methods may be called from any thread."""

    def __init__(self, root: DirNode[FileT], mutex: threading.RLock) -> None:
        self._root = root
        self._mutex = mutex
        self._locks: set[str] = set()
        self.can_sync_all = True
        """Whether `open_volume` gives one."""

    # -- supplied by each disk ------------------------------------------------------------------------

    @abstractmethod
    def _start(self, operation: Operation, path: str) -> None:
        """Admit an operation. Raises when the power is off or when the operation is to fail."""

    @abstractmethod
    def _now_ms(self) -> int: ...

    @abstractmethod
    def _make_file(self) -> FileT: ...

    @abstractmethod
    def _open_file(self, node: FileT, path: str, *, writable: bool) -> File: ...

    @abstractmethod
    def _sync_file(self, node: FileT, path: str) -> None: ...

    def _on_linked(self, node: FileT) -> None:
        """Called when a file gets a name."""

    def _on_unlinked(self, node: FileT) -> None:
        """Called when a file loses a name."""

    # -- FileSystem -----------------------------------------------------------------------------------

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        with self._mutex:
            self._start("stat", path)
            directory, name = self._parent(path)
            node = directory.entries.get(name)
            if node is None and create:
                self._start("create", path)
                node = self._make_file()
                self._link(directory, name, node)
            else:
                self._start("open", path)
            return self._open_file(_as_file(node, path), path, writable=writable)

    def exists(self, path: str) -> bool:
        with self._mutex:
            self._start("stat", path)
            return self._find(path) is not None

    def list(self, path: str) -> list[str]:
        with self._mutex:
            self._start("list", path)
            return sorted(self._dir_node(path).entries)

    def size(self, path: str) -> int:
        with self._mutex:
            self._start("stat", path)
            return self._file_node(path).size()

    def modified_ms(self, path: str) -> int:
        with self._mutex:
            self._start("stat", path)
            return self._existing(path).modified_ms

    def make_dirs(self, path: str) -> None:
        with self._mutex:
            self._start("make_dirs", path)
            directory = self._root
            for name in _parts(path):
                child = directory.entries.get(name)
                if child is None:
                    child = DirNode[FileT](self._now_ms())
                    self._link(directory, name, child)
                elif not isinstance(child, DirNode):
                    raise os_error(errno.EEXIST, path)
                directory = child

    def restrict(self, path: str) -> int | None:  # noqa: ARG002
        """Do nothing: no other process can reach this memory."""
        return None

    def rename(self, source: str, target: str) -> None:
        with self._mutex:
            self._start("rename", source)
            from_dir, from_name = self._parent(source)
            to_dir, to_name = self._parent(target)
            node = from_dir.entries.get(from_name)
            if node is None:
                raise os_error(errno.ENOENT, source)
            replaced = to_dir.entries.get(to_name)
            if replaced is node:
                return
            _check_replaceable(node, replaced, target)
            del from_dir.entries[from_name]
            to_dir.entries[to_name] = node
            change = EntryChange(unlinked=(from_dir, from_name), linked=(to_dir, to_name), node=node)
            from_dir.pending.append(change)
            from_dir.modified_ms = to_dir.modified_ms = self._now_ms()
            if to_dir is not from_dir:
                to_dir.pending.append(change)
            if replaced is not None and not isinstance(replaced, DirNode):
                self._on_unlinked(replaced)

    def remove(self, path: str) -> None:
        with self._mutex:
            self._start("remove", path)
            self._file_node(path)
            self._unlink(*self._parent(path))

    def remove_tree(self, path: str) -> None:
        """Remove each file and directory in an operation of its own: a crash may come in between."""
        for name in self.list(path):
            child = f"{path}/{name}"
            if isinstance(self._find(child), DirNode):
                self.remove_tree(child)
            else:
                self.remove(child)
        with self._mutex:
            self._start("remove", path)
            self._unlink(*self._parent(path))

    def sync_dir(self, path: str) -> None:
        with self._mutex:
            self._start("sync_dir", path)
            self._dir_node(path).make_durable()

    def open_volume(self, directory: str) -> Volume | None:
        return DiskVolume(self, directory) if self.can_sync_all else None

    def sync_all(self, directory: str) -> None:
        """Sync each file in an operation of its own: a crash may come in between."""
        with self._mutex:
            self._start("sync_all", directory)
            found = list(files_below(self._root))
        for path, node in found:
            self._sync_file(node, path)
        with self._mutex:
            self._start("sync_all", directory)
            for each in directories(self._root):
                each.make_durable()

    @contextlib.contextmanager
    def lock(self, path: str) -> Iterator[None]:
        self.open(path, create=True).close()
        with self._mutex:
            if path in self._locks:
                raise BlockingIOError(errno.EAGAIN, "lock is held", path)
            self._locks.add(path)
        try:
            yield
        finally:
            self._locks.discard(path)

    # -- names ----------------------------------------------------------------------------------------

    def _link(self, directory: DirNode[FileT], name: str, node: FileT | DirNode[FileT]) -> None:
        if not isinstance(node, DirNode):
            self._on_linked(node)
        directory.entries[name] = node
        directory.pending.append(EntryChange(linked=(directory, name), node=node))
        directory.modified_ms = self._now_ms()

    def _unlink(self, directory: DirNode[FileT], name: str) -> None:
        node = directory.entries.pop(name)
        directory.pending.append(EntryChange(unlinked=(directory, name)))
        directory.modified_ms = self._now_ms()
        if not isinstance(node, DirNode):
            self._on_unlinked(node)

    def _find(self, path: str) -> FileT | DirNode[FileT] | None:
        node: FileT | DirNode[FileT] | None = self._root
        for name in _parts(path):
            if not isinstance(node, DirNode):
                return None
            node = node.entries.get(name)
        return node

    def _existing(self, path: str) -> FileT | DirNode[FileT]:
        node = self._find(path)
        if node is None:
            raise os_error(errno.ENOENT, path)
        return node

    def _dir_node(self, path: str) -> DirNode[FileT]:
        node = self._existing(path)
        if not isinstance(node, DirNode):
            raise os_error(errno.ENOTDIR, path)
        return node

    def _file_node(self, path: str) -> FileT:
        return _as_file(self._find(path), path)

    def _parent(self, path: str) -> tuple[DirNode[FileT], str]:
        head, name = os.path.split(path.rstrip("/"))
        return self._dir_node(head), name


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part and part != "."]


def _as_file(node: FileT | DirNode[FileT] | None, path: str) -> FileT:
    if node is None:
        raise os_error(errno.ENOENT, path)
    if isinstance(node, DirNode):
        raise os_error(errno.EISDIR, path)
    return node


def _check_replaceable(
    node: FileT | DirNode[FileT], replaced: FileT | DirNode[FileT] | None, target: str
) -> None:
    if replaced is None:
        return
    if isinstance(replaced, DirNode):
        if not isinstance(node, DirNode):
            raise os_error(errno.EISDIR, target)
        if replaced.entries:
            raise os_error(errno.ENOTEMPTY, target)
    elif isinstance(node, DirNode):
        raise os_error(errno.ENOTDIR, target)


def os_error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
