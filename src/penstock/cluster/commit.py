"""An append, and what becomes of it: the one thing to wait for, for producers, coordinators, markers and followers.

    queued ──> appended ──> durable ──> committed
       └───────────┴────────────┴──> failed, with the reason

`Replica.append` gives a `Commit` at once, also for what it refuses. It is done when the append is as safe as its `acks`
ask for: with 0 when it is in the log, with 1 when it is on this broker's disk, with -1 when all in-sync replicas have
it. Where no other broker holds the partition, the last two are the same.

There are thousands of partitions and most of them are idle, so an empty queue must be small.
"""

from penstock.observability.completion import Completion
from penstock.storage.log_errors import LogError
from penstock.storage.log_values import Appended
from penstock.storage.storable_batch import StorableBatch
from penstock.storage.transaction_permit import TransactionPermit

ALL = -1  # acks: every in-sync replica


class Commit(Completion[None]):
    """Carries under what it is allowed: the leader epoch in which its caller decided, and a transaction's permit."""

    __slots__ = (
        "acks",
        "appended",
        "batches",
        "checking",
        "is_from_client",
        "last_offset",
        "leader_epoch",
        "now_ms",
        "permit",
        "size_bytes",
    )

    error: LogError | None

    def __init__(  # noqa: PLR0917  names are paid for at each call
        self,
        leader_epoch: int,
        acks: int = ALL,
        now_ms: int = 0,
        size_bytes: int = 0,
        is_from_client: bool = False,
        permit: TransactionPermit | None = None,
    ) -> None:
        self.is_done = False  # as `Completion` does it: a call less for each request
        self.error = None
        self._callback = None
        self.leader_epoch = leader_epoch
        self.acks = acks
        self.now_ms = now_ms
        self.size_bytes = size_bytes
        """As the client sent it: the topic may store it in another codec."""
        self.is_from_client = is_from_client
        self.permit = permit
        self.batches: list[StorableBatch]
        """Once they are checked."""
        self.checking: Completion[None] | None = None
        """Done when the append has its place in the log's order; only for batches that are checked on a thread."""
        self.appended: Appended | None = None
        """Where the records are, once they are in the log."""
        self.last_offset = -1
        """Of the records, once they are in the log; an offset means them only in `leader_epoch`."""

    def fail(self, error: Exception) -> None:
        # Without the frames that raised it: they hold this commit, and a cycle keeps the collector busy.
        super().fail(error.with_traceback(None))

    def raise_if_refused(self) -> None:
        """Raise why the log has not taken the records, if it has not."""
        if self.appended is None and self.error is not None:
            raise self.error


class CommitQueue:
    """Commits that wait until all below an offset is safe, in the order of their appends."""

    __slots__ = ("_commits",)

    def __init__(self) -> None:
        self._commits: list[Commit] = []

    def __bool__(self) -> bool:
        return bool(self._commits)

    def add(self, commit: Commit) -> None:
        self._commits.append(commit)

    def reached(self, end_offset: int) -> None:
        """All below `end_offset` is safe now."""
        commits = self._commits
        count = 0
        while count < len(commits) and commits[count].last_offset < end_offset:
            count += 1
        if count:
            self._commits = commits[count:]
            for commit in commits[:count]:
                commit.resolve(None)

    def fail(self, error: LogError) -> None:
        commits, self._commits = self._commits, []
        for commit in commits:
            commit.fail(error)
