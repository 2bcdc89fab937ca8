"""A disk in memory that fails as disks do, for fault tests and for simulated clusters.

`FaultyDisk` is a `FileSystem`. Written bytes survive a power cut only after `sync`, names only after `sync_dir`. It
can lose, tear or scatter unsynced writes, flip bits, fail any operation with any errno, run full, answer slowly, and
cut the power at a chosen operation. The same seed does the same every time.

    disk = FaultyDisk(Random(7))
    ...                              # run the code under test on `disk`
    disk = disk.crash(Keep.PAGES)    # the machine restarts; operations on the old disk raise PowerCut

`crash` is a power cut; `kill` ends the process alone and leaves the page cache as it is. Faults match the path that a
file was opened with. All methods may be called from any thread.
"""

import contextlib
import errno
from collections.abc import Callable, Iterator, Mapping
from random import Random

from penstock.runtime.clock import Clock
from penstock.storage.files import File, Usage
from penstock.testing.memory_files import DirNode, MemoryFiles, Operation, files_below, keep_durable_names
from penstock_simulation.disk.device import Device, Fault, FaultyFile
from penstock_simulation.disk.model import FileNode, Keep

_UNLIMITED_BYTES = 1 << 30


class FaultyDisk(MemoryFiles[FileNode]):
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
        """Fail `operation` from now on where the path contains `path_part` and the byte range is touched."""
        fault = Fault(operation, path_part, error, times, begin, end)
        self._device.faults.append(fault)
        return fault

    def heal(self, fault: Fault | None = None) -> None:
        """Remove one fault, or all."""
        self._device.faults = [f for f in self._device.faults if fault is not None and f is not fault]

    def set_capacity(self, capacity_bytes: int | None, *, writes_in_part: bool = False) -> None:
        """Limit the bytes of all files.

        With `writes_in_part` a write that does not fit stores its first bytes, as `pwritev` does; otherwise none.
        """
        self._device.capacity_bytes = capacity_bytes
        self._device.writes_in_part_when_full = writes_in_part

    def set_cold(self, cold: bool) -> None:
        """Let `read_cached` find nothing in memory."""
        self._device.cold = cold

    @contextlib.contextmanager
    def warm(self) -> Iterator[None]:
        """Let `read_cached` find everything in memory, for a checker that inspects the disk."""
        cold, self._device.cold = self._device.cold, False
        try:
            yield
        finally:
            self._device.cold = cold

    def before_sync(self, hook: Callable[[str], None] | None) -> None:
        """Call `hook` with the path at each sync. It may block; that sync covers nothing written later."""
        self._device.before_sync = hook

    def cut_power_at(self, operation_count: int) -> None:
        """Allow this many more changing operations; the next raises `PowerCut`. Then call `crash`."""
        self._device.power_cut_at = self._device.operation_count + operation_count

    def flip_bit(self, path: str, position: int, bit: int = 0) -> None:
        """Corrupt a bit, in reads from now on and after any crash."""
        node = self._file_node(path)
        node.cache[position] ^= 1 << bit
        if position < len(node.durable):
            node.durable[position] ^= 1 << bit

    def crash(
        self, keep: Keep = Keep.NOTHING, *, page_bytes: int = 4096, torn: Mapping[str, int] | None = None
    ) -> "FaultyDisk":
        """Cut the power and return the disk as the restarted machine finds it, without faults.

        `torn` maps files to how many of their unsynced bytes, from the first one, survive; `keep` applies to the rest.
        """
        with self._device.mutex:
            torn_nodes = {id(self._file_node(path)): count for path, count in (torn or {}).items()}
            keep_durable_names(self._root, lambda count: keep.count_of(count, self._random))
            for _, node in files_below(self._root):
                if (kept_bytes := torn_nodes.get(id(node))) is not None:
                    node.tear(kept_bytes)
                else:
                    node.cut_power(keep, page_bytes, self._random)
            return self.kill()

    def kill(self) -> "FaultyDisk":
        """End the process but not the machine: the page cache stays, synced or not; locks are freed."""
        with self._device.mutex:
            old = self._device
            old.dead = True
            disk = FaultyDisk(self._random, clock=self._clock)
            disk.set_capacity(old.capacity_bytes, writes_in_part=old.writes_in_part_when_full)
            disk.set_cold(old.cold)
            disk.can_sync_all = self.can_sync_all
            disk._root = self._root
            for _, node in files_below(self._root):
                node.unreported_errors = {}
                node.link_count = 1
                disk._device.used_bytes += node.allocated_bytes
            return disk

    # -- state for assertions -------------------------------------------------------------------------

    @property
    def has_power(self) -> bool:
        """False after a power cut; `crash` returns the disk that the next start finds."""
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
        """Written bytes of all files, including those that are removed but still open."""
        return self._device.used_bytes

    def unsynced_bytes(self, path: str) -> int:
        """Written bytes of this file that a power cut could take."""
        return sum(len(change.data or b"") for change in self._file_node(path).pending)

    def paths(self) -> list[str]:
        """Every file, sorted."""
        return sorted(path for path, _ in files_below(self._root))

    # -- FileSystem -----------------------------------------------------------------------------------

    def usage(self, path: str) -> Usage:
        """Report the capacity. A disk without a limit claims to be half full, and 1 GB larger."""
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
        return FaultyFile(self._device, node, path, writable)

    def _sync_file(self, node: FileNode, path: str) -> None:
        if node.pending:
            self._device.sync(node, path)

    def _on_linked(self, node: FileNode) -> None:
        node.link_count += 1

    def _on_unlinked(self, node: FileNode) -> None:
        node.link_count -= 1
        self._device.release(node)
