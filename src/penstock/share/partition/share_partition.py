"""One partition as one share group reads it: what its leader knows about the records that are in flight.

Records between the start offset and the end offset are in flight; those before are done with, those behind were never
given to anybody. The state of the records in flight is kept by ranges, see `in_flight.py`.
"""

from collections.abc import Sequence

from penstock.share.partition.change import Change
from penstock.share.partition.values import (
    Acknowledgement,
    Acquired,
    AcquireMode,
    OffsetRange,
    Refused,
    ShareSettings,
)
from penstock.share.values import ShareState


class SharePartition:
    """Not thread-safe. The caller sees to it that only one fetch at a time reads the log and acquires from it."""

    __slots__ = ("settings",)

    def __init__(self, state: ShareState, *, start_offset_if_new: int, settings: ShareSettings) -> None:
        """Begin with what the persister kept; `start_offset_if_new` counts only where that has no start offset yet.

        Raises `ValueError` if the state makes no sense (Kafka answers UNKNOWN_SERVER_ERROR to the fetch then).
        """
        self.settings = settings
        """May be replaced at any time."""

    @property
    def state_epoch(self) -> int:
        raise NotImplementedError

    @property
    def start_offset(self) -> int:
        raise NotImplementedError

    @property
    def end_offset(self) -> int:
        raise NotImplementedError

    @property
    def delivery_complete_count(self) -> int:
        """Of records behind the start offset that are acknowledged or archived."""
        raise NotImplementedError

    @property
    def in_flight_count(self) -> int:
        """Of records between the start and the end offset, whatever their state (metrics)."""
        raise NotImplementedError

    @property
    def next_fetch_offset(self) -> int:
        """Where the log must be read to find records that can be acquired."""
        raise NotImplementedError

    @property
    def can_acquire(self) -> bool:
        """False while as many records are in flight as may be and none of them is available."""
        raise NotImplementedError

    @property
    def next_expiry_ms(self) -> int | None:
        """The earliest moment at which a lock may expire: `expire` has nothing to do before. May be too early.

        To be looked at after every call that changes something.
        """
        raise NotImplementedError

    def acquire(
        self,
        member_id: str,
        *,
        fetch_offset: int,
        batches: Sequence[OffsetRange],
        records_max: int,
        batch_size: int,
        now_ms: int,
        mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED,
        aborted: Sequence[OffsetRange] = (),
    ) -> list[Acquired]:
        """Lock records for this member, in ascending order of their offsets.

        `batches` are the record batches that were read from the log at `fetch_offset`, all of them, control batches
        too, first batch whole even if it begins before `fetch_offset`. `aborted` are those of them that belong to
        aborted transactions (`aborted_ranges`; empty for groups that read uncommitted records): they are archived.
        In batch-optimized mode more than `records_max` may be given. What is given may have holes, and the
        records answered with it may be cut to the batches from the first to the last offset given.
        """
        raise NotImplementedError

    def acknowledge(
        self, member_id: str, acknowledgements: Sequence[Acknowledgement], now_ms: int
    ) -> Change | Refused:
        """Take a member's acknowledgements, all or none. Renewals take effect at once and are not written.

        The caller has checked that each has one type or as many types as offsets, and ascending offsets.
        """
        raise NotImplementedError

    def release(self, member_id: str) -> Change:
        """Give back all that this member holds: its session was closed, or it left the group."""
        raise NotImplementedError

    def expire(self, now_ms: int) -> Change:
        """Take records back whose lock has expired; at once, `roll_back` of this change does not return the locks."""
        raise NotImplementedError

    def log_start_moved(self, log_start_offset: int) -> None:
        """Records before this offset are deleted (a fetch was out of range). There is nothing to write."""
        raise NotImplementedError
