"""A disk in memory for embedded brokers: light, and honest about what a crash leaves.

`testing.disk.FaultyDisk` can lose, tear and scatter, and pays for it with two copies of every byte and with the zeros
that logs are lengthened by in advance. This one keeps each byte once: what lies behind the last one written up to the
file's size is read as zeros and takes no room. Instead of what is durable it remembers how to undo what is not: a
`sync` forgets that, a `crash` does it. A file whose name was not synced (`sync_dir`) is gone after a crash, as on a
file system.

Only the loop of its node uses it, so there are no locks; only `fail` and `mend` are called from outside.
"""

import contextlib
import errno
import itertools
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from penstock.observability.clock import Clock
from penstock.storage.files import Buffer, File, Usage
from penstock.testing.disk import PowerCut


class _Undo(NamedTuple):
    """What a file was before one change: its sizes, and the bytes that were overwritten or cut off."""

    written_bytes: int
    size_bytes: int
    position: int
    replaced: bytes


class _FileNode:
    __slots__ = ("data", "modified_ms", "size_bytes", "undo")

    def __init__(self, modified_ms: int) -> None:
        self.data = bytearray()
        self.size_bytes = 0
        self.modified_ms = modified_ms
        self.undo: list[_Undo] = []

    def write(self, content: bytes, position: int) -> None:
        data, end = self.data, position + len(content)
        replaced = bytes(data[position:end]) if position < len(data) else b""
        self.undo.append(_Undo(len(data), self.size_bytes, position, replaced))
        if len(data) < position:
            data.extend(bytes(position - len(data)))
        data[position:end] = content
        self.size_bytes = max(self.size_bytes, end)

    def truncate(self, size_bytes: int) -> None:
        data = self.data
        replaced = bytes(data[size_bytes:]) if size_bytes < len(data) else b""
        self.undo.append(_Undo(len(data), self.size_bytes, size_bytes, replaced))
        del data[size_bytes:]
        self.size_bytes = size_bytes

    def read(self, size_bytes: int, position: int) -> bytes:
        end = max(position, min(position + size_bytes, self.size_bytes))
        with memoryview(self.data) as view:
            found = bytes(view[position:end])
        return found + bytes(end - position - len(found))

    def crash(self) -> None:
        for undo in reversed(self.undo):
            self.data[undo.position : undo.position + len(undo.replaced)] = undo.replaced
            del self.data[undo.written_bytes :]
            self.size_bytes = undo.size_bytes
        self.undo.clear()


class _DirNode:
    __slots__ = ("changes", "entries", "modified_ms")

    def __init__(self, modified_ms: int) -> None:
        self.entries: dict[str, _FileNode | _DirNode] = {}
        self.modified_ms = modified_ms
        self.changes: list[int] = []
        """Numbers of the changes of names that `sync_dir` has not made durable."""


class _NameChange(NamedTuple):
    """Names as they were before: a rename is two of them that are undone together."""

    before: tuple[tuple[_DirNode, str, "_FileNode | _DirNode | None"], ...]


class _Power:
    """What all handles of one life of the disk share."""

    __slots__ = ("error", "is_on")

    def __init__(self) -> None:
        self.is_on = True
        self.error = 0

    def check(self, *, changes: bool = False) -> None:
        if not self.is_on:
            raise PowerCut
        if changes and self.error:
            raise OSError(self.error, os.strerror(self.error))


class MemoryDisk:
    """A `FileSystem`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._root = _DirNode(clock.now_ms())
        self._power = _Power()
        self._numbers = itertools.count()
        self._unsynced_names: dict[int, _NameChange] = {}
        self._locks: set[str] = set()

    # -- faults ---------------------------------------------------------------------------------------

    def fail(self, error: int) -> None:
        """Let everything that changes something fail with this errno, until `mend`."""
        self._power.error = error

    def mend(self) -> None:
        self._power.error = 0

    def crash(self) -> "MemoryDisk":
        """Cut the power: what was not synced is gone, and who still holds the old disk gets `PowerCut`."""
        self._power.is_on = False
        for change in reversed(self._unsynced_names.values()):
            for directory, name, node in change.before:
                if node is None:
                    directory.entries.pop(name, None)
                else:
                    directory.entries[name] = node
        restarted = MemoryDisk(self._clock)
        restarted._root = self._root
        restarted._forget_changes(self._root)
        return restarted

    def _forget_changes(self, directory: _DirNode) -> None:
        directory.changes.clear()
        for node in directory.entries.values():
            if isinstance(node, _DirNode):
                self._forget_changes(node)
            else:
                node.crash()

    # -- FileSystem -----------------------------------------------------------------------------------

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        directory, name = self._parent(path)
        node = directory.entries.get(name)
        self._power.check(changes=node is None)
        if node is None and create:
            node = _FileNode(self._clock.now_ms())
            self._change(((directory, name, node),))
        if node is None:
            raise _os_error(errno.ENOENT, path)
        if isinstance(node, _DirNode):
            raise _os_error(errno.EISDIR, path)
        return _MemoryFile(node, self._power, self._clock, path, writable)

    def exists(self, path: str) -> bool:
        self._power.check()
        return self._find(path) is not None

    def list(self, path: str) -> list[str]:
        self._power.check()
        return sorted(self._dir_node(path).entries)

    def size(self, path: str) -> int:
        self._power.check()
        return self._file_node(path).size_bytes

    def modified_ms(self, path: str) -> int:
        self._power.check()
        node = self._find(path)
        if node is None:
            raise _os_error(errno.ENOENT, path)
        return node.modified_ms

    def usage(self, path: str) -> Usage:  # noqa: ARG002 - all of it is in one memory
        page_bytes = os.sysconf("SC_PAGE_SIZE")
        return Usage(os.sysconf("SC_PHYS_PAGES") * page_bytes, os.sysconf("SC_AVPHYS_PAGES") * page_bytes)

    def make_dirs(self, path: str) -> None:
        self._power.check(changes=True)
        directory = self._root
        for name in _parts(path):
            child = directory.entries.get(name)
            if isinstance(child, _FileNode):
                raise _os_error(errno.EEXIST, path)
            if child is None:
                child = _DirNode(self._clock.now_ms())
                self._change(((directory, name, child),))
            directory = child

    def rename(self, source: str, target: str) -> None:
        self._power.check(changes=True)
        from_dir, from_name = self._parent(source)
        to_dir, to_name = self._parent(target)
        node = from_dir.entries.get(from_name)
        if node is None:
            raise _os_error(errno.ENOENT, source)
        replaced = to_dir.entries.get(to_name)
        if replaced is node:
            return
        if isinstance(replaced, _DirNode) and isinstance(node, _FileNode):
            raise _os_error(errno.EISDIR, target)
        if isinstance(replaced, _DirNode) and replaced.entries:
            raise _os_error(errno.ENOTEMPTY, target)
        if isinstance(replaced, _FileNode) and isinstance(node, _DirNode):
            raise _os_error(errno.ENOTDIR, target)
        self._change(((from_dir, from_name, None), (to_dir, to_name, node)))

    def remove(self, path: str) -> None:
        self._power.check(changes=True)
        self._file_node(path)
        self._change(((*self._parent(path), None),))

    def remove_tree(self, path: str) -> None:
        self._power.check(changes=True)
        self._dir_node(path)
        self._change(((*self._parent(path), None),))

    def sync_dir(self, path: str) -> None:
        self._power.check(changes=True)
        directory = self._dir_node(path)
        for number in directory.changes:
            self._unsynced_names.pop(number, None)
        directory.changes.clear()

    @contextlib.contextmanager
    def lock(self, path: str) -> Iterator[None]:
        self.open(path, create=True).close()
        if path in self._locks:
            raise BlockingIOError(errno.EAGAIN, "lock is held", path)
        self._locks.add(path)
        try:
            yield
        finally:
            self._locks.discard(path)

    # -- names ----------------------------------------------------------------------------------------

    def _change(self, after: "tuple[tuple[_DirNode, str, _FileNode | _DirNode | None], ...]") -> None:
        """Set names, all at once, and remember what they were."""
        number = next(self._numbers)
        before = tuple((directory, name, directory.entries.get(name)) for directory, name, _ in after)
        self._unsynced_names[number] = _NameChange(before)
        for directory, name, node in after:
            if node is None:
                directory.entries.pop(name, None)
            else:
                directory.entries[name] = node
            directory.changes.append(number)
            directory.modified_ms = self._clock.now_ms()

    def _find(self, path: str) -> "_FileNode | _DirNode | None":
        node: _FileNode | _DirNode | None = self._root
        for name in _parts(path):
            node = node.entries.get(name) if isinstance(node, _DirNode) else None
        return node

    def _dir_node(self, path: str) -> _DirNode:
        node = self._find(path)
        if node is None:
            raise _os_error(errno.ENOENT, path)
        if isinstance(node, _FileNode):
            raise _os_error(errno.ENOTDIR, path)
        return node

    def _file_node(self, path: str) -> _FileNode:
        node = self._find(path)
        if node is None:
            raise _os_error(errno.ENOENT, path)
        if isinstance(node, _DirNode):
            raise _os_error(errno.EISDIR, path)
        return node

    def _parent(self, path: str) -> tuple[_DirNode, str]:
        head, name = os.path.split(path.rstrip("/"))
        return self._dir_node(head), name


class _MemoryFile:
    __slots__ = ("_clock", "_is_open", "_node", "_path", "_power", "_writable")

    def __init__(self, node: _FileNode, power: _Power, clock: Clock, path: str, writable: bool) -> None:
        self._node = node
        self._power = power
        self._clock = clock
        self._path = path
        self._writable = writable
        self._is_open = True

    def write(self, buffers: Sequence[Buffer], position: int) -> None:
        self._check(changes=True)
        self._node.write(b"".join(buffers), position)
        self._node.modified_ms = self._clock.now_ms()

    def read(self, size_bytes: int, position: int) -> bytes:
        self._check()
        return self._node.read(size_bytes, position)

    def read_cached(self, size_bytes: int, position: int) -> Buffer | None:
        return self.read(size_bytes, position)

    def size(self) -> int:
        self._check()
        return self._node.size_bytes

    def truncate(self, size_bytes: int) -> None:
        self._check(changes=True)
        self._node.truncate(size_bytes)
        self._node.modified_ms = self._clock.now_ms()

    def sync(self) -> None:
        self._power.check(changes=True)
        self._node.undo.clear()

    @property
    def descriptor(self) -> None:
        return None  # the kernel knows nothing of it

    def close(self) -> None:
        self._is_open = False

    def _check(self, *, changes: bool = False) -> None:
        self._power.check(changes=changes)
        if not self._is_open or (changes and not self._writable):
            raise _os_error(errno.EBADF, self._path)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part and part != "."]


def _os_error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
