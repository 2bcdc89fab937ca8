"""All that one partition of `__share_group_state` adds up to."""

from penstock.protocol.records.record import Record


class ShareStateShard:
    __slots__ = ()

    def replay(self, record: Record, producer_id: int) -> None:
        """Take in one record."""

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """No transactions are written here."""
