"""Why a transactional batch may be appended; it travels with the batch and is checked where that is appended (KIP-890).

Between the moment a batch is let in and the moment it is appended the broker may wait: for the transaction's
coordinator, for a thread that checks a large batch. The transaction may end in that time. A batch behind its marker
would open a transaction that nobody ends, or join the next one, so the log takes no transactional batch without a
permit that is still valid.
"""

from typing import Protocol

import msgspec

from penstock.storage.producers.state import ProducerStates


class TransactionPermit(Protocol):
    @property
    def leader_epoch(self) -> int:
        """The leader epoch in which the batch was let in: another leader may have ended the transaction since."""
        ...

    def is_valid(self, producers: ProducerStates) -> bool:
        """Whether the transaction goes on in which the batch was let in."""
        ...


class OpenTransaction(msgspec.Struct, frozen=True, gc=False):
    """Permits a batch of the transaction that a producer has open in a partition since `first_offset`."""

    producer_id: int
    first_offset: int
    leader_epoch: int

    def is_valid(self, producers: ProducerStates) -> bool:
        entry = producers.get(self.producer_id)
        return entry is not None and entry.transaction_first_offset == self.first_offset
