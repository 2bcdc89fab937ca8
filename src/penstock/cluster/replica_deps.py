"""The dependencies that all replicas of a broker share: disk, clock and callbacks."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from penstock.runtime.clock import Clock
from penstock.runtime.offload import InlineOffload, Offload
from penstock.storage.directory.disk_space import DiskSpace
from penstock.storage.errors import is_disk_failure, is_out_of_space
from penstock.storage.flusher import Flusher

if TYPE_CHECKING:
    from penstock.cluster.replica import Replica


class ReplicaDeps(msgspec.Struct, eq=False):
    node_id: int
    clock: Clock
    flusher: Flusher
    checks: Offload = msgspec.field(default_factory=InlineOffload)
    """Runs the checks of large batches."""
    disk: DiskSpace = msgspec.field(default_factory=DiskSpace)
    lag_ms_max: Callable[[], int] = lambda: 30_000
    may_join: Callable[[int, int], bool] = lambda _broker_id, _epoch: True
    """Whether a broker that fetches with this epoch may be in sync."""
    on_in_sync_change: Callable[["Replica"], None] = lambda _replica: None
    """Called when a partition may need another in-sync set."""
    on_suspicion: Callable[["Replica"], None] = lambda _replica: None
    """Called when a partition's log may be damaged."""
    on_disk_failure: Callable[[Exception], None] = lambda _error: None
    """Called each time that an operation finds that the disk has failed."""

    def on_storage_error(self, error: Exception) -> None:
        """React to an error of opening or writing a log: the disk may have failed or be full."""
        if is_disk_failure(error):
            self.on_disk_failure(error)
        elif is_out_of_space(error):
            self.disk.refused(self.clock.monotonic_ms())
