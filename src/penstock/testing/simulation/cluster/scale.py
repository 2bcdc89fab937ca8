"""A broker's sizes, cut down to what a simulation writes.

Files of logs are made longer by a megabyte at a time, so that a sync need not write down their lengths. A simulated
disk holds every byte of that in memory, and a simulated log rolls after a few kilobytes.
"""

import contextlib
from collections.abc import Iterator

from penstock.storage import segment_chain

_GROW_BYTES = 8192


@contextlib.contextmanager
def scaled_down() -> Iterator[None]:
    original = segment_chain.GROW_BYTES
    segment_chain.GROW_BYTES = _GROW_BYTES
    try:
        yield
    finally:
        segment_chain.GROW_BYTES = original
