"""The records of one log for the journal: collected as they are appended, then written in a round."""

from collections.abc import Sequence

import msgspec

from penstock.storage.files import Buffer
from penstock.storage.journal.journal_file import JournaledLog

JOURNAL_BYTES_MAX = 64 << 10
"""A log puts no more than this into one journal round: above it, the bytes cost more than a separate sync."""


class JournalRecords(msgspec.Struct, eq=False):
    """All records appended to a log from `base_offset` on."""

    log: JournaledLog
    base_offset: int
    buffers: list[Buffer] = msgspec.field(default_factory=list)
    size_bytes: int = 0
    # These are known when they go into a round.
    end_offset: int = 0
    leader_epoch: int = 0
    generation: int = 0

    def add(self, buffers: Sequence[Buffer]) -> bool:
        """Returns True if the records still fit into a journal round."""
        self.buffers += buffers
        self.size_bytes += len(buffers[0]) if len(buffers) == 1 else sum(map(len, buffers))
        return self.size_bytes <= JOURNAL_BYTES_MAX
