"""A decision of a coordinator, on its way to the log."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from penstock.protocol.records.builder import NewRecord


class Change(NamedTuple):
    """One decision: the records that tell of it, and what makes it in the state.

    `CoordinatorPartition` calls `apply` when it has taken the records, and not at all when it refuses them. Until then
    nobody sees the change.
    """

    records: Sequence[NewRecord]
    apply: Callable[[], None]


def together(changes: Sequence[Change]) -> Change:
    """Several changes as one: all of them are made or none."""

    def apply() -> None:
        for each in changes:
            each.apply()

    return Change([record for each in changes for record in each.records], apply)
