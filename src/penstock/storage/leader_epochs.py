"""The start offset of each leader epoch: a follower uses them to find its truncation offset (KIP-101, KIP-279).

Kept in `leader-epoch-checkpoint`, Kafka's text format, one number or pair on each line:

    0                       version
    2                       number of entries
    0 0                     epoch, offset of its first record
    3 1041
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

VERSION = 0
UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1

_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1


class CorruptCheckpoint(Exception):
    """The file is not a leader epoch checkpoint; the epochs are read from the log's batches instead."""


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


class LeaderEpochs:
    """Epochs with the offsets they start at, both ascending."""

    __slots__ = ("_epochs", "_starts", "is_saved", "latest_epoch")

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.latest_epoch: int | None = None
        self.is_saved = True
        """Whether the checkpoint has them; set by the checkpoint's writer."""
        for entry in entries:
            self.assign(entry.epoch, entry.start_offset)

    def __len__(self) -> int:
        return len(self._epochs)

    @property
    def entries(self) -> list[EpochEntry]:
        return [EpochEntry(e, s) for e, s in zip(self._epochs, self._starts, strict=True)]

    @property
    def earliest(self) -> EpochEntry | None:
        return EpochEntry(self._epochs[0], self._starts[0]) if self._epochs else None

    def assign(self, epoch: int, start_offset: int) -> bool:
        """An append in `epoch` at `start_offset`. Returns True if this changed the epochs and the checkpoint must be
        written.

        Entries that contradict the new one, at or after it by epoch or by offset, are removed.
        """
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"epoch {epoch} at offset {start_offset}")
        if self._epochs and epoch == self._epochs[-1] and start_offset >= self._starts[-1]:
            return False
        while self._epochs and (self._epochs[-1] >= epoch or self._starts[-1] >= start_offset):
            self._epochs.pop()
            self._starts.pop()
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self.latest_epoch = epoch
        self.is_saved = False
        return True

    def learn(self, epoch: int, start_offset: int) -> bool:
        """A batch of `epoch` is at `start_offset`, amid the known epochs. Returns True if this changed them."""
        at = bisect_left(self._epochs, epoch)
        if at < len(self._epochs) and self._epochs[at] == epoch:
            if self._starts[at] <= start_offset:
                return False
            self._starts[at] = start_offset
        else:
            self._epochs.insert(at, epoch)
            self._starts.insert(at, start_offset)
            self.latest_epoch = self._epochs[-1]
        self.is_saved = False
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEntry:
        """The greatest known epoch at or below `epoch`, and the offset at which it ends.

        (-1, -1) when `epoch` is undefined or newer than any known. An epoch older than any known ends where the
        first known one starts: its records are no longer in the log.
        """
        if epoch == UNDEFINED_EPOCH or not self._epochs or epoch > self._epochs[-1]:
            return EpochEntry(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        if epoch == self._epochs[-1]:
            return EpochEntry(epoch, log_end_offset)
        next_at = bisect_right(self._epochs, epoch)
        found = epoch if next_at == 0 else self._epochs[next_at - 1]
        return EpochEntry(found, self._starts[next_at])

    def start_from(self, epoch: int) -> int | None:
        """The start of the first known epoch at or above `epoch`; None if there is none."""
        at = bisect_left(self._epochs, epoch)
        return self._starts[at] if at < len(self._starts) else None

    def epoch_for(self, offset: int) -> int | None:
        """The epoch in which the record at `offset` was written; None below the first known."""
        at = bisect_right(self._starts, offset)
        return self._epochs[at - 1] if at else None

    def previous_epoch(self, epoch: int) -> int | None:
        """The greatest known epoch below `epoch`."""
        at = bisect_right(self._epochs, epoch - 1)
        return self._epochs[at - 1] if at else None

    def truncate_from_end(self, end_offset: int) -> bool:
        """The log now ends at `end_offset`: epochs that start there or later are removed. Returns True if any were."""
        keep = len(self._starts)
        while keep and end_offset >= 0 and self._starts[keep - 1] >= end_offset:
            keep -= 1
        changed = keep < len(self._starts)
        del self._epochs[keep:], self._starts[keep:]
        self.latest_epoch = self._epochs[-1] if keep else None
        self.is_saved = self.is_saved and not changed
        return changed

    def truncate_from_start(self, start_offset: int) -> bool:
        """The log now starts at `start_offset`: older epochs are removed, and the epoch that contains it starts there.

        Returns True if anything changed.
        """
        drop = bisect_right(self._starts, start_offset)
        if drop == 0 or (drop == 1 and self._starts[0] == start_offset):
            return False
        del self._epochs[: drop - 1], self._starts[: drop - 1]
        self._starts[0] = start_offset
        self.is_saved = False
        return True

    def clear(self) -> None:
        self._epochs.clear()
        self._starts.clear()
        self.latest_epoch = None


def encode_checkpoint(entries: Iterable[EpochEntry]) -> bytes:
    """The content of the file."""
    lines = [f"{entry.epoch} {entry.start_offset}" for entry in entries]
    return "\n".join([str(VERSION), str(len(lines)), *lines, ""]).encode()


def decode_checkpoint(content: bytes) -> list[EpochEntry]:
    """The entries in a file's content; none in an empty file. Raises `CorruptCheckpoint`."""
    try:
        lines = content.decode("ascii").splitlines()
    except UnicodeDecodeError:
        raise CorruptCheckpoint("it is not text") from None
    if not lines:
        return []
    if _number(lines[0], _INT32_MAX) != VERSION:
        raise CorruptCheckpoint(f"version {lines[0]!r} is not known")
    if len(lines) == 1:
        return []
    entries = [_decode_entry(line) for line in lines[2:]]
    if len(entries) != _number(lines[1], _INT32_MAX):
        raise CorruptCheckpoint(f"{len(entries)} entries where {lines[1]!r} are announced")
    return entries


def _decode_entry(line: str) -> EpochEntry:
    fields = line.split()
    if len(fields) != 2:
        raise CorruptCheckpoint(f"malformed line {line!r}")
    return EpochEntry(_number(fields[0], _INT32_MAX), _number(fields[1], _INT64_MAX))


def _number(text: str, maximum: int) -> int:
    if not text.isdecimal() or len(text) > 20 or int(text) > maximum:
        raise CorruptCheckpoint(f"malformed number {text!r}")
    return int(text)
