"""Kills the queries of a run between the write of a batch and its commit, as the end of the process would.

Spark writes a batch to the sink, and then the file `commits/<batch>` in the query's checkpoint. A directory with that
name lets the first succeed and the second fail: the query ends, the output has the batch, and the checkpoint does not.
So the next run replays the batch, and an output that is not exactly once has its rows twice (docs/adr/0033-cases.md).
"""

import contextlib
import os
import threading
from collections.abc import Iterator

from penstock.spark.pipeline.core.queries import SHARED_CHECKPOINT

_POLL_INTERVAL_S = 0.005  # a query makes its checkpoint long before it has written its first batch


class CommitBlocks:
    """The next commit of each query below `checkpoints` is blocked, from the constructor on."""

    def __init__(self, checkpoints: str) -> None:
        self._checkpoints = checkpoints
        self._seen: set[str] = set()
        self._blocked: dict[str, int] = {}  # by query: its batch
        self._block_new()

    @contextlib.contextmanager
    def blocking_new(self) -> Iterator[None]:
        """Block the first commits of queries that start inside, too."""
        done = threading.Event()

        def watch() -> None:
            while not done.wait(_POLL_INTERVAL_S):
                self._block_new()

        thread = threading.Thread(target=watch, name="commit-blocks", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def unblock_killed(self) -> int:
        """Let the killed queries continue with the next run; return their number."""
        killed = [query for query, batch in self._blocked.items() if self._was_planned(query, batch)]
        for query in killed:
            self._unblock(query)
        return len(killed)

    def unblock_all(self) -> None:
        for query in list(self._blocked):
            self._unblock(query)

    def _block_new(self) -> None:
        for query in self._queries() - self._seen:
            commits = os.path.join(self._checkpoints, query, "commits")
            if not os.path.isdir(commits):
                continue
            self._seen.add(query)
            batch = max((int(name) for name in _names(commits) if name.isdecimal()), default=-1) + 1
            with contextlib.suppress(FileExistsError):  # committed just now: it is not killed
                os.mkdir(os.path.join(commits, str(batch)))
                self._blocked[query] = batch

    def _queries(self) -> set[str]:
        """Return the directories of Spark's checkpoints; that of outputs that share reads is one deeper."""
        keys = _names(self._checkpoints)
        return {os.path.join(key, name) for key in keys for name in ("", SHARED_CHECKPOINT)}

    def _was_planned(self, query: str, batch: int) -> bool:
        return os.path.exists(os.path.join(self._checkpoints, query, "offsets", str(batch)))

    def _unblock(self, query: str) -> None:
        os.rmdir(os.path.join(self._checkpoints, query, "commits", str(self._blocked.pop(query))))


def _names(directory: str) -> list[str]:
    return os.listdir(directory) if os.path.isdir(directory) else []
