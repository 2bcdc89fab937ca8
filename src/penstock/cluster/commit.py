"""An append and its outcome: producers, coordinators, markers and followers all wait for a `Commit`.

    queued ──> appended ──> durable ──> committed
       └───────────┴────────────┴──> failed, with the reason

`Replica.append` returns a `Commit` at once, also for a refused append. It is done when the append is as safe as its
`acks` require: with 0 when it is in the log, with 1 when it is on this broker's disk, with -1 when all in-sync replicas
have it. If no other broker holds the partition, the last two are the same.
"""

import msgspec

from penstock.runtime.completion import Completion
from penstock.storage.errors import LogError
from penstock.storage.log.values import Appended
from penstock.storage.producers.transaction_permit import TransactionPermit
from penstock.storage.storable_batch import StorableBatch

ALL = -1  # acks: every in-sync replica


class Commit(Completion[None]):
    """Carries its authority: the leader epoch in which its caller decided, and a transaction's permit."""

    leader_epoch: int
    acks: int = ALL
    now_ms: int = 0
    size_bytes: int = 0
    """As the client sent it: the topic may store it in another codec."""
    is_from_client: bool = False
    permit: TransactionPermit | None = None
    batches: list[StorableBatch] = msgspec.field(default_factory=list)
    """Set when the batches are checked."""
    checking: Completion[None] | None = None
    """Done when the append has its place in the log's order; only for batches that are checked on a thread."""
    appended: Appended | None = None
    """The position of the records, once they are in the log."""
    refusal: LogError | None = None
    """The error with which the log refused the records; the commit fails with it."""
    last_offset: int = -1
    """The last offset of the records, once they are in the log; valid in `leader_epoch` only."""

    def fail(self, error: Exception) -> None:
        # Without its traceback, which refers to this commit: a cycle keeps the garbage collector busy.
        super().fail(error.with_traceback(None))

    def raise_if_refused(self) -> None:
        """Raise the error with which the log refused the records, if it did."""
        if self.appended is None and self.error is not None:
            raise self.error
