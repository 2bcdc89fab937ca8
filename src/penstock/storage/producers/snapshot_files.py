"""The producer snapshots of one log: `<20 digits>.snapshot`, the producers as of that offset.

The format is `producers.snapshot`'s. A snapshot is kept for each segment, so that a truncation finds one not far below.
"""

import contextlib
import logging
from collections.abc import Iterable, Sequence
from typing import Final

from penstock.storage.files import FileSystem, read_whole
from penstock.storage.producers.replay import replay
from penstock.storage.producers.snapshot import CorruptSnapshot, decode_snapshot
from penstock.storage.producers.state import ProducerStates
from penstock.storage.segment.segment import Segment

SUFFIX: Final = ".snapshot"

_log = logging.getLogger(__name__)


class SnapshotFiles:
    """The list of snapshots. Only the event loop calls it."""

    __slots__ = ("_directory", "_files", "_offsets")

    def __init__(self, files: FileSystem, directory: str, names: Iterable[str] = ()) -> None:
        """`names` are the file names in the directory, snapshots or not."""
        self._files = files
        self._directory = directory
        stems = (name[: -len(SUFFIX)] for name in names if name.endswith(SUFFIX))
        self._offsets = sorted(int(stem) for stem in stems if stem.isdecimal())

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def newest(self) -> int | None:
        return self._offsets[-1] if self._offsets else None

    def newest_until(self, offset: int) -> int | None:
        """The newest snapshot at or below `offset`."""
        return next((each for each in reversed(self._offsets) if each <= offset), None)

    def path(self, offset: int) -> str:
        return f"{self._directory}/{offset:020d}{SUFFIX}"

    def note_written(self, offset: int, segment_bases: Sequence[int]) -> None:
        """A snapshot was written: remove the snapshots that it supersedes."""
        if offset not in self._offsets:
            self._offsets.append(offset)
            self._offsets.sort()
        for superfluous in _superfluous(self._offsets, segment_bases):
            self._remove(superfluous)

    def remove_above(self, offset: int) -> None:
        """The log no longer vouches for records above `offset`."""
        for later in [each for each in self._offsets if each > offset]:
            self._remove(later)

    def remove_unlisted(self, offset: int) -> None:
        """Remove a snapshot that was written but is not registered; a snapshot that was there before is kept."""
        if offset not in self._offsets:
            with contextlib.suppress(OSError):
                self._files.remove(self.path(offset))

    def clear(self) -> None:
        for offset in list(self._offsets):
            self._remove(offset)

    def _remove(self, offset: int) -> None:
        self._offsets.remove(offset)
        with contextlib.suppress(OSError):
            self._files.remove(self.path(offset))

    def restore(
        self,
        producers: ProducerStates,
        segments: Sequence[Segment],
        *,
        log_start_offset: int,
        end_offset: int,
        now_ms: int,
    ) -> None:
        """Restore `producers` as of `end_offset`, from the newest usable snapshot and the log after it.

        They are unverified where the log is corrupt. Damaged snapshots are removed, later ones left to `remove_above`.
        Waits for the disk.
        """
        self.restore_newest(producers, segments, end_offset, log_start_offset=log_start_offset, now_ms=now_ms)
        replay(producers, segments, end_offset)

    def restore_newest(
        self,
        producers: ProducerStates,
        segments: Sequence[Segment],
        offset_max: int,
        *,
        log_start_offset: int,
        now_ms: int,
    ) -> None:
        """The part of `restore` that reads a snapshot; `replay` must continue from there.

        As in Kafka, a snapshot below the first segment is not used: batches that would have to be replayed on top of it
        are deleted. A producer that is known from it alone would be refused as out of order forever.
        """
        for stale in [each for each in self._offsets if each < segments[0].base_offset]:
            self._remove(stale)
        for newest in [offset for offset in reversed(self._offsets) if offset <= offset_max]:
            path = self.path(newest)
            try:
                entries = decode_snapshot(read_whole(self._files, path))
            except CorruptSnapshot as error:
                _log.warning("Ignored %s (%s): using an older snapshot or the log", path, error)
                self._remove(newest)
            else:
                producers.restore(entries, end_offset=newest, now_ms=now_ms)
                return
        producers.clear(log_start_offset)


def _superfluous(offsets: Sequence[int], segment_bases: Sequence[int]) -> list[int]:
    """All but the newest snapshot of each segment; a snapshot at a segment's base belongs to the previous segment."""
    kept: set[int] = set()
    at = 0
    for bound in (*segment_bases[1:], 2**63):
        newest = None
        while at < len(offsets) and offsets[at] <= bound:
            newest = offsets[at]
            at += 1
        if newest is not None:
            kept.add(newest)
    return [offset for offset in offsets if offset not in kept]
