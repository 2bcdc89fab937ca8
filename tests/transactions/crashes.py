"""The disk of a running broker as a power cut would leave it, at each of its syncs."""

import copy
from collections.abc import Callable
from random import Random
from typing import Generic, TypeVar

from penstock_simulation.disk import FaultyDisk, Keep

T = TypeVar("T")


class Moment(Generic[T]):
    """The content of the disk, and the responses that clients had got by then."""

    def __init__(self, disk: FaultyDisk, known: T, before: str) -> None:
        self._disk = disk
        self.known = known
        self.before = before

    def crash(self, keep: Keep) -> FaultyDisk:
        """The disk that the restarted machine finds. Only to be asked once."""
        return self._disk.crash(keep)


class Recorder(Generic[T]):
    """Takes a snapshot before each sync: between two syncs a crash can lose nothing else."""

    def __init__(self, disk: FaultyDisk, seed: int, known: Callable[[], T]) -> None:
        self.moments: list[Moment[T]] = []
        self._disk = disk
        self._seed = seed
        self._known = known
        disk.before_sync(self._take)

    def _take(self, path: str) -> None:
        with self._disk._device.mutex:
            picture = FaultyDisk(Random(f"{self._seed}-{len(self.moments)}"))
            picture._root = copy.deepcopy(self._disk._root)
            self.moments.append(Moment(picture, self._known(), path))

    def stop(self) -> None:
        self._disk.before_sync(None)
