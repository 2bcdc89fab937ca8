"""The hardware under a `FaultyDisk`: power, injected faults, capacity, and open files."""

import errno
import threading
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from penstock.runtime.clock import Clock
from penstock.storage.files import Buffer
from penstock.testing.memory_files import CHANGING, Operation, PowerCut, os_error
from penstock_simulation.disk.model import Change, FileNode

_OPERATIONS_REMEMBERED = 10_000  # a simulation may run for hours


class Fault(msgspec.Struct, eq=False):
    """Makes an operation on matching paths fail. `times` counts down; None lasts until `heal`."""

    operation: Operation
    path_part: str
    error: int
    times: int | None
    begin: int
    end: int | None

    def matches(self, operation: Operation, path: str, begin: int, end: int) -> bool:
        return (
            operation == self.operation
            and self.times != 0
            and self.path_part in path
            and (end > self.begin or self.begin == 0)
            and (self.end is None or begin < self.end)
        )


class Device:
    """Shared by a disk and its open files; every operation passes `start`."""

    def __init__(self, clock: Clock | None, capacity_bytes: int | None) -> None:
        self.mutex = threading.RLock()
        self.faults: list[Fault] = []
        self.operations: deque[tuple[Operation, str]] = deque(maxlen=_OPERATIONS_REMEMBERED)
        self.operation_count = 0
        self.power_cut_at: int | None = None
        self.capacity_bytes = capacity_bytes
        self.used_bytes = 0
        self.writes_in_part_when_full = False
        self.cold = False
        self.before_sync: Callable[[str], None] | None = None
        self.dead = False
        self._clock = clock

    def now_ms(self) -> int:
        return 0 if self._clock is None else self._clock.now_ms()

    def check_power(self) -> None:
        if self.dead:
            raise PowerCut

    def start(self, operation: Operation, path: str, begin: int = 0, end: int = 0) -> None:
        """Admit an operation. Raises `PowerCut`, or `OSError` for an injected fault."""
        self.check_power()
        if operation in CHANGING:
            if self.power_cut_at is not None and self.operation_count >= self.power_cut_at:
                self.dead = True
                raise PowerCut
            self.operation_count += 1
            self.operations.append((operation, path))
        for fault in self.faults:
            if fault.matches(operation, path, begin, end):
                if fault.times is not None:
                    fault.times -= 1
                raise os_error(fault.error, path)

    def write(self, node: FileNode, path: str, data: bytes, position: int) -> None:
        with self.mutex:
            self.start("write", path, position, position + len(data))
            growth = max(0, position + len(data) - node.allocated_bytes)
            room = growth if self.capacity_bytes is None else max(0, self.capacity_bytes - self.used_bytes)
            if growth > room:
                if self.writes_in_part_when_full and (fitting := len(data) - growth + room) > 0:
                    self._change(node, Change(position, data[:fitting]))
                raise os_error(errno.ENOSPC, path)
            self._change(node, Change(position, data))

    def truncate(self, node: FileNode, path: str, size_bytes: int) -> None:
        with self.mutex:
            self.start("truncate", path, size_bytes, size_bytes)
            self._change(node, Change(size_bytes, None))

    def _change(self, node: FileNode, change: Change) -> None:
        self.used_bytes -= node.allocated_bytes
        node.change(change)
        self.used_bytes += node.allocated_bytes
        node.modified_ms = self.now_ms()

    def sync(self, node: FileNode, path: str) -> None:
        """Sync a file. Bytes that are written while the sync runs are not covered by it."""
        with self.mutex:
            self.check_power()
            change_count = node.change_count()
        if self.before_sync is not None:
            self.before_sync(path)
        with self.mutex:
            try:
                self.start("sync", path)
            except OSError as error:
                node.flush(change_count, error.errno or errno.EIO)
                raise
            node.flush(change_count)

    def read(self, node: FileNode, path: str, size_bytes: int, position: int) -> bytes:
        with self.mutex:
            self.start("read", path, position, position + size_bytes)
            return bytes(node.cache[position : position + size_bytes])

    def release(self, node: FileNode) -> None:
        """Free the bytes of a file that has neither a name nor a handle."""
        if node.link_count == 0 and not node.unreported_errors:
            self.used_bytes -= node.allocated_bytes


class FaultyFile:
    """An open file of a `FaultyDisk`."""

    def __init__(self, device: Device, node: FileNode, path: str, writable: bool) -> None:
        self._device = device
        self._node = node
        self._path = path
        self._writable = writable
        self._open = True
        node.unreported_errors[self] = 0

    def __deepcopy__(self, _memo: object) -> "FaultyFile":
        """A copy of the disk's files does not copy their open handles."""
        return self

    def write(self, buffers: Sequence[Buffer], position: int) -> None:
        self._check(writing=True)
        self._device.write(self._node, self._path, b"".join(buffers), position)

    def read(self, size_bytes: int, position: int) -> bytes:
        self._check()
        return self._device.read(self._node, self._path, size_bytes, position)

    def read_cached(self, size_bytes: int, position: int) -> Buffer | None:
        return None if self._device.cold else self.read(size_bytes, position)

    def size(self) -> int:
        self._check()
        self._device.check_power()
        return len(self._node.cache)

    def truncate(self, size_bytes: int) -> None:
        self._check(writing=True)
        self._device.truncate(self._node, self._path, size_bytes)

    def sync(self) -> None:
        """Sync the file. Raises the error of an earlier sync that this handle has not reported."""
        self._check()
        try:
            self._device.sync(self._node, self._path)
        except OSError:
            self._node.take_error(self)
            raise
        if error := self._node.take_error(self):
            raise os_error(error, self._path)

    @property
    def descriptor(self) -> None:
        return None  # the kernel knows nothing of it

    def close(self) -> None:
        with self._device.mutex:
            if self._open and not self._device.dead:
                del self._node.unreported_errors[self]
                self._device.release(self._node)
            self._open = False

    def _check(self, *, writing: bool = False) -> None:
        if not self._open or (writing and not self._writable):
            raise os_error(errno.EBADF, self._path)
