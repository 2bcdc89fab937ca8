"""The offset checkpoints of a data directory, in memory and on disk: see `directory.checkpoints` for the files.

The files are keyed by partition name, and a name can later refer to another log: a topic is deleted and recreated.
Recovery would apply the old log's entries to the new one, and treat its records as damaged or deleted. So a log is
created only after the files have no entry for its name, and a write that was prepared before that does not take effect
after it.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from penstock.storage.directory.checkpoints import (
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    CorruptCheckpointFile,
    PartitionName,
    read_offsets,
    write_offsets,
)
from penstock.storage.files import FileSystem

_log = logging.getLogger(__name__)

_Offsets = dict[PartitionName, int]


class OffsetCheckpoints:
    """Only the event loop calls it, except for the writes that it prepares."""

    def __init__(self, files: FileSystem, directory: str, partitions: Collection[PartitionName]) -> None:
        """Read the files; `partitions` are the partitions with a log: other entries are dropped."""
        self._files = files
        self._directory = directory
        found = {name: self.read(name) for name in (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS)}
        # For each file the offsets it may hold, by the number of the write that would put them there.
        self._may_hold: dict[str, dict[int, _Offsets]] = {name: {0: found[name]} for name in found}
        self.without_log: _Offsets = {}
        """The end offsets of logs that no longer exist, unless their topics were deleted."""
        for offsets in (found[RECOVERY_POINTS], found[HIGH_WATERMARKS]):
            for partition in offsets.keys() - set(partitions):
                self.without_log[partition] = max(offsets[partition], self.without_log.get(partition, 0))
        kept = {
            name: {partition: offset for partition, offset in offsets.items() if partition in partitions}
            for name, offsets in found.items()
        }
        self.recovery_points: _Offsets = kept[RECOVERY_POINTS]
        self.log_starts: _Offsets = kept[LOG_STARTS]
        self.high_watermarks: _Offsets = kept[HIGH_WATERMARKS]
        self._writing = threading.Lock()
        self._prepared_count = 0
        self._newest_written = dict.fromkeys(found, 0)

    def read(self, name: str) -> _Offsets:
        """The offsets in one of the files. An unreadable file makes the start slower, never wrong."""
        try:
            return read_offsets(self._files, f"{self._directory}/{name}") or {}
        except CorruptCheckpointFile as error:
            _log.warning("Ignored %s/%s (%s): recovery takes longer", self._directory, name, error)
            return {}

    def forget(self, partition: PartitionName) -> None:
        """There is no such log any more."""
        for _, offsets in self._all():
            offsets.pop(partition, None)
        self.without_log.pop(partition, None)

    def erase(self, partition: PartitionName) -> None:
        """Before a new log of this name is created: remove an old log's entries from the files.

        Waits for the disk if there are any, once for all forgotten entries. Raises `OSError`.
        """
        self.forget(partition)
        for name, offsets in self._all():
            if any(partition in held for held in list(self._may_hold[name].values())):
                self.prepare(name, offsets)()

    def highest(self, name: str, partition: PartitionName) -> int:
        """The highest offset that a file may hold for a partition, now or after a write that was prepared."""
        return max(held.get(partition, 0) for held in list(self._may_hold[name].values()))

    def prepare(self, name: str, offsets: Mapping[PartitionName, int]) -> Callable[[], None]:
        """A function that writes these offsets, unless newer ones come first; run it where blocking is allowed."""
        content = dict(offsets)
        self._prepared_count += 1
        number = self._prepared_count
        self._may_hold[name][number] = content
        return partial(self._write, name, content, number)

    def _write(self, name: str, offsets: _Offsets, number: int) -> None:
        with self._writing:
            if number < self._newest_written[name]:
                return
            may_hold = self._may_hold[name]
            older = [n for n in list(may_hold) if n < number]
            try:
                write_offsets(self._files, f"{self._directory}/{name}", offsets)
            except OSError:
                may_hold[number] = _highest_of([may_hold[n] for n in (*older, number)])
                for n in older:
                    del may_hold[n]
                raise
            self._newest_written[name] = number
            for n in older:
                del may_hold[n]

    def _all(self) -> tuple[tuple[str, _Offsets], ...]:
        return (
            (RECOVERY_POINTS, self.recovery_points),
            (LOG_STARTS, self.log_starts),
            (HIGH_WATERMARKS, self.high_watermarks),
        )


def _highest_of(offsets: Iterable[_Offsets]) -> _Offsets:
    highest: _Offsets = {}
    for each in offsets:
        for partition, offset in each.items():
            highest[partition] = max(offset, highest.get(partition, 0))
    return highest
