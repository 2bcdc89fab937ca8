"""Transaction index: the aborted transactions of a segment, for consumers that read only committed records.

File `<base offset, 20 digits>.txnindex`, present only when a transaction was aborted: entries of 34 bytes,
big-endian, ascending in the last offset, which is the abort marker's and lies in this segment.

     0  version             i16   0
     2  producer id         i64
    10  first offset        i64   of the transaction; may lie in an earlier segment
    18  last offset         i64   of the abort marker
    26  last stable offset  i64   when the transaction ended

No checksum: a suspect index is rebuilt from the segment by replaying producer state.
"""

import struct

import msgspec

Buffer = bytes | bytearray | memoryview

ENTRY_SIZE = 34
VERSION = 0

_ENTRY = struct.Struct(">hqqqq")


class CompletedTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction with data in this partition that a marker has ended; what the transaction index stores."""

    producer_id: int
    first_offset: int
    last_offset: int  # the marker's
    is_aborted: bool
    last_stable_offset: int  # after this transaction, disregarding the high watermark


class AbortedTransaction(msgspec.Struct, frozen=True, gc=False):
    """One transaction that was aborted: consumers drop this producer's records from `first_offset` on."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int

    @classmethod
    def of(cls, completed: CompletedTransaction) -> "AbortedTransaction":
        return cls(
            completed.producer_id,
            completed.first_offset,
            completed.last_offset,
            completed.last_stable_offset,
        )


class TransactionIndex:
    """Pure: opens no file. `segment.py` writes the bytes that `add` returns."""

    __slots__ = ("_entries",)

    def __init__(self, content: Buffer = b"") -> None:
        """Take over the content of an index file; a partial last entry is ignored."""
        whole = len(content) - len(content) % ENTRY_SIZE
        self._entries = [AbortedTransaction(*entry[1:]) for entry in _ENTRY.iter_unpack(content[:whole])]

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size_bytes(self) -> int:
        return len(self._entries) * ENTRY_SIZE

    def add(self, entry: AbortedTransaction) -> bytes:
        assert not self._entries or entry.last_offset > self._entries[-1].last_offset, "entries ascend"
        self._entries.append(entry)
        return _pack(entry)

    def overlapping(self, begin: int, end: int) -> tuple[list[AbortedTransaction], bool]:
        """Transactions with records in [begin, end), and whether later segments can hold no more of them."""
        found = []
        for entry in self._entries:
            if entry.last_offset >= begin and entry.first_offset < end:
                found.append(entry)
            if entry.last_stable_offset >= end:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Forget the transactions that ended at or above `offset`."""
        while self._entries and self._entries[-1].last_offset >= offset:
            self._entries.pop()

    def tail_bytes(self, first: int) -> bytes:
        """The file content from entry number `first` on."""
        return b"".join(_pack(entry) for entry in self._entries[first:])


def _pack(entry: AbortedTransaction) -> bytes:
    return _ENTRY.pack(
        VERSION, entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset
    )
