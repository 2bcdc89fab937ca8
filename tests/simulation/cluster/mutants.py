"""Old bugs, reintroduced one by one, to prove that simulated clusters notice them.

    python -m tests.simulation.cluster.mutants NAME... --seeds 0..500

Each mutant undoes one rule that keeps acknowledged records safe or aborted ones hidden (ADR 18). A mutant is caught
when a seed ends in one of the violations that it is expected to cause, and the same seed holds without it.
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

from penstock.cluster.commit import Commit
from penstock.cluster.controller import settings_review
from penstock.cluster.coordination.change import Change
from penstock.cluster.coordination.errors import CoordinatorError, client_error
from penstock.cluster.coordination.partition import CoordinatorPartition, InTransaction
from penstock.cluster.coordination.pending_batch import PendingBatch, size_of
from penstock.cluster.fetching.fetcher import Fetcher
from penstock.cluster.metadata.state import Partition
from penstock.cluster.replica import Replica
from penstock.protocol.messages.fetch import FetchResponse
from penstock.runtime.completion import Completion
from penstock.server.broker_apis import BROKER_APIS
from penstock.server.dispatch import route
from penstock.server.handlers import produce
from penstock.server.handlers.shared.produce_transactions import Pending, Verdicts, verdicts
from penstock.storage.errors import LogError
from penstock.storage.log.log import Log
from penstock.storage.log.values import Origin
from penstock.storage.producers import appends
from penstock_simulation.__main__ import parse_seeds
from penstock_simulation.cluster.checkers import strangers
from penstock_simulation.cluster.world import run_cluster
from penstock_simulation.violation import Violation

_LOST = frozenset(
    {
        "acknowledged",
        "leader completeness",
        "read",
        "order",
        "committed truncated",
        "leader truncated",
        "logs agree",
    }
)
_STRANGERS = frozenset({strangers.INVARIANT})


class Mutant(NamedTuple):
    """`expected` are the invariants of which at least one must be seen to be violated."""

    patches: Callable[[contextlib.ExitStack], None]
    expected: frozenset[str]


def _set(stack: contextlib.ExitStack, owner: Any, name: str, value: Any) -> None:
    stack.enter_context(patch.object(owner, name, value))


# -- 1: eligible leader replicas outlive a change of min.insync.replicas --------------------------------


def _keep_eligible_replicas(stack: contextlib.ExitStack) -> None:
    def may_commit(partition: Partition, min_insync_replicas: int) -> bool:
        return partition.has_min_isr(min_insync_replicas)

    _set(stack, Partition, "may_commit", may_commit)
    _set(stack, settings_review, "_clear_eligible", lambda _image, _config: [])


# -- 2: a transactional batch needs no permit when it is appended, or loses its place before --------------


def _append_without_permit(stack: contextlib.ExitStack) -> None:
    _set(stack, appends, "_require_permit", lambda *_: None)


def _start_the_next_request_before_the_append(stack: contextlib.ExitStack) -> None:
    _append_without_permit(stack)

    async def and_close(ctx: Any, request: Any, pending: Pending) -> Verdicts:
        found = await verdicts(ctx, request, pending)
        pending.admission.close()
        return found

    _set(stack, produce, "verdicts", and_close)


# -- 3: a coordinator appends in whatever epoch its replica is --------------------------------------------


def _append_to_a_follower(stack: contextlib.ExitStack) -> None:
    append = Replica.append

    def append_in_any_epoch(replica: Replica, records: Any, now_ms: int, **how: Any) -> Commit:
        if how.get("origin") is not Origin.COORDINATOR:
            return append(replica, records, now_ms, **how)
        commit = Commit(replica.leader_epoch, now_ms=now_ms, permit=how.get("permit"))
        commit.batches = replica.appends.appender(replica.log).prepare(records, now_ms, is_from_client=False)
        replica.appends._write([commit], replica.log)
        return commit

    _set(stack, Replica, "append", append_in_any_epoch)
    _set(stack, CoordinatorPartition, "leads", property(lambda each: not each._is_ended))


# -- 4: a follower acts on the answer of an earlier leader ----------------------------------------------------


def _follow_any_leader(stack: contextlib.ExitStack) -> None:
    _set(stack, Replica, "require_follower", lambda _replica, _leader_epoch: None)


def _apply_answers_to_the_present_entry(stack: contextlib.ExitStack) -> None:
    take = Fetcher._take

    async def apply_to_the_present_follower(fetcher: Fetcher, response: FetchResponse, _asking: Any) -> None:
        await take(fetcher, response, fetcher._followed)

    _set(stack, Fetcher, "_take", apply_to_the_present_follower)


# -- 5, 6: a coordinator's state is ahead of its log ------------------------------------------------------


def _write_a_transaction_in_parts(stack: contextlib.ExitStack) -> None:
    def write_in_parts(
        partition: CoordinatorPartition[Any], change: Change, transaction: InTransaction
    ) -> Completion[None]:
        size_bytes_max = partition._size_bytes_max
        written: Completion[None] | None = None
        refusal: LogError | None = None
        for record in change.records:
            batch = PendingBatch()
            batch.add([record], size_of(record), size_bytes_max)
            built = batch.build(
                partition._codec,
                size_bytes_max,
                producer_id=transaction.producer_id,
                producer_epoch=transaction.producer_epoch,
            )
            try:
                written = partition._append_now(built, lambda: None, transaction.permit)
            except LogError as error:
                refusal = error
        if written is None:
            assert refusal is not None
            raise CoordinatorError(client_error(refusal.code), str(refusal))
        change.apply()
        return written

    _set(stack, CoordinatorPartition, "write_in_transaction", write_in_parts)


def _change_state_before_the_write(stack: contextlib.ExitStack) -> None:
    submit = CoordinatorPartition.submit

    def apply_and_submit(partition: CoordinatorPartition[Any], change: Change) -> Completion[None]:
        change.apply()
        return submit(partition, Change(change.records, lambda: None))

    _set(stack, CoordinatorPartition, "submit", apply_and_submit)


# -- 7: the last stable offset ignores the log start ------------------------------------------------------


def _keep_the_stable_offset_below_the_start(stack: contextlib.ExitStack) -> None:
    unstable = property(lambda log: log.producers.first_unstable_offset)
    _set(stack, Log, "first_unstable_offset", unstable)


# -- broker-only APIs are served to every client -------------------------------------------------------------


def _open_to_strangers(*keys: int) -> Callable[[contextlib.ExitStack], None]:
    def open_to_strangers(stack: contextlib.ExitStack) -> None:
        left = {key: api for key, api in BROKER_APIS.items() if key not in keys}
        _set(stack, route, "BROKER_APIS", left)

    return open_to_strangers


MUTANTS: Mapping[str, Mutant] = {
    "1-eligible-replicas-kept": Mutant(_keep_eligible_replicas, _LOST),
    "2-append-without-permit": Mutant(_append_without_permit, frozenset({"no aborted read", "atomic"})),
    "2-next-request-before-the-append": Mutant(
        _start_the_next_request_before_the_append, frozenset({"pipelined order"})
    ),
    "3-coordinator-appends-as-follower": Mutant(_append_to_a_follower, _LOST | {"leader appends"}),
    "4a-leader-is-truncated": Mutant(_follow_any_leader, _LOST),
    "4b-truncation-of-an-earlier-following": Mutant(_apply_answers_to_the_present_entry, _LOST),
    "5-part-of-a-transaction-stored": Mutant(_write_a_transaction_in_parts, frozenset({"partial offsets"})),
    "6-refused-commit-visible": Mutant(_change_state_before_the_write, frozenset({"rejected offsets"})),
    "7-stable-offset-below-start": Mutant(
        _keep_the_stable_offset_below_the_start, frozenset({"last stable offset"})
    ),
    "strangers-fetch-as-brokers": Mutant(_open_to_strangers(1), _STRANGERS),
    "strangers-vote": Mutant(_open_to_strangers(52), _STRANGERS),
    "strangers-begin-epochs": Mutant(_open_to_strangers(53), _STRANGERS),
    "strangers-send-envelopes": Mutant(_open_to_strangers(58), _STRANGERS),
}


@contextlib.contextmanager
def mutated(name: str) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        MUTANTS[name].patches(stack)
        yield


def run_mutated(name: str, only: Sequence[str], seed: int) -> tuple[int, str | None]:
    """The violation of a seed under a mutant, if it is one that the mutant is expected to cause."""
    try:
        with mutated(name):
            run_cluster(seed, only=only)
    except Violation as violation:
        return seed, str(violation) if violation.invariant in MUTANTS[name].expected else None
    except Exception:  # a mutant may break anything
        return seed, None
    return seed, None


def catch(name: str, seeds: Sequence[int], jobs: int, only: Sequence[str] = ()) -> str | None:
    """The violation of the first seed that notices a mutant and passes without it; None if no seed does."""
    with ProcessPoolExecutor(jobs) as pool:
        for seed, violation in pool.map(partial(run_mutated, name, only), seeds):
            if violation is not None:
                pool.shutdown(wait=False, cancel_futures=True)
                run_cluster(seed, only=only)
                return f"seed {seed}: {violation}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.cluster.mutants")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MUTANTS))
    parser.add_argument("--seeds", type=parse_seeds, default=range(500), metavar="A..B")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", action="append", default=[], metavar="FAULT", help="let only this happen")
    given = parser.parse_args()
    missed = 0
    for name in given.names or MUTANTS:
        caught = catch(name, given.seeds, given.jobs, given.only)
        missed += caught is None
        print(f"{name}: {'caught by ' + caught if caught else 'NOT CAUGHT'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
