"""The content of a file, and the part of it that survives a power cut.

Reads see `cache`; a power cut leaves `durable`, and some of `pending`: the writes and truncations since the last
sync, in order. `Keep` selects which, and a seeded `random.Random` decides where there is a choice.
`penstock.testing.memory_files` models file names the same way.
"""

import enum
from collections.abc import Iterator
from random import Random

import msgspec


class Keep(enum.Enum):
    """The unsynced changes that survive a power cut."""

    NOTHING = "nothing"
    EVERYTHING = "everything"
    PAGES = "pages"
    """Any combination of the pages of all writes."""
    PREFIX = "prefix"
    """All changes up to some byte of some write, then nothing: a torn write."""

    def count_of(self, name_changes: int, random: Random) -> int:
        """Draw how many of a directory's changes survive: always the first ones."""
        if self is Keep.NOTHING:
            return 0
        return name_changes if self is Keep.EVERYTHING else random.randrange(name_changes + 1)


class Change(msgspec.Struct, frozen=True):
    """A write (`data` set) or a truncation (`data` None) at a position."""

    position: int
    data: bytes | None

    def apply(self, content: bytearray) -> None:
        if self.data is None and self.position < len(content):
            del content[self.position :]
        elif self.position > len(content):
            content.extend(bytes(self.position - len(content)))
        if self.data is not None:
            content[self.position : self.position + len(self.data)] = self.data

    def pages(self, page_bytes: int) -> Iterator["Change"]:
        """Split the change at page boundaries."""
        if self.data is None:
            yield self
            return
        begin = 0
        while begin < len(self.data):
            position = self.position + begin
            end = min(len(self.data), begin + page_bytes - position % page_bytes)
            yield Change(position, self.data[begin:end])
            begin = end


class FileNode:
    """An inode: it outlives its names while a handle is open or a lost removal can bring it back."""

    def __init__(self, modified_ms: int) -> None:
        self.cache = bytearray()
        self.durable = bytearray()
        self.pending: list[Change] = []
        self._flushed_count = 0
        self.allocated_bytes = 0
        """Bytes that count against the disk's capacity: a truncation that lengthens the file adds none."""
        self.modified_ms = modified_ms
        self.unreported_errors: dict[object, int] = {}
        """Every open handle, with the errno that its next sync reports, or 0."""
        self.link_count = 0

    def size(self) -> int:
        return len(self.cache)

    def change(self, change: Change) -> None:
        change.apply(self.cache)
        self.pending.append(change)
        if change.data is None:
            self.allocated_bytes = min(self.allocated_bytes, change.position)
        else:
            self.allocated_bytes = max(self.allocated_bytes, change.position + len(change.data))

    def change_count(self) -> int:
        """Count all changes so far: a sync that begins now will cover them."""
        return self._flushed_count + len(self.pending)

    def flush(self, change_count: int, error: int = 0) -> None:
        """Make the first `change_count` changes durable.

        After a failed sync Linux keeps the pages readable, marks them clean and never writes them. It reports the
        error once to each handle that was open then; a handle that is closed before its next sync takes the error
        with it.
        """
        covered_count = max(0, change_count - self._flushed_count)
        if error:
            self.unreported_errors = dict.fromkeys(self.unreported_errors, error)
        else:
            for change in self.pending[:covered_count]:
                change.apply(self.durable)
        self._flushed_count += len(self.pending[:covered_count])
        del self.pending[:covered_count]

    def take_error(self, handle: object) -> int:
        """Return the errno that a handle has to report, once; 0 for none."""
        if error := self.unreported_errors.get(handle, 0):
            self.unreported_errors[handle] = 0
        return error

    def cut_power(self, keep: Keep, page_bytes: int, random: Random) -> None:
        for change in _survivors(self.pending, keep, page_bytes, random):
            change.apply(self.durable)
        self._restart()

    def tear(self, kept_bytes: int) -> None:
        """Keep truncations and written bytes in order until `kept_bytes` bytes are used up."""
        for change in self.pending:
            if change.data is None:
                change.apply(self.durable)
                continue
            Change(change.position, change.data[:kept_bytes]).apply(self.durable)
            kept_bytes -= len(change.data)
            if kept_bytes <= 0:
                break
        self._restart()

    def _restart(self) -> None:
        self.pending.clear()
        self.cache = bytearray(self.durable)
        self.allocated_bytes = len(self.cache.rstrip(b"\0"))


def _survivors(pending: list[Change], keep: Keep, page_bytes: int, random: Random) -> Iterator[Change]:
    if keep is Keep.EVERYTHING:
        yield from pending
    elif keep is Keep.PAGES:
        for change in pending:
            yield from (page for page in change.pages(page_bytes) if random.random() < 0.5)
    elif keep is Keep.PREFIX and pending:
        whole_count = random.randrange(len(pending) + 1)
        yield from pending[:whole_count]
        if whole_count < len(pending) and (data := pending[whole_count].data):
            yield Change(pending[whole_count].position, data[: random.randrange(len(data))])
