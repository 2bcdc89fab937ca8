"""What a partition remembers of a transactional producer between asking about its transaction and taking its records.

Asking takes time, and in that time the transaction may end: a guard that is gone when the answer comes says so, and the
records are refused instead of opening a transaction that nobody would ever end (KIP-890). A guard also remembers the
lowest sequence that was held up, so that no later batch gets ahead of it while the first is tried again.
"""

import asyncio

from penstock.transactions.state import Producer, TopicPartition

_GUARDS_MAX = 100_000  # of producers that never came back; the oldest make room


class Guard:
    __slots__ = ("epoch", "last_admission", "lowest_sequence")

    def __init__(self, epoch: int, lowest_sequence: int) -> None:
        self.epoch = epoch
        self.lowest_sequence = lowest_sequence
        self.last_admission: asyncio.Future[None] | None = None  # of the newest request that waits here

    def note(self, epoch: int, sequence: int) -> None:
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


class Guards:
    __slots__ = ("_guards",)

    def __init__(self) -> None:
        self._guards: dict[tuple[TopicPartition, int], Guard] = {}

    def __len__(self) -> int:
        return len(self._guards)

    def get(self, target: TopicPartition, producer_id: int) -> Guard | None:
        return self._guards.get((target, producer_id))

    def is_waited_at(self, target: TopicPartition, producer_id: int) -> bool:
        """Whether an earlier request is still on its way in."""
        guard = self._guards.get((target, producer_id))
        return guard is not None and guard.last_admission is not None and not guard.last_admission.done()

    def raise_for(self, target: TopicPartition, producer: Producer, sequence: int) -> Guard:
        key = target, producer.producer_id
        guard = self._guards.get(key)
        if guard is None:
            if len(self._guards) >= _GUARDS_MAX:
                del self._guards[next(iter(self._guards))]
            guard = self._guards[key] = Guard(producer.epoch, sequence)
        else:
            guard.note(producer.epoch, sequence)
        return guard

    def drop(self, target: TopicPartition, producer_id: int, guard: Guard) -> None:
        """Forget this guard, unless another has taken its place."""
        if self._guards.get((target, producer_id)) is guard:
            del self._guards[target, producer_id]

    def forget_ended(self, target: TopicPartition, producer_id: int, last_epoch: int) -> None:
        """The transactions of a producer up to this epoch have ended; one that begins behind them goes on."""
        guard = self._guards.get((target, producer_id))
        if guard is not None and guard.epoch <= last_epoch:
            del self._guards[target, producer_id]
