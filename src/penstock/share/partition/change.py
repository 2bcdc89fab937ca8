"""A change to the state of a share partition that is not yet known to be written."""

from typing import Protocol

from penstock.share.values import StateBatch


class Change(Protocol):
    """What the persister has to write. Until `commit` or `roll_back`, nobody else changes the records in it.

    Where `batches` is empty there is nothing to write, and neither method needs to be called.
    After either, look at `SharePartition.next_expiry_ms` again, and at the fetches that wait for records.
    """

    batches: tuple[StateBatch, ...]
    start_offset: int
    delivery_complete_count: int

    def commit(self) -> bool:
        """It is written. True if records became available or the start offset moved: waiting fetches may go on."""
        ...

    def roll_back(self) -> bool:
        """It could not be written: the records are as before, locks that expired meanwhile go with the next expiry."""
        ...
