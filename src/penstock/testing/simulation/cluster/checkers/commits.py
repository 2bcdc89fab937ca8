"""What commits of offsets promise: one that was answered is found, one that was refused is not.

A client commits ascending numbers, for several partitions at a time.

A commit that was not answered may still be under way when a later one is. It is excused for taking the later one's
place, for as long as the connection that it was sent on may live.
"""

from collections.abc import Mapping

from penstock.protocol.errors import ErrorCode
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.checkers.verdict import Verdict

_LATE_S = 5.0
_REFUSALS = frozenset(
    {
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
    }
)
"""After these nothing was committed; after any other error it may have been."""


class CommitChecker:
    """Of one group without members."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self._sent_s: dict[int, float] = {}
        self._refused: dict[PartitionName, set[int]] = {}
        self._committed: dict[PartitionName, int] = {}
        self._answered: dict[PartitionName, set[int]] = {}
        self.refused_count = 0
        self.committed_count = 0

    def commits(self, number: int, sent_s: float) -> None:
        """A commit is about to be sent."""
        self._sent_s[number] = sent_s

    def answered(self, number: int, codes: Mapping[PartitionName, ErrorCode]) -> None:
        for partition, code in codes.items():
            if code is ErrorCode.NONE:
                self._committed[partition] = number
                self._answered.setdefault(partition, set()).add(number)
                self.committed_count += 1
            elif code in _REFUSALS:
                self._refused.setdefault(partition, set()).add(number)
                self.refused_count += 1

    def finds(self, found: Mapping[PartitionName, int], asked_s: float) -> None:
        """Somebody asked what is committed; -1 is nothing."""
        for partition, number in found.items():
            if number in self._refused.get(partition, ()):
                self._fail("refused offsets", partition, f"{number} was refused, and it is found")
            newest = self._committed.get(partition, -1)
            if number >= newest or asked_s < self._sent_s[newest]:
                continue
            is_doubtful = number >= 0 and number not in self._answered.get(partition, ())
            if is_doubtful and self._sent_s[number] > self._sent_s[newest] - _LATE_S:
                self._committed[partition] = number
            else:
                self._fail("committed offsets", partition, f"{newest} was committed, and {number} is found")

    def _fail(self, invariant: str, partition: PartitionName, detail: str) -> None:
        self._verdict.fail(invariant, f"{partition[0]}-{partition[1]}: {detail}")
