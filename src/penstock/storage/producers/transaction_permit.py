"""The permission to append a transactional batch; it travels with the batch and is checked on append (KIP-890).

Between the moment a batch is admitted and the moment it is appended the broker may wait: for the transaction
coordinator, or for a thread that checks a large batch. The transaction may end in that time. A batch after its marker
would open a transaction that never ends, or join the next one, so the log accepts no transactional batch without a
permit that is still valid.
"""

from typing import Protocol

import msgspec

from penstock.storage.producers.state import ProducerStates


class TransactionPermit(Protocol):
    @property
    def leader_epoch(self) -> int:
        """The leader epoch in which the batch was admitted: another leader may have ended the transaction since."""
        ...

    def is_valid(self, producers: ProducerStates) -> bool:
        """Whether the transaction in which the batch was admitted is still open."""
        ...


class OpenTransaction(msgspec.Struct, frozen=True, gc=False):
    """Permits a batch of the transaction that a producer has open in a partition since `first_offset`."""

    producer_id: int
    first_offset: int
    leader_epoch: int

    def is_valid(self, producers: ProducerStates) -> bool:
        entry = producers.get(self.producer_id)
        return entry is not None and entry.transaction_first_offset == self.first_offset
