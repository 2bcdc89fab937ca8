"""A disk in memory that fails as disks do: for fault tests, and for a whole cluster simulated in one process.

`FaultyDisk` is a `FileSystem`. Written bytes survive a power cut only after `sync`, names only after
`sync_dir`. It can lose, tear or scatter what was not synced, flip bits, fail any operation with any errno,
run full, answer slowly, and cut the power at a chosen operation. The same seed does the same every time.

    disk = FaultyDisk(Random(7))
    ...                              # run the code under test on `disk`
    disk = disk.crash(Keep.PAGES)    # the machine restarts; whoever still holds the old disk gets PowerCut

A `crash` is a power cut; `kill` is the end of the process alone, which leaves the page cache as it is.
Faults are matched by the path that a file was opened with. All methods may be called from any thread.
"""

import contextlib
import errno
from collections.abc import Callable, Iterator, Mapping
from random import Random

from penstock.observability.clock import Clock
from penstock.storage.files import File, Usage
from penstock.testing.disk_device import Device, Fault, FaultyFile, PowerCut
from penstock.testing.disk_model import FileNode, Keep
from penstock.testing.disk_names import DirNode, NamedFiles, Operation, files_below, settle_names

__all__ = ["Fault", "FaultyDisk", "FaultyFile", "Keep", "Operation", "PowerCut"]

_UNLIMITED_BYTES = 1 << 30


class FaultyDisk(NamedFiles[FileNode]):
    def __init__(
        self, random: Random, *, clock: Clock | None = None, capacity_bytes: int | None = None
    ) -> None:
        self._random = random
        self._clock = clock
        self._device = Device(clock, capacity_bytes)
        super().__init__(DirNode(0), self._device.mutex)

    # -- faults ---------------------------------------------------------------------------------------

    def fail(
        self,
        operation: Operation,
        path_part: str = "",
        *,
        error: int = errno.EIO,
        times: int | None = None,
        begin: int = 0,
        end: int | None = None,
    ) -> Fault:
        """From now on fail `operation` where the path contains `path_part` and the byte range is touched."""
        fault = Fault(operation, path_part, error=error, times=times, begin=begin, end=end)
        self._device.faults.append(fault)
        return fault

    def heal(self, fault: Fault | None = None) -> None:
        """Withdraw one fault, or all."""
        self._device.faults = [f for f in self._device.faults if fault is not None and f is not fault]

    def set_capacity(self, capacity_bytes: int | None, *, writes_in_part: bool = False) -> None:
        """Limit the bytes of all files. `writes_in_part`: a write that does not fit leaves its first part
        behind, as `pwritev` does; otherwise it leaves nothing.
        """
        self._device.capacity_bytes = capacity_bytes
        self._device.writes_in_part_when_full = writes_in_part

    def set_cold(self, cold: bool) -> None:
        """Whether `read_cached` finds nothing in memory."""
        self._device.cold = cold

    @contextlib.contextmanager
    def warm(self) -> Iterator[None]:
        """Find everything in memory meanwhile: for who looks at a disk from outside."""
        cold, self._device.cold = self._device.cold, False
        try:
            yield
        finally:
            self._device.cold = cold

    def before_sync(self, hook: Callable[[str], None] | None) -> None:
        """Call `hook` with the path at each sync. It may block; that sync covers nothing written later."""
        self._device.before_sync = hook

    def cut_power_at(self, operation_count: int) -> None:
        """Let so many more changing operations happen; the next raises `PowerCut`. Then call `crash`."""
        self._device.power_cut_at = self._device.operation_count + operation_count

    def flip_bit(self, path: str, position: int, bit: int = 0) -> None:
        """Rot: the bit is wrong in what is read now and after any crash."""
        node = self._file_node(path)
        node.cache[position] ^= 1 << bit
        if position < len(node.durable):
            node.durable[position] ^= 1 << bit

    def crash(
        self, keep: Keep = Keep.NOTHING, *, page_bytes: int = 4096, torn: Mapping[str, int] | None = None
    ) -> "FaultyDisk":
        """Cut the power and give back the disk as the restarted machine finds it, without faults.

        `torn` names files of which exactly the first so many unsynced bytes survive; `keep` rules the rest.
        """
        with self._device.mutex:
            self._device.dead = True
            torn_nodes = {id(self._file_node(path)): count for path, count in (torn or {}).items()}
            settle_names(self._root, lambda count: keep.count_of(count, self._random))
            for _, node in files_below(self._root):
                if (kept_bytes := torn_nodes.get(id(node))) is not None:
                    node.tear(kept_bytes)
                else:
                    node.cut_power(keep, page_bytes, self._random)
            return self._reborn()

    def kill(self) -> "FaultyDisk":
        """End the process but not the machine: the page cache stays, unsynced as it is; locks are freed."""
        with self._device.mutex:
            self._device.dead = True
            return self._reborn()

    def _reborn(self) -> "FaultyDisk":
        old = self._device
        disk = FaultyDisk(self._random, clock=self._clock)
        disk.set_capacity(old.capacity_bytes, writes_in_part=old.writes_in_part_when_full)
        disk.set_cold(old.cold)
        disk.can_sync_all = self.can_sync_all
        disk._root = self._root
        for _, node in files_below(self._root):
            node.handle_count = 0
            node.link_count = 1
            disk._device.used_bytes += node.allocated_bytes
        return disk

    # -- what a test looks at -------------------------------------------------------------------------

    @property
    def has_power(self) -> bool:
        """False after a power cut; `crash` gives the disk that the next start finds."""
        return not self._device.dead

    @property
    def operation_count(self) -> int:
        """Changing operations begun so far."""
        return self._device.operation_count

    @property
    def operations(self) -> "list[tuple[Operation, str]]":
        """The latest changing operations that were begun, in order."""
        return [*self._device.operations]

    @property
    def used_bytes(self) -> int:
        """Written bytes of all files, with those that are removed but still open."""
        return self._device.used_bytes

    def unsynced_bytes(self, path: str) -> int:
        """How many written bytes a power cut could take from this file."""
        return sum(len(change.data or b"") for change in self._file_node(path).pending)

    def paths(self) -> list[str]:
        """Every file, sorted."""
        return sorted(path for path, _ in files_below(self._root))

    # -- FileSystem -----------------------------------------------------------------------------------

    def usage(self, path: str) -> Usage:
        """A disk without a limit says that it is twice as large as what is on it, and 1 GB."""
        with self._mutex:
            self._start("usage", path)
            used = self._device.used_bytes
            total = 2 * used + _UNLIMITED_BYTES if (limit := self._device.capacity_bytes) is None else limit
            return Usage(total, max(0, total - used))

    def _start(self, operation: Operation, path: str) -> None:
        self._device.start(operation, path)

    def _now_ms(self) -> int:
        return self._device.now_ms()

    def _make_file(self) -> FileNode:
        return FileNode(self._device.now_ms())

    def _open_file(self, node: FileNode, path: str, *, writable: bool) -> File:
        node.handle_count += 1
        return FaultyFile(self._device, node, path, writable)

    def _sync_file(self, node: FileNode, path: str) -> None:
        if node.pending:
            self._device.sync(node, path)

    def _gain_name(self, node: FileNode) -> None:
        node.link_count += 1

    def _lose_name(self, node: FileNode) -> None:
        node.link_count -= 1
        self._device.release(node)
