"""What a file holds, and what of it a power cut leaves: the pure model behind `FaultyDisk`.

A file has two contents: `cache` is what reads see, `durable` is what a power cut leaves for sure. What lies
between is `pending`, the writes and truncations since the last sync, in order. `disk_names` is the same for names.

A power cut may leave any part of what is pending. `Keep` says which part, and a seeded `random.Random`
chooses where there is a choice.
"""

import enum
from collections.abc import Iterator
from random import Random


class Keep(enum.Enum):
    """Which of the unsynced changes a power cut leaves."""

    NOTHING = "nothing"
    EVERYTHING = "everything"
    PAGES = "pages"
    """Each page of each write for itself, in any combination."""
    PREFIX = "prefix"
    """All up to some byte of some write, then nothing: a torn write."""

    def count_of(self, name_changes: int, random: Random) -> int:
        """How many of so many changes of names in one directory are left: always the first ones."""
        if self is Keep.NOTHING:
            return 0
        return name_changes if self is Keep.EVERYTHING else random.randrange(name_changes + 1)


class Change:
    """A write (`data` set) or a truncation (`data` None) at a position."""

    __slots__ = ("data", "position")

    def __init__(self, position: int, data: bytes | None) -> None:
        self.position = position
        self.data = data

    def apply(self, content: bytearray) -> None:
        if self.data is None:
            set_length(content, self.position)
            return
        if len(content) < self.position:
            set_length(content, self.position)
        content[self.position : self.position + len(self.data)] = self.data

    def pages(self, page_bytes: int) -> Iterator["Change"]:
        """The same change cut at page boundaries."""
        if self.data is None:
            yield self
            return
        begin = 0
        while begin < len(self.data):
            position = self.position + begin
            end = min(len(self.data), begin + page_bytes - position % page_bytes)
            yield Change(position, self.data[begin:end])
            begin = end


def set_length(content: bytearray, size_bytes: int) -> None:
    if size_bytes < len(content):
        del content[size_bytes:]
    else:
        content.extend(bytes(size_bytes - len(content)))


class FileNode:
    """An inode: it outlives its names while a handle is open or a lost removal can bring it back."""

    __slots__ = (
        "allocated_bytes",
        "cache",
        "durable",
        "handle_count",
        "link_count",
        "modified_ms",
        "pending",
        "settled_count",
    )

    def __init__(self, modified_ms: int) -> None:
        self.cache = bytearray()
        self.durable = bytearray()
        self.pending: list[Change] = []
        self.settled_count = 0
        self.allocated_bytes = 0
        """What the file takes of the disk's room: a truncation that lengthens it takes nothing."""
        self.modified_ms = modified_ms
        self.handle_count = 0
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
        """Number of all changes so far: what a sync that begins now will cover."""
        return self.settled_count + len(self.pending)

    def make_durable(self, change_count: int) -> None:
        """Apply the changes that were there when the sync began."""
        for change in self._settle(change_count):
            change.apply(self.durable)

    def forget_dirty(self, change_count: int) -> None:
        """What a failed sync does on Linux: the pages stay readable, count as clean and are never written."""
        self._settle(change_count)

    def _settle(self, change_count: int) -> list[Change]:
        covered_count = max(0, change_count - self.settled_count)
        covered = self.pending[:covered_count]
        del self.pending[:covered_count]
        self.settled_count += len(covered)
        return covered

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
        self.handle_count = 0
        self.link_count = 0


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
