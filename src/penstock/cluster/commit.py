"""An append, and what becomes of it: the one thing to wait for, for producers, coordinators, markers and followers.

    queued ──> appended ──> durable ──> committed
       └───────────┴────────────┴──> failed, with the reason

`Replica.append` gives a `Commit` at once, also for what it refuses. It is done when the append is as safe as its `acks`
ask for: with 0 when it is in the log, with 1 when it is on this broker's disk, with -1 when all in-sync replicas have
it. Where no other broker holds the partition, the last two are the same.
"""

import msgspec

from penstock.observability.completion import Completion
from penstock.storage.log.errors import LogError
from penstock.storage.log.values import Appended
from penstock.storage.storable_batch import StorableBatch
from penstock.storage.transaction_permit import TransactionPermit

ALL = -1  # acks: every in-sync replica


class Commit(Completion[None]):
    """Carries under what it is allowed: the leader epoch in which its caller decided, and a transaction's permit."""

    leader_epoch: int
    acks: int = ALL
    now_ms: int = 0
    size_bytes: int = 0
    """As the client sent it: the topic may store it in another codec."""
    is_from_client: bool = False
    permit: TransactionPermit | None = None
    batches: list[StorableBatch] = msgspec.field(default_factory=list)
    """Once they are checked."""
    checking: Completion[None] | None = None
    """Done when the append has its place in the log's order; only for batches that are checked on a thread."""
    appended: Appended | None = None
    """Where the records are, once they are in the log."""
    refusal: LogError | None = None
    """Why the log has not taken them; the commit then fails with it."""
    last_offset: int = -1
    """Of the records, once they are in the log; an offset means them only in `leader_epoch`."""

    def fail(self, error: Exception) -> None:
        # Without the frames that raised it: they hold this commit, and a cycle keeps the collector busy.
        super().fail(error.with_traceback(None))

    def raise_if_refused(self) -> None:
        """Raise why the log has not taken the records, if it has not."""
        if self.appended is None and self.error is not None:
            raise self.error
