"""What all replicas of a broker share: the disk, the clock, and who is notified of what happens to them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.observability.clock import Clock
from penstock.observability.offload import InlineOffload, Offload
from penstock.storage.disk_space import DiskSpace
from penstock.storage.flusher import Flusher
from penstock.storage.log.errors import is_disk_failure, is_out_of_space

if TYPE_CHECKING:
    from penstock.cluster.replica import Replica


class ReplicaDeps:
    __slots__ = (
        "checks",
        "clock",
        "disk",
        "flusher",
        "lag_ms_max",
        "may_join",
        "node_id",
        "on_disk_failure",
        "on_in_sync_change",
        "on_suspicion",
    )

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        flusher: Flusher,
        *,
        checks: Offload | None = None,
        lag_ms_max: Callable[[], int] = lambda: 30_000,
        may_join: Callable[[int, int], bool] = lambda _broker_id, _epoch: True,
        on_in_sync_change: Callable[["Replica"], None] = lambda _replica: None,
        on_suspicion: Callable[["Replica"], None] = lambda _replica: None,
        on_disk_failure: Callable[[Exception], None] = lambda _error: None,
    ) -> None:
        """`checks` is where batches are checked that take long.

        `may_join`: whether a broker that fetches with this epoch is fit to be in sync. The others are called when a
        partition wants another in-sync set, when something in its log may have rotted, and when the disk has failed
        under it, each time that it is noticed.
        """
        self.node_id = node_id
        self.clock = clock
        self.flusher = flusher
        self.checks = checks or InlineOffload()
        self.disk = DiskSpace()
        self.lag_ms_max = lag_ms_max
        self.may_join = may_join
        self.on_in_sync_change = on_in_sync_change
        self.on_suspicion = on_suspicion
        self.on_disk_failure = on_disk_failure

    def on_storage_error(self, error: Exception) -> None:
        """A log could not be opened or written to: act on it if it is the disk that failed, or is full."""
        if is_disk_failure(error):
            self.on_disk_failure(error)
        elif is_out_of_space(error):
            self.disk.refused(self.clock.monotonic_ms())
