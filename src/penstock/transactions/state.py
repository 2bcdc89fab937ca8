"""The state of one transactional id, and the decisions about it: values in, values out.

No clock, no log, no event loop: the caller passes the time, stores the state of a decision, and responds when it is
stored. The rules are Kafka's (KIP-98, KIP-360, KIP-588, KIP-890). A decision may need a new producer id: the caller
then calls again with one.

There are two versions of the protocol. In the first a producer keeps its epoch from one transaction to the next. In the
second (transaction version 2, KIP-890) every end raises the epoch, so that no record of an ended transaction can get
into the next one, and a repeated EndTxn is recognized by its epoch.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.transactions.states import TRANSITIONS, Event, State

NO_PRODUCER_ID = -1
NO_EPOCH = -1
EPOCH_MAX = 32_766
"""The last epoch that a producer may get: one more is reserved, so that it can always be fenced."""
TRANSACTION_VERSION_2 = 2


class TopicPartition(NamedTuple):
    topic: str
    partition: int


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the partition numbers of each topic, both in their order."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return topics


class Producer(NamedTuple):
    producer_id: int
    epoch: int


class Transaction(msgspec.Struct, frozen=True, kw_only=True):
    """The last decision about a transactional id; `producer_id` and `producer_epoch` identify its producer."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    updated_ms: int
    state: State = State.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    started_ms: int = -1
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID  # replaces `producer_id` at the end, when its epochs are exhausted
    last_producer_epoch: int = NO_EPOCH  # not in the log: the previous epoch, to recognize a retry
    client_version: int = 0

    @property
    def raises_epochs(self) -> bool:
        """Whether its last end raised the epoch (transaction version 2)."""
        return self.client_version >= TRANSACTION_VERSION_2

    @property
    def is_epoch_exhausted(self) -> bool:
        return self.producer_epoch >= EPOCH_MAX

    def moved(self, event: Event, now_ms: int, **changes: object) -> "Transaction":
        """Return the next state. A KeyError is a bug: the table has no such transition."""
        return msgspec.structs.replace(
            self, state=TRANSITIONS[self.state][event], updated_ms=now_ms, **changes
        )


class Decision(msgspec.Struct, frozen=True):
    """The caller stores `after`, and then responds with `error`. Without `after` nothing changes."""

    error: ErrorCode = ErrorCode.NONE
    after: Transaction | None = None
    needs_producer_id: bool = False


_NEEDS_PRODUCER_ID = Decision(needs_producer_id=True)
_CONCURRENT = Decision(ErrorCode.CONCURRENT_TRANSACTIONS)
_FENCED = Decision(ErrorCode.PRODUCER_FENCED)
_UNKNOWN_PRODUCER = Decision(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
_INVALID_STATE = Decision(ErrorCode.INVALID_TXN_STATE)


# -- initializing a producer ------------------------------------------------------------------------------


def init_producer(
    before: Transaction | None,
    transactional_id: str,
    *,
    timeout_ms: int,
    expected: Producer | None,
    now_ms: int,
    new_producer_id: int | None = None,
) -> Decision:
    """Give the id to a producer. Fences the previous one, after its open transaction is aborted.

    `expected` is a producer that continues after an error (KIP-360): it must be the current one.
    """
    if before is None:
        if new_producer_id is None:
            return _NEEDS_PRODUCER_ID
        return Decision(
            after=Transaction(
                transactional_id=transactional_id,
                producer_id=new_producer_id,
                producer_epoch=0,
                timeout_ms=timeout_ms,
                updated_ms=now_ms,
            )
        )
    if expected is not None and not _may_continue(before, expected):
        return _FENCED
    if before.state is State.ONGOING:
        return Decision(ErrorCode.CONCURRENT_TRANSACTIONS, fence(before, now_ms=now_ms))
    if not before.state.is_idle:
        return _CONCURRENT
    return _next_producer(before, timeout_ms, expected, now_ms, new_producer_id)


def _may_continue(before: Transaction, expected: Producer) -> bool:
    if expected.producer_id == before.producer_id:
        return True  # `_next_producer` checks its epoch
    # The response with the new id may have been lost.
    return expected.producer_id == before.previous_producer_id and expected.epoch >= EPOCH_MAX


def _next_producer(
    before: Transaction, timeout_ms: int, expected: Producer | None, now_ms: int, new_producer_id: int | None
) -> Decision:
    epoch = before.producer_epoch
    producer_id, next_epoch, last_epoch = before.producer_id, epoch + 1, NO_EPOCH
    if before.is_epoch_exhausted and (expected is None or expected.epoch == epoch):
        if new_producer_id is None:
            return _NEEDS_PRODUCER_ID
        producer_id, next_epoch = new_producer_id, 0
        last_epoch = NO_EPOCH if expected is None else epoch
    elif expected is not None:
        if expected.epoch == epoch:
            last_epoch = epoch
        elif expected.epoch == before.last_producer_epoch:
            next_epoch, last_epoch = epoch, before.last_producer_epoch  # the same request again
        else:
            return _FENCED
    return Decision(
        after=before.moved(
            Event.INITIALIZED,
            now_ms,
            producer_id=producer_id,
            previous_producer_id=before.producer_id,
            next_producer_id=NO_PRODUCER_ID,
            producer_epoch=next_epoch,
            last_producer_epoch=last_epoch,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            started_ms=-1,
            client_version=0,
        )
    )


def fence(before: Transaction, *, now_ms: int) -> Transaction:
    """Abort an open transaction and fence its producer, which does not get the new epoch.

    The new epoch also distinguishes the markers from the producer's records.
    """
    fenced = before.moved(
        Event.FENCED,
        now_ms,
        producer_epoch=before.producer_epoch + 1,
        last_producer_epoch=NO_EPOCH,
        client_version=0,
    )
    return fenced.moved(Event.ABORTED, now_ms)


# -- adding partitions ------------------------------------------------------------------------------------


def _refuse(before: Transaction | None, producer: Producer) -> Decision | None:
    """Return the error of a request that does not come from the producer of an open transaction."""
    if before is None or before.producer_id != producer.producer_id:
        # A producer that just got a new id, because its epochs were exhausted, may be faster than its markers.
        if before is not None and before.next_producer_id == producer.producer_id != NO_PRODUCER_ID:
            return _CONCURRENT
        return _UNKNOWN_PRODUCER
    if before.producer_epoch != producer.epoch:
        return _FENCED
    return _CONCURRENT if before.state.is_prepared else None


def add_partitions(
    before: Transaction | None, producer: Producer, partitions: Collection[TopicPartition], *, now_ms: int
) -> Decision:
    """Add partitions to the transaction; the first ones begin it."""
    refusal = _refuse(before, producer)
    if refusal is not None:
        return refusal
    assert before is not None
    is_begun = before.state is State.ONGOING
    if is_begun and before.partitions.issuperset(partitions):
        return Decision()
    return Decision(
        after=before.moved(
            Event.PARTITIONS_ADDED,
            now_ms,
            partitions=before.partitions.union(partitions),
            started_ms=before.started_ms if is_begun else now_ms,
            client_version=0,
        )
    )


def verify(
    before: Transaction | None, producer: Producer, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """Check for each partition whether it is part of the producer's transaction (KIP-890)."""
    refusal = _refuse(before, producer)
    if refusal is not None:
        return dict.fromkeys(partitions, refusal.error)
    assert before is not None
    return {
        each: ErrorCode.NONE if each in before.partitions else ErrorCode.TRANSACTION_ABORTABLE
        for each in partitions
    }


# -- ending a transaction ---------------------------------------------------------------------------------


def end(
    before: Transaction | None,
    producer: Producer,
    *,
    commit: bool,
    client_version: int,
    now_ms: int,
    new_producer_id: int | None = None,
) -> Decision:
    """Commit or abort a transaction. A retry gets the same result."""
    if before is None:
        return _UNKNOWN_PRODUCER
    is_retry = before.raises_epochs and _is_retry_of_end(before, producer)
    if before.producer_id != producer.producer_id and not is_retry:
        return _refuse(before, producer) or _UNKNOWN_PRODUCER
    if before.producer_epoch != producer.epoch and not is_retry:
        return _FENCED
    if before.state.is_prepared and before.raises_epochs and not is_retry:
        return _CONCURRENT  # it has its new epoch, and ends its next transaction too early
    wanted = State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT
    if before.state.is_prepared:
        prepared = State.PREPARE_COMMIT if commit else State.PREPARE_ABORT
        return _CONCURRENT if before.state is prepared else _INVALID_STATE
    is_version_2 = client_version >= TRANSACTION_VERSION_2
    if before.state is not State.ONGOING:
        # In version 1 a retry cannot be told from a producer that ends a transaction without beginning one.
        if before.state is wanted and (is_retry or not is_version_2):
            return Decision()
        if commit or is_retry or not is_version_2:
            return _INVALID_STATE
    if is_version_2 and before.is_epoch_exhausted and new_producer_id is None:
        return _NEEDS_PRODUCER_ID
    return Decision(after=_ended(before, commit, client_version, now_ms, new_producer_id))


def _is_retry_of_end(before: Transaction, producer: Producer) -> bool:
    """KIP-890: the epoch before the current one belongs to the transaction that ended last."""
    if before.state is State.ONGOING or before.state is State.EMPTY:
        return False
    if producer.producer_id == before.producer_id:
        return producer.epoch + 1 == before.producer_epoch
    is_previous = producer.producer_id == before.previous_producer_id and not before.state.is_prepared
    return is_previous and producer.epoch == EPOCH_MAX and before.producer_epoch == 0


def _ended(
    before: Transaction, commit: bool, client_version: int, now_ms: int, new_producer_id: int | None
) -> Transaction:
    is_version_2 = client_version >= TRANSACTION_VERSION_2
    is_exhausted = is_version_2 and before.is_epoch_exhausted
    return before.moved(
        Event.COMMITTED if commit else Event.ABORTED,
        now_ms,
        started_ms=before.started_ms if before.state is State.ONGOING else now_ms,
        producer_epoch=before.producer_epoch + 1 if is_version_2 else before.producer_epoch,
        last_producer_epoch=before.producer_epoch if is_version_2 else before.last_producer_epoch,
        next_producer_id=new_producer_id if is_exhausted else NO_PRODUCER_ID,
        client_version=client_version,
    )


def producer_after_end(after: Transaction) -> Producer:
    """Return the producer id and epoch for the next transaction (EndTxn v5)."""
    if after.next_producer_id != NO_PRODUCER_ID:
        return Producer(after.next_producer_id, 0)
    return Producer(after.producer_id, after.producer_epoch)


def complete(before: Transaction, *, now_ms: int) -> Transaction:
    """Complete a transaction whose partitions all have their marker."""
    is_rotated = before.next_producer_id != NO_PRODUCER_ID
    return before.moved(
        Event.MARKERS_WRITTEN,
        now_ms,
        producer_id=before.next_producer_id if is_rotated else before.producer_id,
        producer_epoch=0 if is_rotated else before.producer_epoch,
        previous_producer_id=before.producer_id if before.raises_epochs else before.previous_producer_id,
        last_producer_epoch=before.producer_epoch if is_rotated else before.last_producer_epoch,
        next_producer_id=NO_PRODUCER_ID,
        partitions=frozenset(),
    )


# -- timeouts ---------------------------------------------------------------------------------------------


def is_timed_out(transaction: Transaction, now_ms: int) -> bool:
    return transaction.state is State.ONGOING and transaction.started_ms + transaction.timeout_ms < now_ms


def is_expired(transaction: Transaction, now_ms: int, expiration_ms: int) -> bool:
    return transaction.state.is_idle and transaction.updated_ms + expiration_ms <= now_ms
