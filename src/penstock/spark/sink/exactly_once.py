"""How a batch that many tasks wrote becomes visible once, whoever dies when (docs/adr/0006-exactly-once-topics.md).

Every task writes in a transaction of its own and leaves it open. The driver then decides: in a transaction of the
query's own id it commits, as an offset of the query's group, the batch and the list of its transactions. Ending that
one is the decision, whole or not at all; what follows only carries it out, and can be repeated by anybody.

    driver    lists what is open, takes its own id (which fences every other driver), reads the last decision
    decided   -> it was this batch or a later one: what is decided is carried out, what was written anew is aborted
    undecided -> checks that every transaction still stands, decides, commits each, aborts what it found left over

Nothing here knows sockets: `Transactions` is what is asked of brokers.
"""

import logging
from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from penstock.spark.sink.decision import Decision, Member, decide, number_for
from penstock.spark.sink.errors import DecisionBroken, Fenced, TransactionLost
from penstock.spark.sink.identity import Run, Task

log = logging.getLogger(__name__)

_FENCED_MAX = 20  # another driver of the same query would have to start as often during one commit


class Transactions(Protocol):
    """What brokers do. Whatever passes is retried underneath; an exception means that it did not."""

    def begin(self, transactional_id: str) -> tuple[int, int]:
        """Take over an id: producer id and epoch. Its open transaction is aborted, its producer fenced."""
        ...

    def last_decision(self, query_id: str, *, is_settled: bool) -> Decision | None:
        """The last one committed; when it is to be settled, after the end of one that is being made."""
        ...

    def record(self, query_id: str, producer: tuple[int, int], decision: Decision) -> None:
        """Commit a decision as the driver that `begin` made. Raises `Fenced` when there is a newer driver."""
        ...

    def mark_carried_out(self, query_id: str, decision: Decision) -> None:
        """Note that every transaction of a decision is committed, for whoever reads it next."""
        ...

    def end(self, run: Run, members: Sequence[Member], *, commit: bool) -> list[Member]:
        """End transactions, or find them ended in the same way; gives back those that ended otherwise."""
        ...

    def broken(self, run: Run, members: Sequence[Member]) -> list[Member]:
        """Those that are not open any more, or not of these producers."""
        ...

    def open_ids(self, query_id: str) -> list[str]:
        """The transactional ids of a query's tasks, of all its runs, that have an open transaction."""
        ...


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What the tasks of one batch have written: a message of each."""

    run: Run
    batch_id: int
    members: tuple[Member, ...] = ()
    idle: tuple[int, ...] = ()
    task_count: int = 0


def claim(transactions: Transactions, task: Task) -> int | None:
    """The number of the transactional id that a task is to write with; None: its batch is decided, nothing to write.

    A decision that is just being made need not be waited for: `commit` looks again.
    """
    last = transactions.last_decision(task.run.query_id, is_settled=False)
    if last is not None and last.batch_id >= task.batch_id:
        return None
    return number_for(task, last)


def commit(transactions: Transactions, written: Written) -> None:
    """Make a batch visible, once. Returns when all of it is decided and on its way to readers."""
    query_id = written.run.query_id
    own_ids = {written.run.transactional_id(member.number) for member in written.members}
    # Listed before anything is decided: a transaction of the next batch cannot be among them, because no driver
    # starts the next batch before this one is decided. So what is not in the decision will never be in any.
    leftovers = set(transactions.open_ids(query_id)) - own_ids
    for _ in range(_FENCED_MAX):
        driver = transactions.begin(written.run.driver_id)
        last = transactions.last_decision(query_id, is_settled=True)
        if last is not None and last.batch_id >= written.batch_id:
            _settle(transactions, written, last)
            return
        _check(transactions, written)
        decision = decide(
            written.run,
            written.batch_id,
            members=written.members,
            idle=written.idle,
            task_count=written.task_count,
            last=last,
        )
        try:
            transactions.record(query_id, driver, decision)
        except Fenced:
            continue
        _carry_out(transactions, query_id, decision)
        _abandon(transactions, leftovers)
        # The tasks of the next batch read the decision, and must all read this one.
        transactions.last_decision(query_id, is_settled=True)
        return
    raise TransactionLost(
        f"batch {written.batch_id} of query {query_id} could not be decided: another driver of the same query keeps "
        f"taking over. Stop one of them."
    )


def abort(transactions: Transactions, written: Written) -> None:
    """Undo a batch, unless it is decided: Spark also asks for this when `commit` failed half-way."""
    transactions.begin(written.run.driver_id)  # ends a decision that was being made, one way or the other
    last = transactions.last_decision(written.run.query_id, is_settled=True)
    if last is not None and last.batch_id >= written.batch_id:
        _settle(transactions, written, last)
    else:
        transactions.end(written.run, written.members, commit=False)


def abandon_run(transactions: Transactions, run: Run) -> None:
    """Abort whatever the tasks of a run left open that failed; it will run no other batch."""
    open_ids = transactions.open_ids(run.query_id)
    _abandon(transactions, [each for each in open_ids if each.startswith(run.transactional_id_prefix)])


def _settle(transactions: Transactions, written: Written, last: Decision) -> None:
    """A batch that was decided before: of what was written now, only what is in the decision may stand."""
    is_own = last.batch_id == written.batch_id and last.run_id == written.run.run_id
    superfluous = [each for each in written.members if not (is_own and each in last.members)]
    if superfluous:
        transactions.end(written.run, superfluous, commit=False)
    if last.batch_id == written.batch_id:
        _carry_out(transactions, written.run.query_id, last)
    else:
        log.warning(
            "batch %d of query %s was written before batch %d and is skipped: is this an old checkpoint?",
            written.batch_id,
            written.run.query_id,
            last.batch_id,
        )


def _carry_out(transactions: Transactions, query_id: str, decision: Decision) -> None:
    if decision.is_carried_out:
        return  # its ids may be in use again, for the next batch of its run
    run = Run(query_id=query_id, run_id=decision.run_id)
    lost = transactions.end(run, decision.members, commit=True)
    if lost and _is_pending(transactions, query_id, decision):
        raise DecisionBroken(
            f"batch {decision.batch_id} of query {query_id} was decided, but {len(lost)} of its "
            f"{len(decision.members)} transactions were aborted before they could be committed "
            f"({_some(run, lost)}): the driver was away for longer than the transaction timeout. The rest of the batch "
            f"is visible. To write the whole batch again (the visible part then appears twice), start the query once "
            f"with the option delivery set to at-least-once; to prevent it, raise kafka.transaction.timeout.ms (and "
            f"transaction.max.timeout.ms of the brokers)."
        )
    if not lost:
        transactions.mark_carried_out(query_id, decision)


def _is_pending(transactions: Transactions, query_id: str, decision: Decision) -> bool:
    """Whether nobody else has carried it out meanwhile, and gone on with its ids."""
    last = transactions.last_decision(query_id, is_settled=True)
    return last is not None and last.batch_id == decision.batch_id and not last.is_carried_out


def _check(transactions: Transactions, written: Written) -> None:
    """Nothing is decided that can no longer be carried out."""
    broken = transactions.broken(written.run, written.members)
    if broken:
        raise TransactionLost(
            f"batch {written.batch_id} of query {written.run.query_id} cannot be committed: {len(broken)} of its "
            f"{len(written.members)} transactions have been aborted ({_some(written.run, broken)}), by their timeout "
            f"or by another attempt of the same task. Nothing of the batch is visible; when the query starts again, it "
            f"is written again. If its tasks take long, raise kafka.transaction.timeout.ms."
        )


def _abandon(transactions: Transactions, leftovers: Collection[str]) -> None:
    """Abort what tasks that failed or died left open, so that readers need not wait for its timeout."""
    for transactional_id in sorted(leftovers):
        log.info("aborting %s, which its task left open", transactional_id)
        transactions.begin(transactional_id)


def _some(run: Run, members: Sequence[Member]) -> str:
    names = [run.transactional_id(member.number) for member in members[:3]]
    return ", ".join(names) + (f" and {len(members) - 3} more" if len(members) > 3 else "")
