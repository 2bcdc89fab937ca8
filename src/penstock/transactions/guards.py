"""Guards transactional records between the verification of their transaction and their append (KIP-890).

Verification takes time, and meanwhile the transaction may end: its marker revokes the guard, and the log refuses the
records instead of opening a transaction that would hang. A guard also remembers the lowest waiting sequence, so that a
later batch cannot overtake it while the first is retried.
"""

import asyncio

import msgspec

from penstock.storage.producers.state import ProducerStates
from penstock.transactions.state import Producer, TopicPartition

_GUARDS_MAX = 100_000  # producers may never retry, so the oldest guards are evicted


class Guard(msgspec.Struct, eq=False):
    """Permits the first batches of a transaction in a partition until it is revoked; see `TransactionPermit`."""

    epoch: int  # the producer's
    lowest_sequence: int
    leader_epoch: int
    is_revoked: bool = False
    last_admission: "asyncio.Future[None] | None" = None  # of the newest waiting request

    def is_valid(self, producers: ProducerStates) -> bool:  # noqa: ARG002  other permits use it
        return not self.is_revoked


class Guards:
    __slots__ = ("_guards",)

    def __init__(self) -> None:
        self._guards: dict[tuple[TopicPartition, int], Guard] = {}

    def __len__(self) -> int:
        return len(self._guards)

    def get(self, target: TopicPartition, producer_id: int) -> Guard | None:
        return self._guards.get((target, producer_id))

    def has_waiting(self, target: TopicPartition, producer_id: int) -> bool:
        """Whether an earlier request waits."""
        guard = self._guards.get((target, producer_id))
        return guard is not None and guard.last_admission is not None and not guard.last_admission.done()

    def get_or_add(
        self, target: TopicPartition, producer: Producer, sequence: int, leader_epoch: int
    ) -> Guard:
        """Return the guard of this producer and leader epoch. A newer epoch of either revokes the old guard."""
        key = target, producer.producer_id
        guard = self._guards.get(key)
        if guard is not None and (guard.epoch < producer.epoch or guard.leader_epoch != leader_epoch):
            self._revoke(key)
            guard = None
        if guard is None:
            if len(self._guards) >= _GUARDS_MAX:
                self._revoke(next(iter(self._guards)))
            guard = self._guards[key] = Guard(producer.epoch, sequence, leader_epoch)
        elif guard.epoch == producer.epoch:
            guard.lowest_sequence = min(guard.lowest_sequence, sequence)
        return guard

    def _revoke(self, key: tuple[TopicPartition, int]) -> None:
        self._guards.pop(key).is_revoked = True

    def drop(self, target: TopicPartition, producer_id: int, guard: Guard) -> None:
        """Remove this guard, unless another has replaced it."""
        if self._guards.get((target, producer_id)) is guard:
            self._revoke((target, producer_id))

    def revoke_ended(self, target: TopicPartition, producer_id: int, last_epoch: int) -> None:
        """Revoke the guard of a producer whose transactions up to this epoch have ended."""
        guard = self._guards.get((target, producer_id))
        if guard is not None and guard.epoch <= last_epoch:
            self._revoke((target, producer_id))
