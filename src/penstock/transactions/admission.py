"""Admits transactional records to the partitions that this broker leads (KIP-890).

While a transaction is open in a partition its records are appended at once. The first ones wait until the coordinator
has verified that the partition is part of the transaction or, with transaction version 2, has added it. Requests for
one partition keep their order: each waits for the one before it. A batch is appended with a permit, which is invalid
once the transaction has ended.
"""

import asyncio
import enum
from collections.abc import Collection, Sequence
from typing import Protocol

from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.storage.producers.transaction_permit import OpenTransaction, TransactionPermit
from penstock.transactions.guards import Guard, Guards
from penstock.transactions.state import Producer, TopicPartition

PRODUCE_ADDS_FROM = 12
"""The first version of Produce that adds its partitions to the transaction."""
_PRODUCE_ABORTABLE_FROM = 11

_RETRIABLE = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NETWORK_EXCEPTION,
)


Verdict = ErrorCode | TransactionPermit
"""The error of a batch, or its permit."""


class CoordinatorRequest(enum.Enum):
    """The request to the coordinator before the first batch of a transaction in a partition."""

    ADD = enum.auto()
    VERIFY = enum.auto()
    NONE = enum.auto()  # `transaction.partition.verification.enable` is off

    @classmethod
    def for_request(cls, *, adds: bool, verifies: bool) -> "CoordinatorRequest":
        if adds:
            return cls.ADD
        return cls.VERIFY if verifies else cls.NONE


class Verifier(Protocol):
    """A transaction coordinator, here or elsewhere."""

    async def verify(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]: ...

    async def add_partitions(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> ErrorCode: ...


class Admission:
    """The admission of one request: await `outcome`, append with its permits, then `close`."""

    __slots__ = ("_before", "_codes", "_done", "_guards", "_held", "_leaders", "_producer")

    def __init__(self, guards: Guards, producer: Producer, firsts: Sequence[tuple[Replica, int]]) -> None:
        """`firsts` are the partitions, each with the first sequence of its records."""
        self._guards = guards
        self._producer = producer
        self._leaders: dict[TopicPartition, Replica] = {}
        self._held: dict[TopicPartition, tuple[Guard, int]] = {}
        self._codes: dict[TopicPartition, ErrorCode] = {}
        self._before: list[asyncio.Future[None]] = []
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for leader, sequence in firsts:
            target = TopicPartition(leader.topic, leader.partition)
            self._leaders[target] = leader
            guard = guards.get_or_add(target, producer, sequence, leader.leader_epoch)
            before = guard.last_admission
            if (
                before is not None and before is not self._done
            ):  # its own if the request names a partition twice
                self._before.append(before)
            guard.last_admission = self._done
            self._held.setdefault(target, (guard, sequence))

    async def outcome(
        self, verifier: Verifier, transactional_id: str, coordinator_request: CoordinatorRequest
    ) -> dict[Replica, Verdict]:
        """Return the verdict on each partition, once the coordinator has answered and earlier requests are done.

        It applies to the replica at the time of the request: a topic that is created again has other replicas.
        """
        targets = list(self._held)
        if coordinator_request is CoordinatorRequest.ADD:
            code = await verifier.add_partitions(transactional_id, self._producer, targets)
            self._codes = dict.fromkeys(targets, code)
        elif coordinator_request is CoordinatorRequest.VERIFY:
            self._codes = await verifier.verify(transactional_id, self._producer, targets)
        else:
            self._codes = dict.fromkeys(targets, ErrorCode.NONE)
        if self._before:
            await asyncio.wait(self._before)
        for target, (guard, sequence) in self._held.items():
            if not self._codes[target]:
                self._codes[target] = self._check(
                    target, guard, sequence, is_new=coordinator_request is CoordinatorRequest.ADD
                )
        return {
            self._leaders[target]: self._codes[target] or guard for target, (guard, _) in self._held.items()
        }

    def _check(self, target: TopicPartition, guard: Guard, sequence: int, *, is_new: bool) -> ErrorCode:
        if guard.is_revoked:
            return ErrorCode.INVALID_TXN_STATE
        if self._is_open(target):  # by an earlier request: the log checks the sequences
            return ErrorCode.NONE
        if guard.epoch == self._producer.epoch and sequence > guard.lowest_sequence:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if (
            is_new
            and sequence > 0
            and self._leaders[target].log.producers.get(self._producer.producer_id) is None
        ):
            # With transaction version 2 every transaction has its own epoch, whose sequences start at 0.
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return ErrorCode.NONE

    def _is_open(self, target: TopicPartition) -> bool:
        return self._leaders[target].log.producers.has_open_transaction(*self._producer)

    def close(self) -> None:
        """Let the next request continue. A guard stays if other requests wait or the client will retry."""
        for target, (guard, _) in self._held.items():
            is_last = guard.last_admission is self._done
            will_retry = self._codes.get(target) in (*_RETRIABLE, ErrorCode.CONCURRENT_TRANSACTIONS)
            if is_last and (self._is_open(target) or not will_retry):
                self._guards.drop(target, self._producer.producer_id, guard)
        if not self._done.done():
            self._done.set_result(None)


class Admissions:
    """Admits the requests of Produce and TxnOffsetCommit."""

    __slots__ = ("_guards", "verifier")

    def __init__(self, guards: Guards, verifier: Verifier) -> None:
        self._guards = guards
        self.verifier = verifier

    def permit(self, leader: Replica, producer: Producer) -> TransactionPermit | None:
        """Return the permit of a batch whose transaction is open here, unless an earlier batch waits."""
        entry = leader.log.producers.get(producer.producer_id)
        if (
            entry is None
            or entry.transaction_first_offset is None
            or entry.producer_epoch != producer.epoch
            or self._guards.has_waiting(TopicPartition(leader.topic, leader.partition), producer.producer_id)
        ):
            return None
        return OpenTransaction(producer.producer_id, entry.transaction_first_offset, leader.leader_epoch)

    def enter(self, producer: Producer, firsts: Sequence[tuple[Replica, int]]) -> Admission:
        """Enter the order of requests. The caller must call `Admission.close` in any case."""
        return Admission(self._guards, producer, firsts)


def produce_error(code: ErrorCode, version: int) -> ErrorCode:
    """Translate a coordinator's error for this version of Produce."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < _PRODUCE_ABORTABLE_FROM:
        return ErrorCode.INVALID_TXN_STATE
    if code is ErrorCode.CONCURRENT_TRANSACTIONS and version >= PRODUCE_ADDS_FROM:
        return code
    if code in _RETRIABLE or code is ErrorCode.CONCURRENT_TRANSACTIONS:
        return ErrorCode.NOT_ENOUGH_REPLICAS  # every producer retries this error
    return code
