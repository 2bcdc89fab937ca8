"""Remembers which nodes act as the group coordinator, and in which leader epoch of the offsets partition.

A coordinator that was replaced and does not know it yet answers OffsetFetch from the state that it has loaded, with
an older offset than the new coordinator has acknowledged (seed 951). Kafka does the same: `fetchOffsets` of
`GroupCoordinatorService` writes nothing, and `CoordinatorRuntime` completes an operation without records at once if
no write is pending. Nothing is lost: followers fetch in the new epoch, so the old coordinator acknowledges no
commits.

An answer is therefore checked against the commits that coordinators of its own and of earlier epochs acknowledged. A
node that knows of a newer epoch is not excused, and the coordinator of the newest epoch never is.

An answer does not state its epoch, and the node may have loaded the partition again meanwhile. Of several possible
epochs the earliest counts for a question and the latest for an acknowledgement.
"""

from collections.abc import Mapping
from typing import Any

import msgspec


class _Term(msgspec.Struct):
    """One node coordinates in one epoch, from the load until it learns of a newer epoch."""

    epoch: int
    replaced_s: float | None = None


class CoordinatorTerms:
    """The terms of all nodes, for the only partition of the offsets topic."""

    def __init__(self) -> None:
        self._terms: dict[str, list[_Term]] = {}
        self._loaded_s: dict[int, float] = {}
        """When the coordinator of an epoch first had the groups loaded."""

    def on_loaded(self, node: str, epoch: int, now_s: float) -> None:
        """A node begins to coordinate the groups in an epoch."""
        self.on_epoch(node, epoch, now_s)
        self._loaded_s.setdefault(epoch, now_s)
        self._terms.setdefault(node, []).append(_Term(epoch))

    def on_epoch(self, node: str, epoch: int, now_s: float) -> None:
        """A node's metadata has reached a leader epoch."""
        for term in self._terms.get(node, []):
            if term.epoch < epoch and term.replaced_s is None:
                term.replaced_s = now_s

    def newer_loaded_s(self, epoch: int) -> list[float]:
        """Return when the coordinators of later epochs had loaded the groups."""
        return [loaded_s for newer, loaded_s in self._loaded_s.items() if newer > epoch]

    def latest_epoch(self, node: str) -> int:
        """Return the latest epoch in which a node that has just answered may have done so."""
        return self._terms[node][-1].epoch

    def earliest_epoch(self, node: str, asked_s: float) -> int:
        """Return the earliest epoch in which a node may have answered a question of that time.

        A node that knew of a newer epoch and has loaded nothing since has to know the newest one.
        """
        terms = self._terms.get(node, [])
        possible = [each.epoch for each in terms if each.replaced_s is None or each.replaced_s >= asked_s]
        return min(possible, default=max(self._loaded_s, default=0))


def last_epoch_before(by_epoch: Mapping[int, Any], epoch: int) -> int | None:
    """Return the last epoch, up to the given one, for which there is an entry."""
    return max((each for each in by_epoch if each <= epoch), default=None)
