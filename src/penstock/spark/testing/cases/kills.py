"""Kills the queries of a run between the write of a batch and its commit, as the end of the process would.

Spark writes a batch to the sink, and then the file `commits/<batch>` in the query's checkpoint. A directory with that
name lets the first succeed and the second fail: the query ends, the output has the batch, and the checkpoint does not.
So the next run replays the batch, and an output that is not exactly once has its rows twice.
"""

import glob
import os
from collections.abc import Iterable


class CommitBlocks:
    """The next commit of each query below `checkpoints` is blocked, from the constructor until `unblock_killed`."""

    def __init__(self, checkpoints: str, queries: Iterable[str]) -> None:
        known = {os.path.join(checkpoints, query) for query in queries}
        known |= {
            os.path.dirname(each)
            for each in glob.glob(os.path.join(checkpoints, "**", "commits"), recursive=True)
        }
        self._blocked = [_next_batch(each) for each in sorted(known)]
        for checkpoint, batch in self._blocked:
            os.makedirs(_commit(checkpoint, batch))

    def unblock_killed(self) -> int:
        """Let the killed queries continue with the next run; return their number."""
        killed = [
            each for each in self._blocked if os.path.exists(os.path.join(each[0], "offsets", str(each[1])))
        ]
        self._unblock(killed)
        return len(killed)

    def unblock_all(self) -> None:
        self._unblock(list(self._blocked))

    def _unblock(self, blocked: list[tuple[str, int]]) -> None:
        for checkpoint, batch in blocked:
            os.rmdir(_commit(checkpoint, batch))
            self._blocked.remove((checkpoint, batch))


def _commit(checkpoint: str, batch: int) -> str:
    return os.path.join(checkpoint, "commits", str(batch))


def _next_batch(checkpoint: str) -> tuple[str, int]:
    committed = [int(name) for name in _list(os.path.join(checkpoint, "commits")) if name.isdecimal()]
    return checkpoint, max(committed, default=-1) + 1


def _list(directory: str) -> list[str]:
    return os.listdir(directory) if os.path.isdir(directory) else []
