"""The highest epoch that a node accepts from its peers: more elections must be possible after it.

An epoch is a signed 32-bit number on the wire and on disk, and a node never goes back to an earlier one. So one message
with an epoch near the end of that range would end all elections for good. Therefore there is a ceiling. It is the same
for every node, so that no node can be moved out of the reach of the others:

    2^30 + the seconds since the beginning of 2026, by the wall clock

All epochs below 2^30 are free: a node that was away, or that has just joined, may have missed any number of elections.
A hostile peer can move a cluster up to the ceiling, and no further: from there on one election a second is possible,
until the year 2060. A clock that is behind 2026 leaves a ceiling of 2^30.
"""

from typing import Final

EPOCH_MAX: Final = 2**31 - 2
"""The last epoch that is ever used: the next one would still fit, so nothing overflows on the way to it."""
FREE_EPOCH_MAX: Final = 2**30
_BEGINNING_S: Final = 1_767_225_600
"""2026-01-01T00:00:00Z"""


def epoch_ceiling(stamp_ms: int) -> int:
    """The highest epoch that is accepted from a peer at this time of the wall clock."""
    return min(FREE_EPOCH_MAX + max(stamp_ms // 1000 - _BEGINNING_S, 0), EPOCH_MAX - 1)
