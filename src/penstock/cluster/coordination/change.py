"""A decision of a coordinator that is to be written to its log."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from penstock.protocol.records.builder import NewRecord


class Change(NamedTuple):
    """The records of one decision, and the function that makes the change in the state.

    `CoordinatorPartition` calls `apply` when it has accepted the records, and never when it refuses them. Until then
    the change is not visible.
    """

    records: Sequence[NewRecord]
    apply: Callable[[], None]


def combine_changes(changes: Sequence[Change]) -> Change:
    """Make one change of several: all of them are made, or none."""

    def apply() -> None:
        for each in changes:
            each.apply()

    return Change([record for each in changes for record in each.records], apply)
