"""A disk in memory for embedded brokers: a crash loses data that was not synced.

`penstock_simulation.disk.FaultyDisk` can lose, tear and scatter writes, and keeps two copies of every byte. This one
keeps each byte once; preallocated zeros take no memory. It keeps an undo log of changes that are not durable: `sync`
clears it, `crash` applies it. Both keep names in the same way (`testing.memory_files`): a file whose name was not
synced is gone after a crash.

Only the loop of its node uses its files, so they have no locks; `fail` and `repair` are called from outside.
"""

import errno
import os
import threading
from collections.abc import Sequence
from typing import NamedTuple

from penstock.runtime.clock import Clock
from penstock.storage.files import Buffer, File, Usage
from penstock.testing.memory_files import (
    CHANGING,
    DirNode,
    MemoryFiles,
    Operation,
    PowerCut,
    files_below,
    keep_durable_names,
    os_error,
)


class _Undo(NamedTuple):
    """A file before one change: its sizes, and the bytes that were overwritten or truncated."""

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

    def size(self) -> int:
        return self.size_bytes

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


class _Power:
    """Shared by all files of the disk until it crashes."""

    __slots__ = ("error", "is_on")

    def __init__(self) -> None:
        self.is_on = True
        self.error = 0

    def check(self, *, changes: bool = False) -> None:
        if not self.is_on:
            raise PowerCut
        if changes and self.error:
            raise OSError(self.error, os.strerror(self.error))


class MemoryDisk(MemoryFiles[_FileNode]):
    """A `FileSystem`."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(DirNode(clock.now_ms()), threading.RLock())
        self._clock = clock
        self._power = _Power()

    # -- faults ---------------------------------------------------------------------------------------

    def fail(self, error: int) -> None:
        """Make every change fail with this errno until `repair`."""
        self._power.error = error

    def repair(self) -> None:
        self._power.error = 0

    def crash(self) -> "MemoryDisk":
        """Cut the power: data that was not synced is lost, and files of the old disk raise `PowerCut`."""
        self._power.is_on = False
        keep_durable_names(self._root, lambda _: 0)
        for _, node in files_below(self._root):
            node.crash()
        restarted = MemoryDisk(self._clock)
        restarted._root = self._root
        return restarted

    # -- FileSystem -----------------------------------------------------------------------------------

    def usage(self, path: str) -> Usage:  # noqa: ARG002 - all of it is in one memory
        """The system's available memory; the page cache counts as free."""
        with open("/proc/meminfo", encoding="ascii") as file:
            kilobytes = {
                name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in file)
            }
        return Usage(kilobytes["MemTotal"] * 1024, kilobytes["MemAvailable"] * 1024)

    def _start(self, operation: Operation, path: str) -> None:  # noqa: ARG002 - all of it fails alike
        self._power.check(changes=operation in CHANGING)

    def _now_ms(self) -> int:
        return self._clock.now_ms()

    def _make_file(self) -> _FileNode:
        return _FileNode(self._clock.now_ms())

    def _open_file(self, node: _FileNode, path: str, *, writable: bool) -> File:
        return _MemoryFile(node, self._power, self._clock, path, writable)

    def _sync_file(self, node: _FileNode, path: str) -> None:  # noqa: ARG002 - all of it fails alike
        self._power.check(changes=True)
        node.undo.clear()


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
        return None  # not a file of the kernel's

    def close(self) -> None:
        self._is_open = False

    def _check(self, *, changes: bool = False) -> None:
        self._power.check(changes=changes)
        if not self._is_open or (changes and not self._writable):
            raise os_error(errno.EBADF, self._path)
