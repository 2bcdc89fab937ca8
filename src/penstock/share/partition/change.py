"""A change to the state of a share partition that is being written."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from penstock.share.state.merging import join_adjacent
from penstock.share.state.values import StateBatch

if TYPE_CHECKING:
    from penstock.share.partition.in_flight import Run


class Change(msgspec.Struct, eq=False):
    """A write for the persister. No other change touches its records until `commit` or `roll_back`.

    Without `batches` there is nothing to write, and neither method needs to be called. After either,
    `SharePartition.next_expiry_ms` may have changed.
    """

    _complete: "Callable[[Change, bool], bool]"
    batches: tuple[StateBatch, ...] = ()
    start_offset: int = 0
    delivery_complete_count: int = 0
    runs: "list[Run]" = msgspec.field(default_factory=list)
    """The records of the change, for `SharePartition` only."""

    def commit(self) -> bool:
        """Complete the change. Return whether more records can be acquired now: waiting fetches should try again."""
        return self._complete(self, True)

    def roll_back(self) -> bool:
        """Undo the change, which was not written. The next `expire` handles locks that have expired meanwhile."""
        return self._complete(self, False)


def state_batches(runs: "Iterable[Run]") -> tuple[StateBatch, ...]:
    """Return the state batches of ascending runs."""
    return tuple(
        join_adjacent(StateBatch(run.first, run.last, run.state, run.delivery_count) for run in runs)
    )
