"""Appends that came together, so that one write serves them all.

While the disk is busy with a sync, what clients send must wait for the next one anyway. Of a partition that only this
broker holds it is then not written one by one: what arrives within a turn of the loop is gathered and written at the
end of the turn. A system call, and the bookkeeping around it, is then paid once for many small batches. Whoever writes
alone does not wait: nothing is gathered while no sync runs.
"""

from typing import Any, Final

from penstock.observability.completion import Reply
from penstock.storage.log_errors import LogError
from penstock.storage.log_values import Appended
from penstock.storage.storable_batch import StorableBatch

GATHERED_MAX: Final = 256
"""So many are written at once at most: the loop is held meanwhile."""
GATHERED_BYTES_MAX: Final = 16_384
"""Larger batches are written as they come: of them, the bytes cost more than the call."""


class GatheredAppend(Reply[Any]):
    """A batch of a client, and the answer that comes when `told` is called; made by whoever answers."""

    __slots__ = ("appended", "batch", "size_bytes")

    def __init__(self) -> None:
        super().__init__()
        self.batch: StorableBatch
        """Once it is checked."""
        self.size_bytes = 0
        """As the client sent it: the topic may store it in another codec."""
        self.appended: Appended | None = None
        """Where it is stored, once it is."""

    def told(self, error: LogError | None) -> None:
        """It may be acknowledged, or will never be. Called once."""
        raise NotImplementedError
