"""Which epochs a node takes from its peers: never one after which there could be no more elections.

An epoch is a signed 32-bit number on the wire and on disk, and a node never goes back to an earlier one. So one message
with an epoch near the end of that range would end all elections for good. Two rules prevent it:

- The lower half of the range is free. A node that was away, or that has just joined, may have missed any number of
  elections there.
- In the upper half an epoch may be ahead of this node's by no more than `_BURST`, and this allowance comes back at
  `_PER_SECOND`. Real elections are far slower. A hostile peer that sends without pause needs four months to use up the
  upper half.
"""

from typing import Final

EPOCH_MAX: Final = 2**31 - 2
"""The last epoch that is ever used: the next one would still fit, so nothing overflows on the way to it."""
FREE_EPOCH_MAX: Final = 2**30
_BURST: Final = 1 << 16
_PER_SECOND: Final = 100


class EpochLimit:
    """Pure: time is an argument."""

    __slots__ = ("_allowance", "_at_ms")

    def __init__(self) -> None:
        self._allowance = float(_BURST)
        self._at_ms = 0.0

    def allows(self, epoch: int, own: int, now_ms: float) -> bool:
        """Whether a node in the epoch `own` may take over `epoch` from a peer now."""
        if own < epoch <= FREE_EPOCH_MAX:
            return True
        self._allowance = min(_BURST, self._allowance + (now_ms - self._at_ms) * _PER_SECOND / 1000)
        self._at_ms = now_ms
        return epoch <= min(max(own, FREE_EPOCH_MAX) + max(int(self._allowance), 0), EPOCH_MAX)

    def spend(self, before: int, after: int) -> None:
        """The node has gone from one epoch to another."""
        self._allowance -= max(after - max(before, FREE_EPOCH_MAX), 0)
