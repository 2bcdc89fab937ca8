"""Checks offset commits of a group without members: an acknowledged commit is found, a rejected one is not.

A client commits ascending numbers for several partitions at a time. A commit without an answer may be carried out
after a later one, and so replace it, while its connection may live. A replaced coordinator need not know the
commits that the new one has acknowledged (`coordinators.py`).
"""

from collections.abc import Mapping

from penstock.protocol.errors import ErrorCode
from penstock_simulation.cluster.checkers.checker import LATE_REQUEST_S, Checker
from penstock_simulation.cluster.checkers.coordinators import CoordinatorTerms, last_epoch_before
from penstock_simulation.cluster.values import PartitionName
from penstock_simulation.violation import ViolationLog

_REJECTIONS = frozenset(
    {
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
    }
)
"""After these errors nothing was committed; after any other error it may have been."""


class CommitChecker(Checker):
    def __init__(self, violations: ViolationLog, coordinators: CoordinatorTerms) -> None:
        super().__init__(violations)
        self._coordinators = coordinators
        self._sent_s: dict[int, float] = {}
        self._rejected: dict[PartitionName, set[int]] = {}
        self._newest: dict[PartitionName, dict[int, int]] = {}
        """The last acknowledged commit in each epoch of the coordinator."""
        self._acknowledged: dict[PartitionName, set[int]] = {}
        self.rejected_count = 0
        self.committed_count = 0

    def on_send(self, number: int, sent_s: float) -> None:
        self._sent_s[number] = sent_s

    def on_answer(self, number: int, codes: Mapping[PartitionName, ErrorCode], coordinator: str) -> None:
        for partition, code in codes.items():
            if code is ErrorCode.NONE:
                epoch = self._coordinators.latest_epoch(coordinator)
                self._newest.setdefault(partition, {})[epoch] = number
                self._acknowledged.setdefault(partition, set()).add(number)
                self.committed_count += 1
            elif code in _REJECTIONS:
                self._rejected.setdefault(partition, set()).add(number)
                self.rejected_count += 1

    def on_fetched(self, found: Mapping[PartitionName, int], asked_s: float, coordinator: str) -> None:
        """Check the committed numbers that a coordinator returned; -1 is none."""
        asked_epoch = self._coordinators.earliest_epoch(coordinator, asked_s)
        for partition, number in found.items():
            if number in self._rejected.get(partition, ()):
                self._fail("rejected offsets", partition, f"offset {number} was rejected, but is committed")
            by_epoch = self._newest.get(partition, {})
            epoch = last_epoch_before(by_epoch, asked_epoch)
            if epoch is None:
                continue
            newest = by_epoch[epoch]
            if number >= newest or asked_s < self._sent_s[newest]:
                continue
            is_unanswered = number >= 0 and number not in self._acknowledged.get(partition, ())
            if is_unanswered and self._sent_s[number] > self._sent_s[newest] - LATE_REQUEST_S:
                by_epoch[epoch] = number
            else:
                detail = f"offset {newest} was committed, but {number} is returned"
                self._fail("committed offsets", partition, detail)
