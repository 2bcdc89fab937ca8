"""The damaged ranges of all logs in a data directory, kept across restarts.

File `damage-checkpoint`, text in the format of Kafka's checkpoints, always replaced as a whole:

    0                             version
    1                             number of entries
    orders 0 0 4096 75 42 43      topic, partition, segment (base offset), position, bytes, first offset, next offset

It lists the ranges that must not be served before the log is checked again: a log with entries is checked when it is
opened, the ranges themselves before anything is read. An outdated entry only costs that check; the next scrub finds a
missing entry's damage again, except for the lost end of a compacted log, which looks like a gap. A file that cannot be
read is therefore logged and treated as empty.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from penstock.storage.damage.damage import Damage
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.files import FileSystem, read_whole, write_atomically

DAMAGE: Final = "damage-checkpoint"

_VERSION: Final = "0"
_FIELD_COUNT: Final = 7

_log = logging.getLogger(__name__)

Damages = Mapping[PartitionName, tuple[Damage, ...]]


class CorruptDamageFile(Exception):
    """The file is not a list of damaged ranges."""


def encode_damages(damages: Damages) -> bytes:
    """The content of the file."""
    lines = [
        f"{topic} {partition} {each.segment} {each.position} {each.size_bytes} {each.base_offset} {each.next_offset}"
        for (topic, partition), ranges in damages.items()
        for each in ranges
    ]
    return "\n".join([_VERSION, str(len(lines)), *lines, ""]).encode()


def decode_damages(content: bytes) -> dict[PartitionName, tuple[Damage, ...]]:
    """The ranges in a file's content. Raises `CorruptDamageFile`."""
    lines = content.decode("utf-8", "replace").splitlines()
    if len(lines) < 2 or lines[0] != _VERSION or lines[1] != str(len(lines) - 2):
        raise CorruptDamageFile(f"it begins with {lines[:2]} and has {len(lines)} lines")
    damages: dict[PartitionName, tuple[Damage, ...]] = {}
    for line in lines[2:]:
        topic, *numbers = line.split(" ")
        if len(numbers) != _FIELD_COUNT - 1 or not all(each.isdecimal() for each in numbers):
            raise CorruptDamageFile(f"malformed line {line!r}")
        partition, segment, position, size_bytes, base_offset, next_offset = map(int, numbers)
        name = PartitionName(topic, partition)
        damage = Damage(
            segment=segment,
            position=position,
            size_bytes=size_bytes,
            base_offset=base_offset,
            next_offset=next_offset,
        )
        damages[name] = (*damages.get(name, ()), damage)
    return damages


class DamageCheckpoint:
    """Only the event loop calls it, except for the writes that it prepares."""

    def __init__(self, files: FileSystem, directory: str, partitions: Collection[PartitionName]) -> None:
        """Read the file; `partitions` are the partitions with a log: other entries are dropped."""
        self._files = files
        self._path = f"{directory}/{DAMAGE}"
        self._saved: Damages = self._read()
        self._known = {name: ranges for name, ranges in self._saved.items() if name in partitions}
        self._writing = threading.Lock()
        self._prepared_count = self._newest_written = 0
        for name, ranges in self._known.items():
            _log.error(
                "Known damage in %s/%s: %s. These records are not served; the log is checked again when it is opened",
                directory,
                name.directory,
                ", ".join(map(str, ranges)),
            )

    def _read(self) -> Damages:
        try:
            return decode_damages(read_whole(self._files, self._path))
        except FileNotFoundError:
            return {}
        except (CorruptDamageFile, OSError) as error:
            _log.warning(
                "Ignored %s (%s): known damage will not be detected until the logs are scrubbed again",
                self._path,
                error,
            )
            return {}

    @property
    def known(self) -> Damages:
        """All known damage, by partition, in open and closed logs."""
        return MappingProxyType(self._known)

    @property
    def is_saved(self) -> bool:
        return self._saved == self._known

    def note(self, name: PartitionName, ranges: Iterable[Damage]) -> bool:
        """Set the damaged ranges of a log. Returns True if some are new: then `prepare` a write."""
        before, now = self._known.get(name, ()), tuple(ranges)
        if now:
            self._known[name] = now
        else:
            self._known.pop(name, None)
        return any(each not in before for each in now)

    def forget(self, name: PartitionName) -> None:
        """There is no such log any more."""
        self._known.pop(name, None)

    def erase(self, name: PartitionName) -> None:
        """Before a new log of this name is created: remove an old log's entries from the file. Waits for the disk."""
        self.forget(name)
        if name in self._saved:
            self.prepare()()

    def prepare(
        self, is_unsynced: Callable[[PartitionName], bool] = lambda _name: False
    ) -> Callable[[], None]:
        """A function that brings the file up to date, unless a later one comes first; run it where blocking is allowed.

        Repaired bytes of a log that `is_unsynced` may not be durable yet: its entries stay in the file. A failure is
        logged; the next write tries again.
        """
        content = dict(self._known)
        for name, ranges in self._saved.items():
            missing = [each for each in ranges if each not in content.get(name, ())]
            if missing and is_unsynced(name):
                content[name] = (*content.get(name, ()), *missing)
        self._prepared_count += 1
        return partial(self._write, content, self._prepared_count)

    def _write(self, content: Damages, number: int) -> None:
        with self._writing:
            if number < self._newest_written or content == self._saved:
                return
            try:
                write_atomically(self._files, self._path, encode_damages(content))
            except OSError as error:
                _log.warning(
                    "Cannot write %s (%s): a restart forgets known damage",
                    self._path,
                    error.strerror,
                )
                return
            self._newest_written = number
            self._saved = content
