"""A change to the state of a share partition that is not yet known to be written."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from penstock.share.values import StateBatch

if TYPE_CHECKING:
    from penstock.share.partition.in_flight import Run


class Change:
    """What the persister has to write. Until `commit` or `roll_back`, nobody else changes the records in it.

    Where `batches` is empty there is nothing to write, and neither method needs to be called.
    After either, look at `SharePartition.next_expiry_ms` again.
    """

    __slots__ = ("_settle", "batches", "delivery_complete_count", "runs", "start_offset")

    def __init__(self, settle: "Callable[[Change, bool], bool]") -> None:
        self._settle = settle
        self.batches: tuple[StateBatch, ...] = ()
        self.start_offset = 0
        self.delivery_complete_count = 0
        self.runs: list[Run] = []
        """The records that wait for the outcome (the business of `SharePartition` only)."""

    def commit(self) -> bool:
        """It is written. True if records can be acquired that could not before: fetches that wait should look again."""
        return self._settle(self, True)

    def roll_back(self) -> bool:
        """It was not written: its records are as they were. Locks that ran out meanwhile go with the next `expire`."""
        return self._settle(self, False)


def state_batches(runs: "Iterable[Run]") -> tuple[StateBatch, ...]:
    """What to write for these runs, which are in ascending order: neighbours with the same state as one."""
    batches: list[StateBatch] = []
    for run in runs:
        before = batches[-1] if batches else None
        if (
            before is not None
            and before.last_offset + 1 == run.first
            and before.state is run.state
            and before.delivery_count == run.delivery_count
        ):
            batches[-1] = before._replace(last_offset=run.last)
        else:
            batches.append(StateBatch(run.first, run.last, run.state, run.delivery_count))
    return tuple(batches)
