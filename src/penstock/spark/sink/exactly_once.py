"""Makes a batch of many tasks visible exactly once, despite crashes (docs/adr/0006-exactly-once-topics.md).

Every task writes in a separate transaction and leaves it open. The driver then decides: in a transaction of the
query's own id it commits, as an offset of the query's group, the batch and the list of its transactions. Ending that
transaction is the decision, which is atomic. Applying the decision can be repeated by any driver.

    driver    lists open transactions, takes its own id (which fences every other driver), reads the last decision
    decided   -> it was this batch or a later one: applies the decision, aborts the new transactions
    undecided -> checks that every transaction is open, decides, commits each, aborts those left over

This module does not use sockets: `Transactions` is the interface to brokers.
"""

import contextlib
import logging
from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from penstock.spark.sink.decision import Decision, Member, Producer, choose_id_number, decide
from penstock.spark.sink.errors import Fenced, PartialCommit, TransactionLost
from penstock.spark.sink.identity import Run, Task, driver_id

log = logging.getLogger(__name__)

_COMMIT_ATTEMPTS_MAX = 20  # this many drivers of the same query would have to start during one commit


class Transactions(Protocol):
    """The interface to brokers. Implementations retry; an exception is final."""

    def begin(self, transactional_id: str) -> Producer:
        """Take over an id; return producer id and epoch. Aborts its open transaction and fences its producer."""

    def last_decision(self, query_id: str, *, is_stable: bool) -> Decision | None:
        """Return the last committed decision; with `is_stable`, wait for a decision that is being committed."""

    def record(self, query_id: str, producer: Producer, decision: Decision) -> None:
        """Commit a decision as the driver that `begin` made. Raises `Fenced` when there is a newer driver."""

    def mark_applied(self, query_id: str, decision: Decision) -> None:
        """Record that every transaction of a decision is committed."""

    def end(self, run: Run, members: Sequence[Member], *, commit: bool) -> list[Member]:
        """End transactions; return those that have ended in the other way."""

    def find_lost(self, run: Run, members: Sequence[Member]) -> list[Member]:
        """Return those that were aborted, or that another producer has taken over."""

    def open_transactional_ids(self, query_id: str) -> list[str]:
        """Return the transactional ids of a query's tasks, of all runs, that have an open transaction."""


class WrittenBatch(msgspec.Struct, frozen=True, kw_only=True):
    run: Run
    batch_id: int
    members: tuple[Member, ...] = ()
    idle: tuple[int, ...] = ()
    task_count: int = 0


def claim_transactional_id(transactions: Transactions, task: Task) -> int | None:
    """Return the number of the transactional id for a task; None if its batch is decided and needs no writing.

    It does not wait for a decision that is being committed: `commit` checks again.
    """
    return free_transactional_id(task, transactions.last_decision(task.run.query_id, is_stable=False))


def free_transactional_id(task: Task, last: Decision | None) -> int | None:
    if last is not None and last.batch_id >= task.batch_id:
        return None
    return choose_id_number(task, last)


class BatchDecider:
    """Decides the batches of one query, one after the other.

    It takes over the driver's transactional id once. While it has that id, no other driver can decide anything: so it
    knows the last decision without reading it. A newer driver fences it, and then it takes over again.
    """

    def __init__(self, transactions: Transactions, query_id: str) -> None:
        self._transactions = transactions
        self._query_id = query_id
        self._producer: Producer | None = None
        self._last: Decision | None = None

    def last_decision(self) -> Decision | None:
        self._take_over()
        return self._last

    def commit(self, written: WrittenBatch) -> None:
        """Make a batch visible once. Returns when it is decided and its transactions are committed."""
        if self._is_nothing(written):
            return
        transactions, query_id = self._transactions, self._query_id
        own_ids = {written.run.transactional_id(member.number) for member in written.members}
        # List before deciding: no driver starts the next batch before this one is decided, so none of its transactions
        # are listed. A listed transaction that is not in this decision will never be in any.
        leftovers = set(transactions.open_transactional_ids(query_id)) - own_ids
        for _ in range(_COMMIT_ATTEMPTS_MAX):
            producer = self._take_over()
            last = self._last
            if last is not None and last.batch_id >= written.batch_id:
                _finish_decided_batch(transactions, written, last)
                return
            _check_all_open(transactions, written)
            decision = decide(
                written.run,
                written.batch_id,
                members=written.members,
                idle=written.idle,
                task_count=written.task_count,
                last=last,
            )
            self._producer = None  # until it is known how this ended
            with contextlib.suppress(Fenced):
                transactions.record(query_id, producer, decision)
                self._last = _apply(transactions, query_id, decision)
                self._producer = producer
                _abandon(transactions, leftovers)
                return
        raise TransactionLost(
            f"batch {written.batch_id} of query {query_id} could not be decided: another driver of the same query "
            f"keeps taking over. Stop one of them."
        )

    def _is_nothing(self, written: WrittenBatch) -> bool:
        """Say whether a batch needs no decision: it has no rows, and no id of a lost task could be used again."""
        if written.members:
            return False
        last = self.last_decision()
        if last is None:
            return True
        reused = last.reusable[: written.task_count] if last.run_id == written.run.run_id else ()
        return last.batch_id < written.batch_id and set(reused) <= set(written.idle)

    def _take_over(self) -> Producer:
        if self._producer is None:
            producer = self._transactions.begin(driver_id(self._query_id))
            self._last = self._transactions.last_decision(self._query_id, is_stable=True)
            self._producer = producer
        return self._producer


def commit(transactions: Transactions, written: WrittenBatch) -> None:
    """Commit a batch in a process that runs no other batch of its query."""
    BatchDecider(transactions, written.run.query_id).commit(written)
    # The tasks of the next batch read the decision, and must all read this one.
    transactions.last_decision(written.run.query_id, is_stable=True)


def abort(transactions: Transactions, written: WrittenBatch) -> None:
    """Abort a batch unless it is decided: Spark also calls this when `commit` failed halfway."""
    transactions.begin(written.run.driver_id)  # ends a decision that was being made, one way or the other
    last = transactions.last_decision(written.run.query_id, is_stable=True)
    if last is not None and last.batch_id >= written.batch_id:
        _finish_decided_batch(transactions, written, last)
    else:
        transactions.end(written.run, written.members, commit=False)


def abandon_run(transactions: Transactions, run: Run) -> None:
    """Abort the open transactions of a failed run, which will run no other batch."""
    open_ids = transactions.open_transactional_ids(run.query_id)
    _abandon(transactions, [each for each in open_ids if each.startswith(run.transactional_id_prefix)])


def _finish_decided_batch(transactions: Transactions, written: WrittenBatch, last: Decision) -> None:
    """Handle a batch that was decided before: abort the new transactions that are not in the decision."""
    is_own = last.batch_id == written.batch_id and last.run_id == written.run.run_id
    extra = [each for each in written.members if not (is_own and each in last.members)]
    if extra:
        transactions.end(written.run, extra, commit=False)
    if last.batch_id == written.batch_id:
        _apply(transactions, written.run.query_id, last)
    else:
        log.warning(
            "Skipped a batch because a later one is committed: the checkpoint may be an old copy. "
            "query=%s batch=%d committed_batch=%d",
            written.run.query_id,
            written.batch_id,
            last.batch_id,
        )


def _apply(transactions: Transactions, query_id: str, decision: Decision) -> Decision:
    if decision.is_applied:
        return decision  # its ids may be in use again, for the next batch of its run
    run = Run(query_id=query_id, run_id=decision.run_id)
    lost = transactions.end(run, decision.members, commit=True)
    if lost and _is_unapplied(transactions, query_id, decision):
        raise PartialCommit(
            f"batch {decision.batch_id} of query {query_id} was decided, but {len(lost)} of its "
            f"{len(decision.members)} transactions were aborted before they could be committed "
            f"({_examples(run, lost)}): the driver was away for longer than the transaction timeout. The rest of the "
            f"batch is visible. To write the whole batch again (the visible part then appears twice), start the query "
            f"once with the option delivery set to at-least-once; to prevent it, raise kafka.transaction.timeout.ms "
            f"(and transaction.max.timeout.ms of the brokers)."
        )
    if not lost:
        transactions.mark_applied(query_id, decision)
    return msgspec.structs.replace(decision, is_applied=not lost)


def _is_unapplied(transactions: Transactions, query_id: str, decision: Decision) -> bool:
    """Say whether no other driver has applied it meanwhile and reused its ids."""
    last = transactions.last_decision(query_id, is_stable=True)
    return last is not None and last.batch_id == decision.batch_id and not last.is_applied


def _check_all_open(transactions: Transactions, written: WrittenBatch) -> None:
    lost = transactions.find_lost(written.run, written.members)
    if lost:
        raise TransactionLost(
            f"batch {written.batch_id} of query {written.run.query_id} cannot be committed: {len(lost)} of its "
            f"{len(written.members)} transactions have been aborted ({_examples(written.run, lost)}), by their timeout "
            f"or by another attempt of the same task. Nothing of the batch is visible; when the query starts again, it "
            f"is written again. If its tasks take long, raise kafka.transaction.timeout.ms."
        )


def _abandon(transactions: Transactions, leftovers: Collection[str]) -> None:
    """Abort the open transactions of failed tasks, so that readers need not wait for their timeout."""
    for transactional_id in sorted(leftovers):
        log.info("Aborting a transaction that a failed task left open. transactional_id=%s", transactional_id)
        transactions.begin(transactional_id)


def _examples(run: Run, members: Sequence[Member]) -> str:
    names = [run.transactional_id(member.number) for member in members[:3]]
    return ", ".join(names) + (f" and {len(members) - 3} more" if len(members) > 3 else "")
